// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/text_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

model::HloModule ReadHlo(const std::string& text) {
  auto module = ReadText(Shared(text));
  EXPECT_TRUE(module) << module.error().message << "\n" << text;
  if (!module) return {};
  ExpectSound(*module);
  return std::move(*module);
}

std::string ErrorOf(const std::string& text) {
  auto module = ReadText(Shared(text));
  return module ? "no error" : module.error().message;
}

// A body around one or more instruction lines.
std::string Entry(const std::string& lines) {
  return "HloModule m\n\nENTRY e {\n" + lines + "\n}\n";
}

TEST(TextReader, ReadsTheLongForm) {
  const auto module = ReadHlo(
      R"(HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

%fused (p.1: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  ROOT %exp.2 = f32[8]{0} exponential(f32[8]{0} %p.1), metadata={op_type="exp" op_name="jit(f)/exp" source_file="a.py" source_line=3}
}

ENTRY %main.5 (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %fusion = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused, backend_config={"a":{"b":"}"}}
}
)");
  EXPECT_EQ(module.name, "jit_f");
  EXPECT_TRUE(module.is_scheduled);
  EXPECT_EQ(module.computations[module.entry].name, "main.5");
  EXPECT_TRUE(module.computations[0].is_fusion);
  const model::Instruction& exp = Find(module, "exp.2");
  EXPECT_EQ(exp.opcode, "exponential");
  EXPECT_EQ(exp.shape, "f32[8]{0}");
  EXPECT_EQ(exp.metadata.op_type, "exp");
  EXPECT_EQ(exp.metadata.op_name, "jit(f)/exp");
  EXPECT_EQ(exp.metadata.source_file, "a.py");
  EXPECT_EQ(exp.metadata.source_line, 3);
  EXPECT_THAT(OperandNames(module, "exp.2"), ElementsAre("p.1"));
  const model::Instruction& fusion = Find(module, "fusion");
  EXPECT_EQ(fusion.fusion_kind, "kLoop");
  EXPECT_EQ(fusion.backend_config, R"({"a":{"b":"}"}})");
  EXPECT_THAT(CalleeNames(module, "fusion"), ElementsAre("fused"));
  EXPECT_EQ(Find(module, "x").parameter_number, 0);
}

TEST(TextReader, ReadsTheShortForm) {
  const auto module = ReadHlo(R"(HloModule m
fused {
  p = f32[8]{0} parameter(0)
  ROOT e = f32[8]{0} exponential(p)
}
ENTRY main {
  x = f32[8]{0} parameter(0)
  ROOT f = f32[8]{0} fusion(x), kind=kLoop, calls=fused
}
)");
  EXPECT_EQ(module.computations[module.entry].name, "main");
  EXPECT_THAT(OperandNames(module, "f"), ElementsAre("x"));
}

TEST(TextReader, LongAndShortFormHaveOneContentHash) {
  const auto long_form = ReadHlo(
      "HloModule m\nENTRY %e (a: f32[2]) -> f32[2] {\n"
      "  %a = f32[2]{0} parameter(0)\n  ROOT %b = f32[2]{0} negate(f32[2]{0} %a)\n}\n");
  const auto short_form = ReadHlo(
      "HloModule other\nENTRY e {\n  a = f32[2]{0} parameter(0)\n  ROOT b = f32[2]{0} "
      "negate(a)\n}");
  EXPECT_EQ(long_form.content_hash, short_form.content_hash);
}

TEST(TextReader, WithoutEntryAndRootTakesTheLast) {
  const auto module = ReadHlo(
      "HloModule m\na {\n x = f32[] parameter(0)\n}\nb {\n"
      " y = f32[] parameter(0)\n z = f32[] negate(y)\n}\n");
  EXPECT_EQ(module.computations[module.entry].name, "b");
  EXPECT_TRUE(Find(module, "z").is_root);
}

