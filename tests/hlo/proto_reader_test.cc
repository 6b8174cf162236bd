// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/proto_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"
#include "tests/hlo/proto_builder.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMain = 7;  // Computation ids of the module below.
constexpr int64_t kFused = 3;
int64_t Id(int64_t computation, int64_t local) { return computation << 32 | local; }

// fused { p; ROOT exp(p) }   main { x; ROOT fusion(x) }
Message SmallModule() {
  Message metadata;
  metadata.Text(2, "jit(f)/exp").Int(15, 2).Text(16, "fusion.9");
  Message fusion = InstructionProto("fusion.1", "fusion", Id(kMain, 2), {Id(kMain, 1)});
  fusion.Text(11, "kLoop").Packed(38, {kFused}).Nested(7, metadata).Text(43, "{\"a\":1}");
  Message module;
  module.Text(1, "jit_f").Text(2, "main");
  module.Nested(3, ComputationProto(
                       "fused", kFused, Id(kFused, 2),
                       {InstructionProto("p", "parameter", Id(kFused, 1)),
                        InstructionProto("exp", "exponential", Id(kFused, 2), {Id(kFused, 1)})}));
  Message main = ComputationProto("main", kMain, Id(kMain, 2),
                                  {InstructionProto("x", "parameter", Id(kMain, 1)), fusion});
  module.Nested(3, main).Int(5, 42).Int(6, kMain);
  Message frames;
  frames.Text(1, "train.py").Text(2, "main").Text(2, "loss");
  frames.Nested(3, Message().Int(1, 1).Int(2, 1).Int(3, 10));
  frames.Nested(3, Message().Int(1, 1).Int(2, 2).Int(3, 85).Int(4, 7));
  frames.Nested(4, Message().Int(1, 1));
  frames.Nested(4, Message().Int(1, 2).Int(2, 1));
  return module.Nested(17, frames);
}

Result<model::HloModule> Read(const Message& message) { return ReadProto(Shared(message.bytes())); }

TEST(ProtoReader, ReadsAModule) {
  auto module = Read(Message().Nested(1, SmallModule()));
  ASSERT_TRUE(module) << module.error().message;
  ExpectSound(*module);
  EXPECT_EQ(module->name, "jit_f");
  EXPECT_EQ(module->program_id, 42);
  EXPECT_FALSE(module->is_scheduled);
  EXPECT_EQ(module->computations[module->entry].name, "main");
  EXPECT_TRUE(module->computations[module->entry].is_entry);
  EXPECT_TRUE(module->computations[0].is_fusion);
  EXPECT_FALSE(module->computations[1].is_fusion);

  const model::Instruction& fusion = Find(*module, "fusion.1");
  EXPECT_EQ(fusion.id, (int64_t{7} << 32) + 2);
  EXPECT_EQ(fusion.shape, "f32[8,16]{1,0}");
  EXPECT_EQ(fusion.fusion_kind, "kLoop");
  EXPECT_EQ(fusion.backend_config, "{\"a\":1}");
  EXPECT_TRUE(fusion.is_root);
  EXPECT_THAT(OperandNames(*module, "fusion.1"), ElementsAre("x"));
  EXPECT_THAT(CalleeNames(*module, "fusion.1"), ElementsAre("fused"));
  EXPECT_EQ(fusion.metadata.op_name, "jit(f)/exp");
  EXPECT_EQ(module->OtherNamesOf(fusion.metadata).scheduling, "fusion.9");
  // Proto3 does not write zeros: a parameter without a number is parameter 0.
  EXPECT_EQ(Find(*module, "x").parameter_number, 0);
  EXPECT_EQ(fusion.parameter_number, -1);
}

TEST(ProtoReader, LeafFrameAndItsParentsAreResolved) {
  auto module = Read(Message().Nested(1, SmallModule()));
  ASSERT_TRUE(module);
  const model::OpMetadata& metadata = Find(*module, "fusion.1").metadata;
  EXPECT_EQ(metadata.source_file, "train.py");
  EXPECT_EQ(metadata.source_line, 85);
  ASSERT_EQ(metadata.stack_frame, 2u);
  EXPECT_EQ(module->stack_frames[1].function, "loss");
  EXPECT_EQ(module->stack_frames[1].column, 7);
  EXPECT_EQ(module->stack_frames[1].parent, 1u);
  EXPECT_EQ(module->stack_frames[0].parent, 0u);
}

