// SPDX-License-Identifier: Apache-2.0

// The largest part of the time, found by descent in trees that are written out by hand.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/answer/answer_json.h"
#include "report/answer/answer_text.h"
#include "report/answer/descent.h"
#include "report/shown_words.h"
#include "sample_run.h"
#include "temporary_folder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using testing::ElementsAre;

// Builds a tree; parents are named by their position.
class TreeOf {
 public:
  size_t Add(size_t parent, std::string_view kind, std::string_view name, int64_t ns,
             int64_t spread = 0) {
    TimeNode node{.node_id = static_cast<int64_t>(tree.nodes.size()) + 1,
                  .kind = tree.texts->Add(kind),
                  .name = tree.texts->Add(name),
                  .ns = ns};
    node.per_step_ns = ns;
    node.p25_ns = ns - spread;
    node.p75_ns = ns + spread;
    tree.nodes.push_back(node);
    const size_t position = tree.nodes.size() - 1;
    if (position != parent) tree.nodes[parent].children.push_back(position);
    return position;
  }
  size_t AddOp(size_t parent, std::string_view name, int64_t ns, std::string_view phase,
               std::string_view op_kind) {
    const size_t position = Add(parent, "op", name, ns);
    tree.nodes[position].phase = tree.texts->Add(phase);
    tree.nodes[position].op_kind = tree.texts->Add(op_kind);
    return position;
  }
  Descent Descend(TimeUnit unit = TimeUnit::kStep) const { return DescendFrom(tree, 0, unit); }

  TimeNodes tree;
};

std::vector<std::string> Path(const Descent& descent) {
  std::vector<std::string> path;
  for (const TimePart& part : descent.path) {
    path.push_back(!part.name.empty()         ? part.name
                   : !part.divided_by.empty() ? part.divided_by
                                              : part.kind);
  }
  return path;
}

TEST(Descent, DescentStopsAtPartsSmallerThanAnAncestorsSibling) {
  TreeOf of;
  of.Add(0, "step", "", 100);
  const size_t idle = of.Add(0, "idle", "", 70);
  of.Add(0, "computation", "", 30);
  const size_t host = of.Add(idle, "host", "load", 60);
  of.Add(idle, "sync", "", 10);
  of.Add(host, "io", "read", 29);  // Smaller than the computation.
  const Descent descent = of.Descend();
  EXPECT_THAT(Path(descent), ElementsAre("step", "idle", "load"));
  ASSERT_TRUE(descent.largest_inside);
  EXPECT_EQ(descent.largest_inside->name, "read");
  EXPECT_EQ(descent.main, 2u);
}

TEST(Descent, ComputationIsDividedByTheColumnWithTheLargestPart) {
  TreeOf of;
  of.Add(0, "step", "", 100);
  const size_t ops = of.Add(0, "computation", "", 100);
  of.AddOp(ops, "a", 30, "backward", "gemm");
  of.AddOp(ops, "b", 29, "backward", "reduction");
  of.AddOp(ops, "c", 25, "forward", "gemm");
  of.AddOp(ops, "d", 16, "forward", "reduction");
  // Backward is 59, gemm 55. Within backward, an op of 30 is about as large as one of 29.
  const Descent descent = of.Descend();
  EXPECT_THAT(Path(descent), ElementsAre("step", "computation", "phase"));
  EXPECT_EQ(descent.path.back().ns, 59);
  EXPECT_EQ(descent.path.back().phase, "backward");
}

TEST(Descent, ColumnWithoutValuesForMostOpsIsNotUsed) {
  TreeOf of;
  of.Add(0, "step", "", 100);
  const size_t ops = of.Add(0, "computation", "", 100);
  of.AddOp(ops, "a", 40, "forward", "");
  of.AddOp(ops, "b", 35, "", "");
  of.AddOp(ops, "c", 25, "", "");
  EXPECT_THAT(Path(of.Descend()), ElementsAre("step", "computation", "a"));
}

