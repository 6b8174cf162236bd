// SPDX-License-Identifier: Apache-2.0

// Putting registered strings together again: lines, stacks, cut and missing texts.

#include "importers/recording/hlo_rebuild.h"

#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "importers/recording/stack_frames.h"

namespace xlatrace::importers {
namespace {

TEST(StackFramesTest, StackIsTheChainBelowTheCommonFrames) {
  StackFrames frames("\n/home/me/train.py:9:1[&lt;module&gt;]\n");
  ASSERT_TRUE(frames.Add(7, "\n- /a b/m.py:10:2[f.&lt;locals&gt;.g]\n-- /a b/m.py:3:4[h]\n", ""));
  const uint32_t leaf = frames.Number(7);
  EXPECT_EQ(leaf, 3u);  // Parents come first.
  EXPECT_EQ(frames.Number(8), 0u);
  EXPECT_EQ(frames.Tables(),
            "FileNames\n1 \"/home/me/train.py\"\n2 \"/a b/m.py\"\n\n"
            "FunctionNames\n1 \"<module>\"\n2 \"f.<locals>.g\"\n3 \"h\"\n\n"
            "FileLocations\n1 {file_name_id=1 function_name_id=1 line=9 column=1}\n"
            "2 {file_name_id=2 function_name_id=2 line=10 column=2}\n"
            "3 {file_name_id=2 function_name_id=3 line=3 column=4}\n\n"
            "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
            "2 {file_location_id=2 parent_frame_id=2}\n"
            "3 {file_location_id=3 parent_frame_id=3}\n\n");
}

TEST(StackFramesTest, LeafOfATreeIsFoundByItsOpName) {
  const char* tree =
      "\n- /m.py:1:1[f]\n-- /m.py:2:2[g] jit(f)/a-&gt;b/add\n-- /m.py:3:3[h] jit(f)/mul\n";
  StackFrames frames("\n");
  EXPECT_FALSE(frames.Add(5, tree, "jit(f)/neg"));
  EXPECT_FALSE(frames.Contains(5));
  ASSERT_TRUE(frames.Add(5, tree, "jit(f)/mul"));
  ASSERT_TRUE(frames.Add(6, tree, "jit(f)/a->b/add"));
  EXPECT_EQ(frames.Number(5), 3u);
  EXPECT_EQ(frames.Number(6), 2u);
}

TEST(StackFramesTest, DamagedStacksAreIgnored) {
  StackFrames frames("not a frame\n");
  EXPECT_FALSE(frames.Add(1, "\n--- /m.py:1:1[f]\n", ""));
  EXPECT_FALSE(frames.Add(1, "\n- no place here\n", ""));
  EXPECT_FALSE(frames.Add(1, "\n", ""));
  EXPECT_EQ(frames.Number(1), 0u);
}

// A loop over a body with a fusion, as XLA registers it: instructions of all computations.
RegisteredModule Loop() {
  RegisteredModule module;
  module.name = "jit_scan";
  module.common_stack = "\n/train.py:1:1[&lt;module&gt;]\n";
  const auto add = [&](std::string_view name, std::string_view line, std::string_view stack = "\n",
                       std::string_view called = "\n") {
    module.instructions.push_back(
        {static_cast<uint32_t>(module.instructions.size() + 1), name, line, stack, called});
  };
  add("x.1", "x.1 = f32[8]{0} parameter(0)");
  add("y.1",
      "y.1 = f32[8]{0} negate(x.1), metadata={op_name=\"jit(scan)/while/body/neg\" "
      "stack_frame_id=4}",
      "\n- /train.py:20:3[body]\n");
  add("s.1", "s.1 = (s32[], f32[8]{0}) parameter(0)");
  add("i.1", "i.1 = s32[] get-tuple-element(s.1), index=0");
  add("v.1", "v.1 = f32[8]{0} get-tuple-element(s.1), index=1");
  add("one.1", "one.1 = s32[] constant(1)");
  add("next.1", "next.1 = s32[] add(i.1, one.1)");
  add("fusion.1",
      "fusion.1 = f32[8]{0} fusion(v.1), kind=kLoop, calls=fused, "
      "metadata={op_name=\"jit(scan)/while/body/neg\" stack_frame_id=4}",
      "\n- /train.py:20:3[body]\n",
      "\nfused {\n  x.1 = f32[8]{0} parameter(0)\n  ROOT y.1 = f32[8]{0} negate(x.1), "
      "metadata={op_name=\"jit(scan)/while/body/neg\" stack_frame_id=4}\n} // fused\n");
  add("state.1", "state.1 = (s32[], f32[8]{0}) tuple(next.1, fusion.1)");
  add("s.2", "s.2 = (s32[], f32[8]{0}) parameter(0)");
  add("i.2", "i.2 = s32[] get-tuple-element(s.2), index=0");
  add("n.2", "n.2 = s32[] constant(12)");
  add("less.2", "less.2 = pred[] compare(i.2, n.2), direction=LT");
  add("p.9", "p.9 = f32[8]{0} parameter(0)");
  add("unused.9", "unused.9 = f32[8]{0} parameter(1)");
  add("zero.9", "zero.9 = s32[] constant(0)");
  add("copy.9", "copy.9 = f32[8]{0} copy(p.9)");
  add("start.9", "start.9 = (s32[], f32[8]{0}) tuple(zero.9, copy.9)");
  add("while.9",
      "while.9 = (s32[], f32[8]{0}) while(start.9), condition=cond, body=body, "
      "metadata={op_name=\"jit(scan)/while\" stack_frame_id=9}",
      "\n- /train.py:20:3[body] jit(scan)/while/body/neg\n- /train.py:30:5[main] "
      "jit(scan)/while\n",
      "\nbody {\n  s.1 = (s32[], f32[8]{0}) parameter(0)\n  i.1 = s32[] get-tuple-element(s.1), "
      "index=0\n  one.1 = s32[] constant(1)\n  next.1 = s32[] add(i.1, one.1)\n  v.1 = f32[8]{0} "
      "get-tuple-element(s.1), index=1\n  fusion.1 = f32[8]{0} fusion(v.1), kind=kLoop, "
      "calls=fused, metadata={op_name=\"jit(scan)/while/body/neg\" stack_frame_id=4}\n  ROOT "
      "state.1 = (s32[], f32[8]{0}) tuple(next.1, fusion.1)\n} // body\n\ncond {\n  s.2 = (s32[], "
      "f32[8]{0}) parameter(0)\n  i.2 = s32[] get-tuple-element(s.2), index=0\n  n.2 = s32[] "
      "constant(12)\n  ROOT less.2 = pred[] compare(i.2, n.2), direction=LT\n} // cond\n");
  add("out.9", "out.9 = f32[8]{0} get-tuple-element(while.9), index=1");
  add("neg.9", "neg.9 = f32[8]{0} negate(out.9)");
  return module;
}

class RebuildTest : public ::testing::Test {
 protected:
  void Read(const RegisteredModule& module, const InstructionOrder& order = Never) {
    rebuilt_ = RebuildHlo(module, order);
    auto read = hlo::ReadText(std::make_shared<const std::string>(rebuilt_.text));
    ASSERT_TRUE(read) << read.error().message << "\n" << rebuilt_.text;
    hlo_ = std::make_unique<model::HloModule>(std::move(*read));
    names_ = model::IndexByName(*hlo_);
  }
  const model::Instruction& At(std::string_view name) const {
    return hlo_->instructions[names_.at(name)];
  }
  std::string_view ComputationOf(std::string_view name) const {
    return hlo_->computations[At(name).computation].name;
  }
  void ExpectTheLoop() const {
    EXPECT_EQ(hlo_->instructions.size(), 21u);
    EXPECT_EQ(hlo_->computations.size(), 4u);
    for (const char* name : {"s.1", "i.1", "v.1", "one.1", "next.1", "fusion.1", "state.1"}) {
      EXPECT_EQ(ComputationOf(name), "body") << name;
    }
    for (const char* name : {"s.2", "i.2", "n.2", "less.2"}) {
      EXPECT_EQ(ComputationOf(name), "cond") << name;
    }
    for (const char* name :
         {"p.9", "unused.9", "zero.9", "copy.9", "start.9", "while.9", "out.9", "neg.9"}) {
      EXPECT_TRUE(hlo_->computations[At(name).computation].is_entry) << name;
    }
    EXPECT_EQ(ComputationOf("y.1"), "fused");
    for (const char* root : {"y.1", "state.1", "less.2", "neg.9"}) {
      EXPECT_TRUE(At(root).is_root) << root;
    }
  }
  static int64_t Never(const RegisteredInstruction&) { return std::numeric_limits<int64_t>::max(); }