TEST(ProtoReader, AliasedParametersAscendEachOnce) {
  Message aliases;
  aliases.Nested(1, Message().Packed(1, {0}).Int(2, 3).Int(4, 1));
  aliases.Nested(1, Message().Packed(1, {1}).Int(2, 1).Int(4, 1));
  aliases.Nested(1, Message().Packed(1, {2}).Int(2, 3).Packed(3, {1}).Int(4, 1));
  const auto module = Read(SmallModule().Nested(8, aliases));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_THAT(module->aliased_parameters, ElementsAre(1, 3));
}

TEST(ProtoReader, KindsOfProtoFilesAreDistinguished) {
  const Message module = SmallModule();
  const Message hlo = Message().Nested(1, module);
  std::string unoptimized = Message().Nested(1, module).Int(3, 1).bytes();
  std::string with_length;
  protozero::add_varint_to_buffer(&with_length, unoptimized.size());
  with_length += unoptimized + "raw literals behind it";
  const std::pair<std::string, std::string> kinds[] = {
      {"HloModuleProto", module.bytes()},
      {"HloProto", hlo.bytes()},
      {"HloSnapshot", Message().Nested(1, hlo).Text(4, "gpu").bytes()},
      {"HloUnoptimizedSnapshot", unoptimized},
      {"the dumped form of HloUnoptimizedSnapshot", with_length},
  };
  const uint64_t hash = ReadProto(Shared(module.bytes()))->content_hash;
  for (const auto& [kind, bytes] : kinds) {
    auto read = ReadProto(Shared(bytes));
    ASSERT_TRUE(read) << kind << ": " << read.error().message;
    EXPECT_EQ(read->name, "jit_f") << kind;
    EXPECT_EQ(read->content_hash, hash) << kind;
  }
}

TEST(ProtoReader, PutsInstructionsIntoScheduleOrder) {
  Message module;
  module.Text(1, "m").Text(2, "main");
  module.Nested(3, ComputationProto("main", 1, 4,
                                    {InstructionProto("a", "parameter", 1),
                                     InstructionProto("b", "negate", 2, {1}),
                                     InstructionProto("c", "exponential", 3, {1}),
                                     InstructionProto("d", "add", 4, {2, 3})}));
  Message sequence;
  sequence.Packed(1, {1, 3, 2, 4});
  module.Int(6, 1).Nested(7, Message().Nested(1, Message().Int(1, 1).Nested(2, sequence)));
  auto read = Read(Message().Nested(1, module));
  ASSERT_TRUE(read) << read.error().message;
  ExpectSound(*read);
  EXPECT_TRUE(read->is_scheduled);
  std::vector<std::string> order;
  for (const auto& instruction : read->instructions) order.emplace_back(instruction.name);
  EXPECT_THAT(order, ElementsAre("a", "c", "b", "d"));
  EXPECT_THAT(OperandNames(*read, "d"), ElementsAre("b", "c"));
  EXPECT_EQ(read->instructions[read->computations[0].root].name, "d");
}

TEST(ProtoReader, KeepsTheFilesOrderWhenTheScheduleIsDamaged) {
  Message module;
  module.Text(1, "m").Text(2, "main");
  module.Nested(3, ComputationProto("main", 1, 2,
                                    {InstructionProto("a", "parameter", 1),
                                     InstructionProto("b", "negate", 2, {1})}));
  Message sequence;
  sequence.Packed(1, {2, 2});
  module.Nested(7, Message().Nested(1, Message().Int(1, 1).Nested(2, sequence)));
  auto read = Read(Message().Nested(1, module));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->instructions[0].name, "a");
  ASSERT_EQ(read->warnings.size(), 1u);
  EXPECT_THAT(read->warnings[0], HasSubstr("'main'"));
}