TEST(Descent, PartsWithinTheirVariationAreBothNamed) {
  TreeOf of;
  of.Add(0, "step", "", 100);
  of.Add(0, "idle", "", 48, 10);
  of.Add(0, "exposed_copy", "", 42, 10);
  const Descent descent = of.Descend();
  EXPECT_THAT(Path(descent), ElementsAre("step", "idle"));
  ASSERT_TRUE(descent.beside);
  EXPECT_EQ(descent.beside->kind, "exposed_copy");
  // Steps of very different lengths do not make a small part as large as a large one.
  of.tree.nodes[1].p25_ns = 0;
  of.tree.nodes[2].per_step_ns = of.tree.nodes[2].p25_ns = of.tree.nodes[2].p75_ns = 1;
  EXPECT_FALSE(of.Descend().beside);
}

TEST(Descent, OpThatIsAllOfAnEqualPartIsNamed) {
  TreeOf of;
  of.Add(0, "step", "", 100);
  const size_t ops = of.Add(0, "computation", "", 51);
  of.Add(0, "idle", "", 49);
  of.AddOp(ops, "reduce", 50, "forward", "reduction");
  of.AddOp(ops, "add", 1, "forward", "elementwise_fusion");
  const Descent descent = of.Descend();
  EXPECT_THAT(Path(descent), ElementsAre("step", "reduce"));
  ASSERT_TRUE(descent.beside);
  EXPECT_EQ(descent.beside->kind, "idle");
}

TEST(Descent, ManyEqualPartsAreNotNamed) {
  TreeOf of;
  of.Add(0, "step", "", 100);
  const size_t ops = of.Add(0, "computation", "", 90);
  for (int i = 0; i < 9; ++i) of.AddOp(ops, "k" + std::to_string(i), 10, "", "");
  const Descent descent = of.Descend();
  EXPECT_THAT(Path(descent), ElementsAre("step", "computation"));
  EXPECT_FALSE(descent.beside);
}

std::string AllText(const RunView& view) {
  const AnswerText text = TextOf(view);
  std::string all = PlainText(text.first);
  if (!text.second.empty()) all += "\n" + PlainText(text.second);
  if (!text.reason.empty()) all += "\n" + PlainText(text.reason);
  return all;
}

SampleOp Op(std::string name, model::Phase phase, int64_t ms) {
  return {.instruction = name,
          .kind = model::OpKind::kGemm,
          .phase = phase,
          .layer = "net/layer_1/mlp",
          .op_name = "jit(f)/net/" + name,
          .source_file = "/a/net.py",
          .source_line = 7,
          .ns = ms * 1'000'000};
}

// Forward 30 %, backward 70 % in four different ops of at most 20 %.
SampleRun BackwardRun() {
  using model::Phase;
  SampleRun run;
  run.ops = {Op("dot.1", Phase::kForward, 150),  Op("conv.2", Phase::kForward, 150),
             Op("mul.3", Phase::kBackward, 200), Op("add.4", Phase::kBackward, 190),
             Op("sub.5", Phase::kBackward, 160), Op("div.6", Phase::kBackward, 150)};
  return run;
}

TEST(AnswerTest, NamesTheLargestPhaseAndItsLargestOp) {
  const RunView view = ViewOf(BackwardRun());
  EXPECT_EQ(TextOf(view).op_handle, "o1");
  EXPECT_GOLDEN_TEXT(AllText(view));  // 0.700 of 1.00 s; mul.3: 200 ms, 20.0 %.
}

TEST(AnswerTest, NamesTheOpThatIsHalfOfTheStep) {
  SampleRun run = BackwardRun();
  run.ops[2].ns = 800'000'000;  // Half of 1,600 ms.
  EXPECT_GOLDEN_TEXT(AllText(ViewOf(run)));
}

TEST(AnswerTest, IdleTimeIsNamedWithItsCause) {
  SampleRun run;
  run.ops = {Op("dot.1", model::Phase::kForward, 20)};
  run.idle_ns = 80'000'000;
  EXPECT_GOLDEN_TEXT(AllText(ViewOf(run)));  // 80.0 of 100 ms.
}

