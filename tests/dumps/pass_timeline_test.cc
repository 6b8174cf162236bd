// SPDX-License-Identifier: Apache-2.0
#include "dumps/pass_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dumps/pass_changes.h"
#include "tests/dumps/dump_folder.h"

namespace xlatrace::dumps {
namespace {

using ::testing::ElementsAre;

PassStep Step(int32_t number, const char* pipeline, const char* pass) {
  return {.number = number, .pipeline = pipeline, .pass = pass};
}

// "a b(c d x2) e": names, children in parentheses, rounds behind.
std::string Text(const std::vector<PassNode>& nodes) {
  std::string text;
  for (const PassNode& node : nodes) {
    if (!text.empty()) text += ' ';
    text += node.name;
    if (node.is_group) text += "(" + Text(node.children) + ")";
    if (node.rounds > 1) text += " x" + std::to_string(node.rounds);
    if (!node.is_group && node.steps.size() > 1) text += " x" + std::to_string(node.steps.size());
  }
  return text;
}

// The order of dumps of XLA:GPU in 2026, shortened: a fixed-point pipeline within another one.
TEST(PassTimeline, PipelinesNestAndRoundsFold) {
  const std::vector<PassStep> steps = {
      Step(-1, "", "before_optimizations"),
      Step(0, "sharding", "pipeline-start"),
      Step(1, "optimization", "pipeline-start"),
      Step(2, "optimization", "dot_decomposer"),
      Step(3, "simplification", "pipeline-start"),
      Step(4, "simplification", "algsimp"),
      Step(5, "simplification", "cse"),
      Step(6, "simplification", "pipeline-start"),
      Step(7, "simplification", "algsimp"),
      Step(8, "simplification", "dce"),
      Step(9, "simplification", "pipeline-start"),
      Step(10, "optimization", "simplification"),
      Step(11, "optimization", "dot-merger"),
      Step(12, "layout", "pipeline-start"),
      Step(13, "layout", "layout-assignment"),
      Step(-1, "", "after_optimizations"),
  };
  const std::vector<PassNode> nodes = FoldPasses(steps);
  EXPECT_EQ(Text(nodes),
            "before_optimizations sharding() optimization(dot_decomposer simplification(algsimp x2 "
            "cse dce) x3 simplification dot-merger) layout(layout-assignment) after_optimizations");
  const PassNode& simplification = nodes[2].children[1];
  EXPECT_THAT(simplification.steps, ElementsAre(4u, 7u, 10u));
  EXPECT_THAT(simplification.children[0].steps, ElementsAre(5u, 8u));
}

// Every step appears once, for any order of dumps.
TEST(PassTimeline, NoStepIsLost) {
  std::vector<PassStep> steps;
  const char* const pipelines[] = {"a", "b", "c"};
  const char* const passes[] = {"pipeline-start", "x", "y", "z", "x"};
  uint32_t seed = 1;
  for (int32_t i = 0; i < 500; ++i) {
    seed = seed * 1664525 + 1013904223;
    steps.push_back(Step(i, pipelines[(seed >> 16) % 3], passes[(seed >> 20) % 5]));
  }
  std::vector<bool> seen(steps.size(), false);
  const auto visit = [&](const auto& self, const std::vector<PassNode>& nodes) -> void {
    for (const PassNode& node : nodes) {
      for (const size_t step : node.steps) {
        EXPECT_FALSE(seen[step]) << step;
        seen[step] = true;
      }
      self(self, node.children);
    }
  };
  visit(visit, FoldPasses(steps));
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(seen[i]) << i;
}

// Before 2020 pipelines had no start in the dumps, and every pass was dumped.
TEST(PassTimeline, RepeatedPassesFoldWithoutMarks) {
  std::vector<PassStep> steps;
  int32_t number = 0;
  steps.push_back(Step(number++, "optimization", "inline"));
  for (int round = 0; round < 3; ++round) {
    for (const char* pass : {"algsimp", "reshape-mover", "cse"}) {
      steps.push_back(Step(number++, "optimization", pass));
    }
  }
  steps.push_back(Step(number++, "optimization", "fusion"));
  EXPECT_EQ(Text(FoldPasses(steps)),
            "optimization(inline (algsimp x3 reshape-mover x3 cse x3) x3 fusion)");
}

TEST(PassTimeline, FindsStepsByNumberPassAndEdge) {
  const std::vector<PassStep> steps = {
      Step(-1, "", "before_optimizations"), Step(4, "s", "algsimp"), Step(5, "s", "cse"),
      Step(7, "s", "algsimp"), Step(-1, "", "after_optimizations")};
  EXPECT_EQ(FindStep(steps, "before", false), 0u);
  EXPECT_EQ(FindStep(steps, "after", false), 4u);
  EXPECT_EQ(FindStep(steps, "5", false), 2u);
  EXPECT_EQ(FindStep(steps, "algsimp", false), 1u);
  EXPECT_EQ(FindStep(steps, "algsimp", true), 3u);
  EXPECT_EQ(FindStep(steps, "6", false), steps.size());
  EXPECT_EQ(FindStep(steps, "nothing", true), steps.size());
}

TEST(PassTimeline, TextIsPreferredToTheProtoOfAStep) {
  DumpModule module;
  const auto add = [&](const char* file) {
    auto name = ParseDumpName(file);
    ASSERT_TRUE(name) << file;
    module.files.push_back({file, *name, 1});
  };
  add("module_0001.jit_f.0002.p.after_b.before_c.hlo.pb");
  add("module_0001.jit_f.0002.p.after_b.before_c.txt");
  add("module_0001.jit_f.0001.p.after_a.before_b.hlo.pb");
  add("module_0001.jit_f.0001.p.after_a.before_b.dot");
  add("module_0001.jit_f.thunk_sequence.txt");
  module.before_proto = "before.pb";
  const std::vector<PassStep> steps = StepsOf(module);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].file, "before.pb");
  EXPECT_EQ(steps[1].file, "module_0001.jit_f.0001.p.after_a.before_b.hlo.pb");
  EXPECT_EQ(steps[2].file, "module_0001.jit_f.0002.p.after_b.before_c.txt");
  EXPECT_EQ(steps[2].next_pass, "c");
}