// Spellings from xla/shape_util_test.cc and layout_test.cc.
TEST(ProtoReader, PrintsShapesAsXlaDoes) {
  Message tiled = Message().Int(2, kBf16).Packed(3, {256, 512});
  Message layout;
  layout.Packed(1, {1, 0})
      .Nested(6, Message().Packed(1, {8, 128}))
      .Nested(6, Message().Packed(1, {2, 1}));
  layout.Int(7, 4).Int(8, 5);
  tiled.Nested(5, layout);
  Message dynamic = Message().Int(2, kS32).Packed(3, {10, INT64_MIN}).Packed(6, {1, 1});
  Message tuple = Message().Int(2, kTupleType);
  tuple.Nested(4, ArrayProto(kF32, {}, {})).Nested(4, Message().Int(2, 17));
  tuple.Nested(4, Message().Int(2, kTupleType));
  const std::pair<Message, std::string> shapes[] = {
      {ArrayProto(kF32, {2, 3}, {1, 0}), "f32[2,3]{1,0}"},
      {ArrayProto(kF32, {}, {}), "f32[]"},
      {Message().Int(2, kF32).Packed(3, {4}), "f32[4]"},  // No layout at all.
      {tiled, "bf16[256,512]{1,0:T(8,128)(2,1)E(4)S(5)}"},
      {dynamic, "s32[<=10,?]"},
      {tuple, "(f32[], token[], ())"},
  };
  for (const auto& [proto, expected] : shapes) {
    Message parameter;
    parameter.Text(1, "p").Text(2, "parameter").Nested(3, proto).Int(35, 1);
    Message module;
    module.Text(1, "m").Text(2, "c").Nested(3, ComputationProto("c", 1, 1, {parameter}));
    auto read = Read(Message().Nested(1, module));
    ASSERT_TRUE(read) << expected;
    EXPECT_EQ(read->instructions[0].shape, expected);
  }
}

TEST(ProtoReader, FindsABackendConfigInThePayloadTable) {
  Message call = InstructionProto("call", "custom-call", 1);
  call.Text(28, "target").Nested(99, Message().Int(2, 1));
  Message module;
  module.Text(1, "m").Text(2, "c").Nested(3, ComputationProto("c", 1, 1, {call}));
  module.Text(22, "first").Text(22, "second");
  auto read = Read(Message().Nested(1, module));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->instructions[0].backend_config, "second");
  EXPECT_EQ(read->instructions[0].custom_call_target, "target");
}

TEST(ProtoReader, PeakMemoryIsTheSumOfAllAllocations) {
  Message assignment;
  assignment.Nested(3, Message().Int(1, 0).Int(2, 1000));
  assignment.Nested(3, Message().Int(1, 1).Int(2, 50).Int(3, 1));
  assignment.Nested(3, Message().Int(1, 2).Int(2, 24).Int(12, 1));
  auto read = Read(Message().Nested(1, SmallModule()).Nested(3, assignment));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->peak_memory_bytes, 1000 + 50 + 24);
  EXPECT_EQ(Read(Message().Nested(1, SmallModule()))->peak_memory_bytes, -1);
}

TEST(ProtoReader, ContentHashIgnoresIdsAndModuleName) {
  const auto hash = [](const std::string& module_name, int64_t first_id,
                       const std::string& opcode) {
    Message module;
    module.Text(1, module_name).Text(2, "c").Int(5, first_id);
    module.Nested(3, ComputationProto("c", 1, first_id + 1,
                                      {InstructionProto("a", "parameter", first_id),
                                       InstructionProto("b", opcode, first_id + 1, {first_id})}));
    return Read(Message().Nested(1, module))->content_hash;
  };
  EXPECT_EQ(hash("m", 1, "negate"), hash("n", int64_t{5} << 32, "negate"));
  EXPECT_NE(hash("m", 1, "negate"), hash("m", 1, "abs"));
}

TEST(ProtoReader, CutsAFrameThatNamesItsChildAsParent) {
  Message module = SmallModule();
  Message frames;
  frames.Nested(4, Message().Int(1, 1).Int(2, 2));
  frames.Nested(4, Message().Int(1, 1).Int(2, 1));
  module.Nested(17, frames);
  auto read = Read(Message().Nested(1, module));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->stack_frames[0].parent, 0u);
  EXPECT_EQ(read->warnings.size(), 1u);
}

std::string ErrorOf(const std::string& bytes) {
  auto read = ReadProto(Shared(bytes));
  return read ? "no error" : read.error().message;
}