TEST(AnswerTest, RunSentenceIsFirstIfStepsAreTheSmallerHalf) {
  SampleRun run = BackwardRun();
  using model::TreeKind;
  const auto row = [](model::Id parent, TreeKind kind, std::string name, int64_t ms, bool step) {
    model::TimeTreeRow node{.parent_id = parent, .kind = kind, .name = std::move(name)};
    node.ns = ms * 1'000'000;
    if (step) node.per_step_ns = node.p25_ns = node.p75_ns = node.ns / 10;
    return node;
  };
  run.time_tree = {row(0, TreeKind::kRoot, "", 10'000, false),
                   row(1, TreeKind::kStartup, "", 6'000, false),
                   row(2, TreeKind::kCompile, "jit_f", 5'000, false),
                   row(2, TreeKind::kImport, "", 1'000, false),
                   row(1, TreeKind::kSteps, "", 4'000, true),
                   row(5, TreeKind::kStep, "", 4'000, true),
                   row(6, TreeKind::kComputation, "", 4'000, true)};
  run.time_tree.push_back(row(7, TreeKind::kOp, "dot.1", 4'000, true));
  const RunView view = ViewOf(run);
  ASSERT_TRUE(view.answer.run);
  EXPECT_THAT(Path(view.answer.run->descent), ElementsAre("root", "startup", "jit_f"));
  EXPECT_GOLDEN_TEXT(AllText(view));  // 5.00 of 10.0 s; a step of 400 ms.
  const auto json = AnswerJson(view.answer);
  EXPECT_EQ(json["run"]["whole_ns"], 10'000'000'000);
  EXPECT_EQ(json["run"]["ns"], 5'000'000'000);
  EXPECT_THAT(json["run"]["path"][2]["node_ids"], ElementsAre(3));
  EXPECT_EQ(json["step"]["whole_ns"], 400'000'000);
}

// Two programs take 6 of 10 s between steps, one of them 55 % of that: it is not half of the run.
TEST(AnswerTest, TimeBetweenStepsIsNotNamedAsItsPlace) {
  SampleRun run = BackwardRun();
  using model::TreeKind;
  const auto row = [](model::Id parent, TreeKind kind, std::string name, int64_t ms) {
    model::TimeTreeRow node{.parent_id = parent, .kind = kind, .name = std::move(name)};
    node.ns = ms * 1'000'000;
    if (kind == TreeKind::kSteps || kind == TreeKind::kStep) node.per_step_ns = node.ns / 10;
    return node;
  };
  run.time_tree = {
      row(0, TreeKind::kRoot, "", 10'000),       row(1, TreeKind::kBetweenSteps, "", 6'000),
      row(2, TreeKind::kEvaluation, "a", 3'300), row(2, TreeKind::kEvaluation, "b", 2'700),
      row(1, TreeKind::kSteps, "", 4'000),       row(5, TreeKind::kStep, "", 4'000)};
  EXPECT_GOLDEN_TEXT(AllText(ViewOf(run)));
}

TEST(AnswerTest, RunWithoutTypicalStepHasTheRunSentenceOnly) {
  SampleRun run = BackwardRun();
  run.steps = 1;
  const RunView view = ViewOf(run);
  EXPECT_TRUE(TextOf(view).given);
  EXPECT_FALSE(view.answer.step);
  EXPECT_GOLDEN_TEXT(AllText(view));
}

TEST(AnswerTest, RunWithoutActivityStatesTheReason) {
  SampleRun run = BackwardRun();
  run.ops.clear();
  run.steps = 0;
  EXPECT_FALSE(TextOf(ViewOf(run)).given);
  EXPECT_GOLDEN_TEXT(AllText(ViewOf(run)));
}

TEST(InUnitOf, PartIsShownInTheUnitOfItsWhole) {
  EXPECT_EQ(InUnitOf(746e3, 765e3), "746");    // us
  EXPECT_EQ(InUnitOf(49.2e6, 134e6), "49.2");  // ms
  EXPECT_EQ(InUnitOf(0.8e9, 1.6e9), "0.800");  // s
  EXPECT_EQ(InUnitOf(3, 120), "3.00");         // ns
  EXPECT_EQ(InUnitOf(30e9, 150e9), "30.0 s");  // of 2 min 30 s
}

}  // namespace
}  // namespace xlatrace::report