  RebuiltModule rebuilt_;
  std::unique_ptr<model::HloModule> hlo_;
  std::unordered_map<std::string_view, uint32_t> names_;
};

TEST_F(RebuildTest, EveryInstructionIsInItsComputation) {
  Read(Loop());
  ExpectTheLoop();
  EXPECT_EQ(rebuilt_.completed, 0);
  EXPECT_EQ(rebuilt_.missing, 0);
  EXPECT_EQ(rebuilt_.undefined, 0);
}

TEST_F(RebuildTest, SourcePlacesAreKnown) {
  Read(Loop());
  EXPECT_EQ(At("y.1").metadata.source_file, "/train.py");
  EXPECT_EQ(At("y.1").metadata.source_line, 20);
  EXPECT_EQ(At("fusion.1").metadata.source_line, 20);
  EXPECT_EQ(At("while.9").metadata.source_line, 30);  // By its op_name in the tree.
  const model::StackFrame& frame = hlo_->stack_frames[At("y.1").metadata.stack_frame - 1];
  EXPECT_EQ(frame.function, "body");
  ASSERT_NE(frame.parent, 0u);
  EXPECT_EQ(hlo_->stack_frames[frame.parent - 1].function, "<module>");
}

TEST_F(RebuildTest, CutLoopBodyIsCompletedAndItsConditionFound) {
  const RegisteredModule whole = Loop();
  std::string cut(whole.instructions[18].called);
  for (size_t size = cut.find("i.1"); size < cut.size(); ++size) {
    RegisteredModule module = Loop();
    const std::string text = cut.substr(0, size) + "\n[truncated]\n";
    module.instructions[18].called = text;
    SCOPED_TRACE(text);
    Read(module);
    if (HasFatalFailure()) return;
    ExpectTheLoop();
    EXPECT_EQ(rebuilt_.missing, 0);
  }
}

// A loop whose body branches. The loop's text contains only the first line of its body's
// computation, and the conditional's text none of its computations.
RegisteredModule BranchesInALoop(bool second_branch_is_told) {
  RegisteredModule module;
  module.name = "jit_switch";
  const auto add = [&](std::string_view name, std::string_view line,
                       std::string_view called = "\n") {
    module.instructions.push_back(
        {static_cast<uint32_t>(module.instructions.size() + 1), name, line, "\n", called});
  };
  add("a.1", "a.1 = (f32[8]{0}) parameter(0)");
  add("a.2", "a.2 = f32[8]{0} get-tuple-element(a.1), index=0");
  add("a.3", "a.3 = f32[8]{0} negate(a.2)");
  add("b.1", "b.1 = (f32[8]{0}, f32[4]{0}) parameter(0)");
  add("b.2", "b.2 = f32[8]{0} get-tuple-element(b.1), index=0");
  add("b.3", "b.3 = f32[8]{0} cosine(b.2)");
  add("s.1", "s.1 = (s32[], f32[8]{0}) parameter(0)");
  add("i.1", "i.1 = s32[] get-tuple-element(s.1), index=0");
  add("v.1", "v.1 = f32[8]{0} get-tuple-element(s.1), index=1");
  add("four.1", "four.1 = f32[4]{0} constant({1, 2, 3, 4})");
  add("one.1", "one.1 = (f32[8]{0}) tuple(v.1)");
  add("two.1", "two.1 = (f32[8]{0}, f32[4]{0}) tuple(v.1, four.1)");
  add("cond.1",
      "cond.1 = f32[8]{0} conditional(i.1, two.1, one.1), branch_computations={first, second}",
      second_branch_is_told
          ? "\nsecond {\n  a.1 = (f32[8]{0}) parameter(0)\n  a.2 = f32[8]{0} "
            "get-tuple-element(a.1), index=0\n  ROOT a.3 = f32[8]{0} negate(a.2)\n} // second\n"
          : "\n[truncated]\n");
  add("state.1", "state.1 = (s32[], f32[8]{0}) tuple(i.1, cond.1)");
  add("s.2", "s.2 = (s32[], f32[8]{0}) parameter(0)");
  add("i.2", "i.2 = s32[] get-tuple-element(s.2), index=0");
  add("less.2", "less.2 = pred[] compare(i.2, i.2), direction=LT");
  add("p.9", "p.9 = (s32[], f32[8]{0}) parameter(0)");
  add("while.9", "while.9 = (s32[], f32[8]{0}) while(p.9), condition=cond, body=body",
      "\nbody {\n  s.1 = (s32[], f32[8]{0}) parameter(0)\n  i.1 = s32[] \n[truncated]\n");
  for (int i = 0; i < 10; ++i) {
    static std::deque<std::string> texts;
    const std::string_view name = texts.emplace_back(fmt::format("neg.{}", 20 + i));
    const std::string before = i == 0 ? "while.9" : fmt::format("neg.{}", 19 + i);
    add(name, texts.emplace_back(fmt::format("{} = (s32[], f32[8]{{0}}) copy({})", name, before)));
  }
  return module;
}

TEST_F(RebuildTest, ComputationsWithoutTextAreMatchedByOperandsAndResults) {
  for (const bool second_branch_is_told : {false, true}) {
    SCOPED_TRACE(second_branch_is_told);
    Read(BranchesInALoop(second_branch_is_told));
    if (HasFatalFailure()) return;
    for (const char* name : {"a.1", "a.2", "a.3"}) EXPECT_EQ(ComputationOf(name), "second") << name;
    for (const char* name : {"b.1", "b.2", "b.3"}) EXPECT_EQ(ComputationOf(name), "first") << name;
    for (const char* name : {"s.2", "i.2", "less.2"})
      EXPECT_EQ(ComputationOf(name), "cond") << name;
    for (const char* name : {"s.1", "cond.1", "state.1"}) {
      EXPECT_EQ(ComputationOf(name), "body") << name;
    }
    EXPECT_TRUE(hlo_->computations[At("neg.29").computation].is_entry);
    EXPECT_EQ(rebuilt_.missing, 0);
  }
}

TEST_F(RebuildTest, ComputationWithoutCallerDoesNotBreakTheModule) {
  RegisteredModule module = BranchesInALoop(false);
  // The caller of the branches was cut before it named them.
  for (RegisteredInstruction& instruction : module.instructions) {
    if (instruction.name == "cond.1")
      instruction.line = "cond.1 = f32[8]{0} conditional(i.1, two.1";
  }
  Read(module);
  if (HasFatalFailure()) return;
  EXPECT_EQ(hlo_->instructions.size(), module.instructions.size());
  EXPECT_EQ(ComputationOf("a.3"), ComputationOf("a.1"));
  EXPECT_FALSE(hlo_->computations[At("a.1").computation].is_entry);
}

TEST_F(RebuildTest, CutLinesDoNotBreakTheModule) {
  const RegisteredModule whole = Loop();
  for (size_t at = 0; at < whole.instructions.size(); ++at) {
    for (size_t size = whole.instructions[at].name.size() + 3;
         size < whole.instructions[at].line.size(); size += 5) {
      RegisteredModule module = Loop();
      const std::string line =
          std::string(module.instructions[at].line.substr(0, size)) + "\n[truncated]\n";
      module.instructions[at].line = line;
      SCOPED_TRACE(line);
      Read(module);
      if (HasFatalFailure()) return;
      EXPECT_GE(hlo_->instructions.size(), 21u);
      EXPECT_NE(names_.find(whole.instructions[at].name), names_.end());
    }
  }
}

TEST_F(RebuildTest, EntryFollowsTheRecordedOrder) {
  RegisteredModule module;
  module.name = "m";
  const char* const lines[] = {"d = f32[] add(b, c)", "c = f32[] negate(a)", "b = f32[] copy(a)",
                               "a = f32[] parameter(0)", "free = f32[] constant(1)"};
  for (const char* line : lines) {
    module.instructions.push_back(
        {.title = static_cast<uint32_t>(module.instructions.size() + 1),
         .name = std::string_view(line).substr(0, std::string_view(line).find(' ')),
         .line = line});
  }
  const auto order_of = [&] {
    std::string order;
    for (const model::Instruction& instruction : hlo_->instructions) {
      order += std::string(instruction.name) + " ";
    }
    return order;
  };
  Read(module, [](const RegisteredInstruction& i) {
    return i.name == "b" ? 20 : i.name == "c" ? 30 : i.name == "d" ? 40 : Never(i);
  });
  EXPECT_EQ(order_of(), "a b c d free ");
  EXPECT_TRUE(hlo_->is_scheduled);
  EXPECT_TRUE(At("d").is_root);  // The constant is unused as well, but it computes nothing.
  Read(module, [](const RegisteredInstruction& i) {
    return i.name == "b" ? 20 : i.name == "c" ? 10 : i.name == "d" ? 40 : Never(i);
  });
  EXPECT_EQ(order_of(), "a c b d free ");
  Read(module);
  EXPECT_FALSE(hlo_->is_scheduled);
}

// The last instruction without a user is the root.
TEST_F(RebuildTest, LastUnusedInstructionIsTheRoot) {
  RegisteredModule module;
  module.name = "m";
  const char* const lines[] = {"a = f32[] parameter(0)", "b = f32[] negate(a)",
                               "c = f32[] cosine(a)", "d = f32[] constant(1)"};
  for (const std::string_view line : lines) {
    module.instructions.push_back({.title = static_cast<uint32_t>(module.instructions.size() + 1),
                                   .name = line.substr(0, 1),
                                   .line = line});
  }
  Read(module);
  EXPECT_TRUE(At("c").is_root);
  EXPECT_FALSE(At("b").is_root);
}

TEST_F(RebuildTest, GarbageInTextsDoesNotBreakTheRebuild) {
  RegisteredModule module = Loop();
  module.name = "";
  module.common_stack = "\x01\xff";
  for (RegisteredInstruction& instruction : module.instructions) {
    instruction.stack = "- :::[";
    instruction.called = "\n}{\n {\n";
  }
  const RebuiltModule rebuilt = RebuildHlo(module, Never);
  EXPECT_FALSE(rebuilt.text.empty());
  (void)hlo::ReadText(std::make_shared<const std::string>(rebuilt.text));
}

}  // namespace
}  // namespace xlatrace::importers