TEST(ProtoReader, WireErrorsHaveTheByte) {
  std::string bytes = SmallModule().bytes();
  const size_t at = bytes.size();
  bytes += static_cast<char>(5 << 3 | 7);
  const std::string type = ErrorOf(bytes);
  EXPECT_THAT(type, HasSubstr("byte " + std::to_string(at)));
  EXPECT_THAT(type, HasSubstr("7"));
  bytes = SmallModule().bytes();
  bytes += std::string("\x1a\x7f", 2);
  const std::string length = ErrorOf(bytes);
  EXPECT_THAT(length, HasSubstr("byte " + std::to_string(at)));
  EXPECT_GOLDEN_TEXT(type + "\n" + length);
}

TEST(ProtoReader, InconsistentModulesAreErrors) {
  const auto module_of = [](const std::vector<Message>& instructions, int64_t root) {
    Message module;
    module.Text(1, "m").Text(2, "c").Nested(3, ComputationProto("c", 1, root, instructions));
    return module.bytes();
  };
  const Message a = InstructionProto("a", "parameter", 1);
  const std::string operand = ErrorOf(module_of({a, InstructionProto("b", "negate", 2, {9})}, 2));
  EXPECT_THAT(operand, AllOf(HasSubstr("9"), HasSubstr("'b'")));
  const std::string ids = ErrorOf(module_of({a, a}, 1));
  const std::string root = ErrorOf(module_of({a}, 5));
  EXPECT_THAT(root, HasSubstr("5"));
  const std::string cycle = ErrorOf(module_of(
      {InstructionProto("b", "negate", 1, {2}), InstructionProto("c", "negate", 2, {1})}, 2));
  Message call = InstructionProto("call", "call", 1);
  call.Packed(38, {1});
  const std::string itself = ErrorOf(module_of({call}, 1));
  Message lost = InstructionProto("call", "call", 1);
  lost.Packed(38, {77});
  const std::string computation = ErrorOf(module_of({lost}, 1));
  EXPECT_THAT(computation, HasSubstr("77"));
  EXPECT_GOLDEN_TEXT(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", operand, ids, root, cycle, itself,
                                 computation, ErrorOf("")));
}

TEST(ProtoReader, DeeplyNestedShapeIsAnError) {
  Message shape = ArrayProto(kF32, {}, {});
  for (int i = 0; i < 2000; ++i) shape = Message().Int(2, kTupleType).Nested(4, shape);
  Message parameter;
  parameter.Text(1, "p").Text(2, "parameter").Nested(3, shape).Int(35, 1);
  Message module;
  module.Text(1, "m").Text(2, "c").Nested(3, ComputationProto("c", 1, 1, {parameter}));
  EXPECT_GOLDEN_TEXT(ErrorOf(module.bytes()));
}

TEST(ProtoReader, SparseIdsAreFound) {
  Message module;
  module.Text(1, "m").Text(2, "c");
  const int64_t far = int64_t{1} << 60;
  module.Nested(3, ComputationProto("c", 1, far,
                                    {InstructionProto("a", "parameter", -far),
                                     InstructionProto("b", "negate", far, {-far})}));
  auto read = Read(module);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(OperandNames(*read, "b"), ElementsAre("a"));
}

// mesh['a'=2,'b'=4] {'b', 'a':(1)2}: groups of 8; as XLA since 2025-12 serialises it.
TEST(ProtoReader, GroupsOfMeshAxesHaveASize) {
  const auto axis = [](const char* name, int64_t size) {
    return Message().Text(1, name).Int(2, size);
  };
  Message groups;
  groups.Nested(1, Message().Nested(1, axis("a", 2)).Nested(1, axis("b", 4)));
  groups.Nested(2, Message().Int(1, 1));
  groups.Nested(2, Message().Nested(2, Message().Int(1, 1).Int(2, 2)));
  Message reduce = InstructionProto("r", "all-reduce", 2, {1});
  reduce.Nested(93, groups);
  Message module;
  module.Text(1, "m").Text(2, "main").Int(6, 1);
  module.Nested(3, ComputationProto("main", 1, 2, {InstructionProto("p", "parameter", 1), reduce}));
  auto read = ReadProto(Shared(Message().Nested(1, module).bytes()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->DetailsOf(Find(*read, "r")).largest_group, 8);
}

}  // namespace
}  // namespace xlatrace::hlo