TEST(PassTimeline, DeltasAreTheLargestFirst) {
  const std::map<std::string, int64_t, std::less<>> before = {{"add", 9}, {"copy", 3}, {"dot", 2}};
  const std::map<std::string, int64_t, std::less<>> after = {{"add", 2}, {"dot", 2}, {"fusion", 4}};
  EXPECT_EQ(DeltaText(before, after, 9), "-7 add  +4 fusion  -3 copy");
  EXPECT_EQ(DeltaText(before, after, 1), "-7 add and 2 more");
  EXPECT_EQ(DeltaText(after, after, 9), "");
}

class PassChangesTest : public DumpFolderTest {};

// Fused instructions no longer count as instructions that run by themselves.
TEST_F(PassChangesTest, FusedInstructionsAreNotCounted) {
  Write("before.txt", R"(HloModule m
ENTRY e { p = f32[8] parameter(0)
  a = f32[8] sine(p)
  b = f32[8] sine(a)
  ROOT c = f32[8] negate(b) }
)");
  Write("after.txt", R"(HloModule m
fused { q = f32[8] parameter(0)
  a = f32[8] sine(q)
  ROOT b = f32[8] sine(a) }
ENTRY e { p = f32[8] parameter(0)
  f = f32[8] fusion(p), kind=kLoop, calls=fused
  ROOT c = f32[8] negate(f) }
)");
  std::vector<PassStep> steps = {Step(1, "p", "before"), Step(2, "p", "fusion"),
                                 Step(3, "p", "lost")};
  steps[0].file = (root_ / "before.txt").string();
  steps[1].file = (root_ / "after.txt").string();
  steps[2].file = (root_ / "gone.txt").string();
  const std::vector<StepCounts> counts = CountSteps(steps);
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts[0].error, "");
  EXPECT_EQ(counts[0].instructions, 4);
  EXPECT_EQ(counts[0].operations, 3);
  EXPECT_EQ(counts[1].instructions, 6);
  EXPECT_EQ(counts[1].operations, 2) << "the fusion and what is left of the rest";
  EXPECT_EQ(DeltaText(counts[0].opcodes, counts[1].opcodes, 9), "-2 sine  +1 fusion");
  EXPECT_NE(counts[0].content_hash, counts[1].content_hash);
  EXPECT_THAT(counts[2].error, ::testing::HasSubstr("gone.txt"));
}

}  // namespace
}  // namespace xlatrace::dumps