// Facts of xla/hlo/ir/hlo_module.cc: printed parent ids are one too high, 1 means none.
TEST(TextReader, ReadsStackTables) {
  const auto module = ReadHlo(R"(HloModule m

FileNames
1 "a \"b\".py"
2 "c.py"

FunctionNames
1 "main"
2 "f.<locals>.<lambda>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=154 end_line=154 column=4 end_column=10}
2 {file_name_id=2 function_name_id=2 line=7 end_line=8 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

ENTRY e {
  ROOT a = f32[] parameter(0), metadata={op_name="x" stack_frame_id=2}
}
)");
  ASSERT_EQ(module.stack_frames.size(), 2u);
  EXPECT_EQ(module.stack_frames[0].file, "a \"b\".py");
  EXPECT_EQ(module.stack_frames[0].parent, 0u);
  EXPECT_EQ(module.stack_frames[1].parent, 1u);
  EXPECT_EQ(module.stack_frames[1].function, "f.<locals>.<lambda>");
  EXPECT_EQ(Find(module, "a").metadata.source_file, "c.py");
  EXPECT_EQ(Find(module, "a").metadata.source_line, 7);
}

TEST(TextReader, OpNamesMayContainAnyCharacter) {
  const auto module = ReadHlo(Entry(
      R"(  ROOT a = f32[] parameter(0), metadata={source_line=7 op_name="jit(f)/while[n=2]/\"q\"\\{}=,/dot[(((1,), (0,)))]\n\x41\102" unknown_key={{1},"}"}})"));
  EXPECT_EQ(Find(module, "a").metadata.op_name,
            "jit(f)/while[n=2]/\"q\"\\{}=,/dot[(((1,), (0,)))]\nAB");
  EXPECT_EQ(Find(module, "a").metadata.source_line, 7);
}

TEST(TextReader, ShapesArePrintedAsXlaDoes) {
  const auto module = ReadHlo(Entry(R"(
  a = (f32[2]{0},s32[]{}, /*index=2*/ (token[], ())) parameter(0)
  b = bf16[8,128]{1,0:T(8,128)(2,1)E(4)S(5)} parameter(1)
  c = f32[2,3]dense{1,0} parameter(2)
  d = f32[<=8,?] parameter(3)
  e = ((f32[2]{0}, b(f32[8]{0})), u32[]{:S(2)}) parameter(4)
  ROOT f = f32[ 4 , 5 ] {1,0} parameter(5))"));
  EXPECT_EQ(Find(module, "a").shape, "(f32[2]{0}, s32[], (token[], ()))");
  EXPECT_EQ(Find(module, "b").shape, "bf16[8,128]{1,0:T(8,128)(2,1)E(4)S(5)}");
  EXPECT_EQ(Find(module, "c").shape, "f32[2,3]{1,0}");
  EXPECT_EQ(Find(module, "d").shape, "f32[<=8,?]");
  EXPECT_EQ(Find(module, "e").shape, "((f32[2]{0}, b(f32[8]{0})), u32[]{:S(2)})");
  EXPECT_EQ(Find(module, "f").shape, "f32[4,5]{1,0}");
}

TEST(TextReader, AttributesMayComeInAnyOrderAndSpanLines) {
  const auto module = ReadHlo(R"(HloModule m
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[4,8]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}, frontend_attributes={k="v",m={#sdy.mesh<["x"=2]>}}
  z = f32[] constant(0)
  r = f32[4]{0} reduce(x, z), metadata={op_name="r"},
      to_apply=add, dimensions={1}, new_attribute=[2,4]<=[8]T(1,0)
  w = f32[4]{0} all-reduce(r), replica_groups=mesh['a'=2,'b'=1] {'a'}, channel_id=1, to_apply=%add
  ROOT d = f32[4]{0} custom-call(w), custom_call_target="t\"x", backend_config="{\"a\":1}", api_version=API_VERSION_TYPED_FFI
})");
  EXPECT_THAT(CalleeNames(module, "r"), ElementsAre("add"));
  EXPECT_EQ(Find(module, "r").metadata.op_name, "r");
  EXPECT_THAT(std::string(Find(module, "r").attributes), HasSubstr("new_attribute=[2,4]<=[8]"));
  EXPECT_THAT(CalleeNames(module, "w"), ElementsAre("add"));
  EXPECT_EQ(Find(module, "d").custom_call_target, "t\"x");
  EXPECT_EQ(Find(module, "d").backend_config, "{\"a\":1}");
}

TEST(TextReader, LoopsListBodyThenConditionAsTheProtoDoes) {
  const auto module = ReadHlo(R"(HloModule m
c { p = f32[] parameter(0)
 ROOT q = pred[] custom-call(p), custom_call_target="x" }
b { ROOT p = f32[] parameter(0) }
ENTRY e {
  x = f32[] parameter(0)
  ROOT w = f32[] while(x), condition=c, body=b
})");
  EXPECT_THAT(CalleeNames(module, "w"), ElementsAre("b", "c"));
}

TEST(TextReader, ReadsComputationsWrittenInline) {
  const auto module = ReadHlo(R"(HloModule m
ENTRY e {
  p = pred[] parameter(0)
  x = f32[4]{0} parameter(1)
  r = f32[] reduce(x, f32[] constant(0)), dimensions={0}, to_apply={
    a = f32[] parameter(0)
    b = f32[] parameter(1)
    ROOT s = f32[] add(a, b)
  }
  ROOT c = f32[] conditional(p, r, r), branch_computations={
    { t = f32[] parameter(0) },
    { u = f32[] parameter(0)
      ROOT v = f32[] negate(u) } }
})");
  EXPECT_EQ(module.computations.size(), 4u);
  EXPECT_EQ(module.computations[module.entry].name, "e");
  EXPECT_THAT(OperandNames(module, "s"), ElementsAre("a", "b"));
  EXPECT_THAT(OperandNames(module, "c"), ElementsAre("p", "r", "r"));
  ASSERT_EQ(OperandNames(module, "r").size(), 2u);
  EXPECT_EQ(Find(module, OperandNames(module, "r")[1]).opcode, "constant");
  const auto branches = CalleeNames(module, "c");
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_NE(branches[0], branches[1]);
}

TEST(TextReader, CompactTupleElementsBecomeInstructions) {
  const auto module = ReadHlo(Entry(R"(
  %t = (f32[2]{0}, (s32[], bf16[4,4]{1,0})) parameter(0)
  %a = f32[2]{0} negate(%t#0)
  %b = f32[2]{0} add(%t#0, %a)
  ROOT %c = bf16[4,4]{1,0} negate(%t#1#1))"));
  EXPECT_THAT(OperandNames(module, "a"), ElementsAre("t#0"));
  EXPECT_THAT(OperandNames(module, "b"), ElementsAre("t#0", "a"));
  EXPECT_THAT(OperandNames(module, "c"), ElementsAre("t#1#1"));
  const model::Instruction& inner = Find(module, "t#1#1");
  EXPECT_EQ(inner.opcode, "get-tuple-element");
  EXPECT_EQ(inner.tuple_index, 1);
  EXPECT_EQ(inner.shape, "bf16[4,4]{1,0}");
  EXPECT_THAT(OperandNames(module, "t#1#1"), ElementsAre("t#1"));
  EXPECT_EQ(Find(module, "t#1").shape, "(s32[], bf16[4,4]{1,0})");
}

TEST(TextReader, KeepsLiteralsOfAnyForm) {
  const auto module = ReadHlo(Entry(R"(
  a = f32[2,3]{1,0} constant(f32[2,3] { { 1, 2, 3 }, { 4, 5, -inf } })
  b = (f32[], s32[]) constant(({...}))
  c = c64[2]{0} constant({(1, -2), (3, nan)})
  d = f32[100]{0} constant({...})
  t = (f32[2], (pred[], s8[1])) constant(( {1, 2}, (true, {-128}) ))
  s = f32[9] constant(f32[9]{1: 2, 3: 4, 5: 6})
  f = f32[4] constant(0)
  g = s32[] constant( /*answer*/ 42 )
  ROOT e = f32[3,4]{1,0} constant({ { /*i0=0*/ 1, 2 }, ... }))"));
  EXPECT_EQ(module.instructions.size(), 9u);
  EXPECT_EQ(module.LiteralOf(Find(module, "c")), "{(1, -2), (3, nan)}");
  EXPECT_EQ(module.LiteralOf(Find(module, "g")), "/*answer*/ 42");
  EXPECT_EQ(module.LiteralOf(Find(module, "d")), "{...}");
}

TEST(TextReader, LiteralsThatDoNotFitTheirShapeAreErrors) {
  // The token that each error must contain; empty for errors that contain none.
  const std::pair<const char*, const char*> cases[] = {
      {"f32[2] constant({1})", "2"},
      {"f32[2,2] constant({1, 2, 3, 4})", "'{'"},
      {"f32[] constant({1})", "'{'"},
      {"s32[] constant(1.5)", "'1.5'"},
      {"s32[] constant(true)", "'true'"},
      {"u8[] constant(256)", "'256'"},
      {"s8[] constant(-129)", "'-129'"},
      {"u4[] constant(16)", "'16'"},
      {"u32[] constant(-1)", "'-1'"},
      {"f16[] constant(65520)", "'65520'"},
      {"f32[] constant(1e39)", "'1e39'"},
      {"f64[] constant(1e400)", "'1e400'"},
      {"bf16[] constant(nan(0x3ff))", "'nan'"},
      {"c64[] constant(1)", "'('"},
      {"f32[] constant()", "')'"},
      {"(f32[], s32[]) constant((1, 2, 3))", "')'"},
  };
  std::string errors;
  for (const auto& [line, token] : cases) {
    const std::string error = ErrorOf(Entry(std::string("  ROOT a = ") + line));
    EXPECT_THAT(error, AllOf(StartsWith("4:"), HasSubstr(token))) << line;
    errors += std::string(line) + "\n  " + error + "\n";
  }
  EXPECT_GOLDEN_TEXT(errors);
}

// XLA's parser checks this only for the elements of tuples.
TEST(TextReader, LayoutsInTuplesListEveryDimensionOnce) {
  const auto error_of = [](const std::string& shape) {
    auto module = ReadText(Shared(
        "ENTRY e {\n  a = f32[2,3]{1,0} parameter(0)\n  ROOT t = " + shape + " tuple(a)\n}"));
    return module ? "" : module.error().message;
  };
  EXPECT_EQ(error_of("(f32[2,3]{0,1})"), "");
  EXPECT_EQ(error_of("(f32[2,3]{1,0:T(8,128)S(1)})"), "");
  EXPECT_EQ(error_of("f32[2,3]{1,1}"), "");
  std::string errors;
  for (const char* shape : {"(f32[2,3]{1,1})", "(f32[2,3]{2,0})", "((f32[2,3]{1,0}), f32[7]{1})"}) {
    EXPECT_THAT(error_of(shape), StartsWith("3:")) << shape;
    errors += error_of(shape) + "\n";
  }
  EXPECT_GOLDEN_TEXT(errors);
}

TEST(TextReader, ReadsOneInstructionAlone) {
  const auto module =
      ReadHlo("f32[5,20]{1,0} dot(f32[5,10]{1,0}, f32[10,20]{1,0}), lhs_contracting_dims={1}");
  ASSERT_EQ(module.instructions.size(), 3u);
  const model::Instruction& dot = module.instructions[2];
  EXPECT_TRUE(dot.is_root);
  EXPECT_THAT(module.LhsContractingDims(dot), ElementsAre(1));
  EXPECT_EQ(module.instructions[module.Operands(dot)[1]].shape, "f32[10,20]{1,0}");
}

TEST(TextReader, TextAfterTheLastBraceIsIgnoredWithAWarning) {
  const std::string text = Entry("  ROOT a = f32[] parameter(0)");
  for (const char* tail : {"}\n\n\n}\n", ".1), index=0\n}\n", "HloModule next\nENTRY f {",
                           "```\nand so on", "// -----\n", "// -----\nHloModule b\n"}) {
    const auto module = ReadHlo(text + tail);
    EXPECT_EQ(module.instructions.size(), 1u) << tail;
    EXPECT_EQ(module.warnings.empty(), std::string_view(tail) == "// -----\n") << tail;
  }
  const auto warnings = ReadHlo(text + "}").warnings;
  ASSERT_THAT(warnings, ElementsAre(AllOf(StartsWith("6:1: "), HasSubstr("'}'"))));
  // An extra brace in the middle of a module is damage.
  const std::string brace =
      ErrorOf("ENTRY e {\n  a = f32[] parameter(0) }\n  ROOT b = f32[] negate(a)\n}\n");
  EXPECT_THAT(brace, StartsWith("3:8: "));
  EXPECT_GOLDEN_TEXT(warnings[0] + "\n" + brace);
  EXPECT_THAT(ErrorOf("ENTRY e {\n  a = f32[] parameter(0)\n}\n  ROOT b = f32[] negate(a)\n}\n"),
              HasSubstr("4:"));
  EXPECT_THAT(ErrorOf("ENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n, metadata={}\n"),
              HasSubstr("4:1"));
  // An extra brace before the entry computation is damage, too.
  EXPECT_THAT(ErrorOf("HloModule m\nadd {\n  ROOT a = f32[] parameter(0)\n}\n}\n"),
              AllOf(StartsWith("5:1: "), HasSubstr("'}'")));
}

TEST(TextReader, ComputationsInlineMayNestUnderOneName) {
  const auto module = ReadHlo(R"(ENTRY e {
  tmp_0 = f32[4] parameter(0)
  ROOT tmp_1 = f32[4] call(tmp_0), to_apply={
    tmp_0 = f32[4] parameter(0)
    ROOT tmp_1 = f32[4] call(tmp_0), to_apply={
      tmp_0 = f32[4] parameter(0)
      ROOT tmp_1 = f32[4] negate(tmp_0)
    }
  }
})");
  ASSERT_EQ(module.computations.size(), 3u);
  EXPECT_NE(module.computations[0].name, module.computations[1].name);
  EXPECT_EQ(module.instructions[module.computations[module.entry].root].opcode, "call");
}

TEST(TextReader, APartEndsAtTheLastWholeInstruction) {
  const std::string text = R"(HloModule m, is_scheduled=true

add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }

ENTRY e {
  p = f32[8] parameter(0)
  c = f32[] constant(0)
  r = f32[] reduce(p, c), dimensions={0}, to_apply=add
  ROOT n = f32[] negate(r), metadata={op_name="ab)";
  auto part = ReadTextPartial(Shared(text));
  ASSERT_TRUE(part) << part.error().message;
  ExpectSound(part->module);
  EXPECT_THAT(part->damage, StartsWith("9:47: "));
  EXPECT_EQ(part->module.computations.size(), 2u);
  EXPECT_EQ(part->module.computations[part->module.entry].name, "e");
  EXPECT_EQ(part->module.computations[part->module.entry].instruction_count, 3u);
  EXPECT_TRUE(Find(part->module, "r").is_root);
  // A whole text has no damage; an empty text has no part.
  EXPECT_EQ(ReadTextPartial(Shared(Entry("a = f32[] parameter(0)")))->damage, "");
  EXPECT_FALSE(ReadTextPartial(Shared("HloModule m\n\nENTRY e {\n  a = f3")));
}

// Cut anywhere, the part is sound and never more than the whole.
TEST(TextReader, EveryPrefixGivesASoundPartOrAnError) {
  const std::string text = R"(HloModule m
f { t = (f32[], s32[]) parameter(0) ROOT r = f32[] negate(t#0) }
ENTRY e {
  p = (f32[], s32[]) parameter(0)
  w = (f32[], s32[]) while(p), condition={ q = (f32[], s32[]) parameter(0) ROOT d = pred[] constant(true) },
    body={ s = (f32[], s32[]) parameter(0) ROOT u = (f32[], s32[]) tuple(s#0, s#1) }
  ROOT c = f32[] call(w), to_apply=f
})";
  const size_t whole = ReadHlo(text).instructions.size();
  size_t least = 0;
  for (size_t size = 0; size <= text.size(); ++size) {
    auto part = ReadTextPartial(Shared(text.substr(0, size)));
    if (!part) continue;
    ExpectSound(part->module);
    EXPECT_LE(part->module.instructions.size(), whole);
    EXPECT_GE(part->module.instructions.size() + 6, least);  // Only what waits inside is lost.
    least = std::max(least, part->module.instructions.size());
  }
  EXPECT_EQ(least, whole);
}

TEST(TextReader, ErrorsHaveLineColumnAndToken) {
  struct Case {
    std::string text;
    const char* place;
    const char* token;
  };
  const Case cases[] = {
      {Entry("  a = f32[] parameter(0)\n  ROOT b = f32[] add(a, missing)"), "5:25: ", "'missing'"},
      {Entry("  a = f32[] parameter(0)\n  a = f32[] parameter(1)"), "5:3: ", "'a'"},
      {Entry("  a f32[] parameter(0)"), "4:5: ", "'f32'"},
      {Entry("  a = f32[2 parameter(0)"), "4:13: ", "'parameter'"},
      {Entry("  ROOT a = f32[] parameter(0)\n  ROOT b = f32[] negate(a)"), "5:8: ", "'b'"},
      {Entry("  ROOT a = f32[] call(), to_apply=nothing"), "4:35: ", "'nothing'"},
      {"HloModule m\nENTRY e {\n a = f32[] parameter(0)\n}\nENTRY f {\n"
       " a = f32[] parameter(0)\n}\n",
       "5:7: ", "'f'"},
      {"HloModule m\n\n", "3:1: ", ""},
      {Entry("  ROOT a = f32[] parameter(0), metadata={op_name=\"x}"), "4:50: ", ""},
      {"HloModule m\n/* x", "2:1: ", ""},
      {"HloModule m\nENTRY e {\n  ROOT a = f32[] parameter(0)\n", "4:1: ", "'e'"},
      {Entry("  ROOT a = f32[] parameter(0), new=((1)"), "4:36: ", "'('"},
      {std::string("HloModule m\0", 12), "", "byte 11"},
  };
  std::string errors;
  for (const Case& c : cases) {
    EXPECT_THAT(ErrorOf(c.text), AllOf(StartsWith(c.place), HasSubstr(c.token))) << c.text;
    errors += ErrorOf(c.text) + "\n";
  }
  EXPECT_GOLDEN_TEXT(errors);
}

TEST(TextReader, DeepNestingIsAnErrorNotACrash) {
  std::string operands;
  for (int i = 0; i < 100000; ++i) operands += "negate(";
  std::string bodies;
  for (int i = 0; i < 100000; ++i) bodies += "a = f32[] call(), to_apply={ ";
  EXPECT_GOLDEN_TEXT(ErrorOf(Entry("  ROOT a = f32[] " + operands)) + "\n" +
                     ErrorOf(Entry(bodies)) + "\n" +
                     ErrorOf(Entry("  a = " + std::string(100000, '('))));
}

TEST(TextReader, EveryFormOfHloTextIsDetected) {
  EXPECT_TRUE(LooksLikeHloText("// comment\nHloModule m\n"));
  EXPECT_TRUE(LooksLikeHloText("ENTRY e {\n"));
  EXPECT_TRUE(LooksLikeHloText("fused {\n  ROOT p = f32[] parameter(0)\n}"));
  EXPECT_TRUE(LooksLikeHloText("%f (p: f32[]) -> f32[] {"));
  EXPECT_TRUE(LooksLikeHloText("a = f32[] parameter(0)"));
  EXPECT_TRUE(LooksLikeHloText("f32[2] negate(f32[2])"));
  EXPECT_FALSE(LooksLikeHloText("thunk_metadata {\n  thunk_info {\n"));
  EXPECT_FALSE(LooksLikeHloText("{\"traceEvents\": []}"));
  EXPECT_FALSE(LooksLikeHloText(""));
  EXPECT_FALSE(LooksLikeHloText(std::string_view("\x0a\x05main\x12", 7)));
}

TEST(TextReader, ReadAnyReportsThePlaceInTextOtherThanHlo) {
  auto module = ReadAny(Shared("{\"traceEvents\": []}\n"));
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message, HasSubstr("1:1: "));
  EXPECT_GOLDEN_TEXT(module.error().message + "\n" + module.error().hint);
}

// XLA versions of 2025 print the source line of an instruction and, next to it, the id of a wrong
// stack frame.
TEST(TextReader, AFrameThatContradictsTheInstructionsOwnLineIsDropped) {
  const model::HloModule module = ReadHlo(R"(HloModule m

FileNames
1 "/x/a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=10}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY e {
  a = f32[] parameter(0), metadata={source_file="/y/a.py" source_line=10 stack_frame_id=1}
  ROOT b = f32[] negate(a), metadata={source_file="/x/a.py" source_line=83 stack_frame_id=1}
})");
  EXPECT_EQ(Find(module, "a").metadata.stack_frame, 1U);
  EXPECT_EQ(Find(module, "b").metadata.stack_frame, 0U);
  EXPECT_EQ(Find(module, "b").metadata.source_line, 83);
}

TEST(TextReader, AliasedParametersAscendEachOnce) {
  const auto module = ReadHlo(
      "HloModule m, input_output_alias={ {0}: (3, {}, may-alias), {1}: (1, {}, must-alias), "
      "{2}: (3, {1}, may-alias) }, is_scheduled=true\n"
      "ENTRY e { ROOT a = f32[] parameter(0) }");
  EXPECT_EQ(module.aliased_parameters, (std::vector<int64_t>{1, 3}));
  EXPECT_TRUE(
      ReadHlo("HloModule m\nENTRY e { ROOT a = f32[] parameter(0) }").aliased_parameters.empty());
}

}  // namespace
}  // namespace xlatrace::hlo
