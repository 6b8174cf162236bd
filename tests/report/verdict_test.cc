// SPDX-License-Identifier: Apache-2.0

// What the one sentence says, and when it refuses to say anything.

#include "report/verdict.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/shown_words.h"
#include "sample_run.h"
#include "temporary_folder.h"

namespace xlatrace::report {
namespace {

using model::Phase;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

SampleOp Op(std::string name, Phase phase, int64_t ns) {
  return {.instruction = name,
          .kind = model::OpKind::kGemm,
          .phase = phase,
          .layer = "net/layer_1/mlp",
          .op_name = "jit(f)/net/" + name,
          .source_file = "/a/net.py",
          .source_line = 7,
          .ns = ns};
}

// Forward 30 %, backward 70 % in four different ops of at most 20 %.
SampleRun BackwardRun() {
  SampleRun run;
  run.ops = {Op("dot.1", Phase::kForward, 150),  Op("conv.2", Phase::kForward, 150),
             Op("mul.3", Phase::kBackward, 200), Op("add.4", Phase::kBackward, 190),
             Op("sub.5", Phase::kBackward, 160), Op("div.6", Phase::kBackward, 150)};
  for (SampleOp& op : run.ops) op.ns *= 1'000'000;
  return run;
}

std::string Sentence(const SampleRun& run) { return PlainText(MakeVerdict(ViewOf(run)).sentence); }

TEST(Verdict, AnOpOfAFrameworkIsCalledByTheLastPartOfItsPath) {
  SampleRun run = BackwardRun();
  run.ops[2].instruction = "compile_loss/mean_squared_error/Softmax/SoftmaxCrossEntropy_1:Softmax";
  EXPECT_THAT(Sentence(run), HasSubstr("Its largest op, SoftmaxCrossEntropy_1 (gemm"));
  run.ops[2].instruction = "compile_loss/mean_squared_error/Softmax/gradients:Softmax";
  EXPECT_THAT(Sentence(run), HasSubstr("Its largest op, gradients:Softmax (gemm"));
  run.ops[2].instruction = "loss/Softmax:Softmax";
  EXPECT_THAT(Sentence(run), HasSubstr("Its largest op, loss/Softmax:Softmax (gemm"));
}

TEST(InUnitOf, APartIsInTheUnitOfItsWhole) {
  EXPECT_EQ(InUnitOf(746e3, 765e3), "746");    // us
  EXPECT_EQ(InUnitOf(49.2e6, 134e6), "49.2");  // ms
  EXPECT_EQ(InUnitOf(0.8e9, 1.6e9), "0.800");  // s
  EXPECT_EQ(InUnitOf(3, 120), "3.00");         // ns
  EXPECT_EQ(InUnitOf(30e9, 150e9), "30.0 s");  // of 2 min 30 s
}

TEST(VerdictTest, TheLargestPhaseIsNamedWithItsLargestOp) {
  const Verdict verdict = MakeVerdict(ViewOf(BackwardRun()));
  EXPECT_TRUE(verdict.given);
  EXPECT_EQ(PlainText(verdict.sentence),
            "Backward is 70.0% of the step (0.700 of 1.00 s). Its largest op, mul.3 (gemm in "
            "net/layer_*/mlp, net.py:7), is 20.0% of device time.");
  EXPECT_EQ(PlainText(verdict.headline), "Backward is 70.0% of the step (0.700 of 1.00 s).");
  EXPECT_EQ(PlainText(verdict.reason),
            "Its largest op, mul.3 (gemm in net/layer_*/mlp, net.py:7), is 20.0% of device time.");
  EXPECT_EQ(verdict.op_handle, "o1");
}

// Half of the step is one op, and what can be done is about another and little.
TEST(VerdictTest, AnOpThatIsMostOfTheStepComesBeforeASmallAction) {
  SampleRun run = BackwardRun();
  run.ops[2].ns = 1'000'000'000;  // Of 1,800 ms.
  RunView view = ViewOf(run);
  FindingFigure finding;
  finding.id = "outside_xla";
  finding.title = "Shorten the script";
  finding.headline = finding.sentence = "The script is 12% of the step";
  finding.confidence = "medium";
  finding.saves_high_ns = 216'000'000;
  view.findings = {finding};
  const auto first = [&] { return PlainText(MakeVerdict(view).headline); };
  EXPECT_EQ(first(), "One instruction is 55.6% of device time.");
  EXPECT_THAT(PlainText(MakeVerdict(view).lede), StartsWith("First: Shorten the script"));
  // A third of it is worth the headline, and so is what is about the op itself.
  view.findings[0].saves_high_ns = 334'000'000;
  EXPECT_EQ(first(), "The script is 12% of the step.");
  view.findings[0].saves_high_ns = 216'000'000;
  view.findings[0].where_op = "mul.3";
  EXPECT_EQ(first(), "The script is 12% of the step.");
}

TEST(VerdictTest, OneInstructionThatDominatesIsTheAnswer) {
  SampleRun run = BackwardRun();
  run.ops[2].ns = 800'000'000;  // Half of 1,600 ms.
  EXPECT_THAT(Sentence(run), StartsWith("One instruction is 50.0% of device time: mul.3 (gemm in"));
  EXPECT_THAT(Sentence(run), HasSubstr("takes 0.800 of 1.60 s of device time per step."));
}

TEST(VerdictTest, IdleTimeComesBeforeAnOpThatFillsTheRest) {
  SampleRun run;
  run.ops = {Op("dot.1", Phase::kForward, 20'000'000)};
  run.idle_ns = 80'000'000;
  const Verdict verdict = MakeVerdict(ViewOf(run));
  EXPECT_EQ(PlainText(verdict.sentence),
            "The device is idle for 80.0% of the step: 80.0 of 100 ms.");
  EXPECT_THAT(PlainText(verdict.lede), HasSubstr("the host is late 80.0 ms"));
}

TEST(VerdictTest, AllIdleTimeIsNamedBeforeOneCauseOfItAndBeforeWhatIsLess) {
  SampleRun run;
  run.ops = {Op("dot.1", Phase::kForward, 20'000'000)};
  run.idle_ns = 80'000'000;
  RunView view = ViewOf(run);
  const int64_t idle = view.gaps.at(0).ns;
  view.gaps = {{.cause = "host", .ns = idle / 2, .count = 1, .longest_ns = idle / 2},
               {.cause = "unknown", .ns = idle / 4, .count = 1, .longest_ns = idle / 4},
               {.cause = "copy", .ns = idle / 4, .count = 1, .longest_ns = idle / 4}};
  FindingFigure finding;
  finding.title = "Overlap it";
  finding.headline = "Communication is 12.0% of the step";
  finding.sentence = finding.headline + ": 12.0 ms, most of it in all-reduce.1";
  finding.reason = "12.0 ms, most of it in all-reduce.1";
  finding.confidence = "high";
  finding.saves_high_ns = 12'000'000;
  view.findings = {finding};
  const std::string all =
      "The device is idle for 80.0% of the step, 80.0 of 100 ms: the host is late 40.0 ms, "
      "not known 20.0 ms, other causes 20.0 ms.";
  Verdict verdict = MakeVerdict(view);
  EXPECT_EQ(PlainText(verdict.sentence), all + " Communication is 12.0% of the step.");
  EXPECT_EQ(PlainText(verdict.headline),
            "The device is idle for 80.0% of the step, 80.0 of 100 ms.");
  EXPECT_EQ(PlainText(verdict.reason),
            "The host is late 40.0 ms, not known 20.0 ms, other causes 20.0 ms. "
            "Communication is 12.0% of the step.");
  view.findings[0].id = "host_gap";
  view.findings[0].headline = "The device is idle for 40.0% of the step, waiting for the host";
  view.findings[0].sentence = view.findings[0].headline + ": x";
  EXPECT_EQ(PlainText(MakeVerdict(view).sentence), all);
  view.findings = {finding};
  // Where one cause is nearly all of it, the finding's own sentence says both.
  view.gaps = {{.cause = "host", .ns = idle - 2, .count = 1, .longest_ns = idle - 2},
               {.cause = "copy", .ns = 2, .count = 1, .longest_ns = 2}};
  verdict = MakeVerdict(view);
  EXPECT_EQ(PlainText(verdict.sentence), view.findings[0].sentence + ".");
  EXPECT_EQ(PlainText(verdict.headline), view.findings[0].headline + ".");
  EXPECT_EQ(PlainText(verdict.reason), "12.0 ms, most of it in all-reduce.1.");
  // Two lines of a terminal have 150 characters.
  view.findings[0].sentence += std::string(100, 'x');
  EXPECT_EQ(PlainText(MakeVerdict(view).sentence), view.findings[0].headline + ".");
  EXPECT_EQ(PlainText(MakeVerdict(view).reason), "");
}

TEST(VerdictTest, NothingDominatesIsSaid) {
  SampleRun run;
  const Phase phases[] = {Phase::kForward, Phase::kBackward, Phase::kOptimizer};
  for (int i = 0; i < 12; ++i) {
    run.ops.push_back(Op("op" + std::string(1, static_cast<char>('a' + i)), phases[i % 3], 1000));
  }
  EXPECT_THAT(Sentence(run), StartsWith("No single bottleneck. The largest op, opa "));
  EXPECT_THAT(Sentence(run), HasSubstr("is 8.3% of device time."));
}

TEST(VerdictTest, PoorAttributionIsTheFirstClause) {
  SampleRun run = BackwardRun();
  run.ops.push_back({.instruction = "", .ns = 250'000'000});  // A fifth of 1,250 ms.
  EXPECT_THAT(Sentence(run),
              StartsWith("Only 80.0% of device time could be attributed. Backward is "));
  const Verdict verdict = MakeVerdict(ViewOf(run));
  EXPECT_EQ(PlainText(verdict.headline), "Only 80.0% of device time could be attributed.");
  EXPECT_THAT(PlainText(verdict.reason), StartsWith("Backward is "));
  run.ops.back().ns = 10'000'000;
  EXPECT_THAT(Sentence(run), StartsWith("Backward is "));
}

TEST(VerdictTest, WithoutSteadyStepsThereIsNone) {
  SampleRun run = BackwardRun();
  run.steps = 1;
  const Verdict verdict = MakeVerdict(ViewOf(run));
  EXPECT_FALSE(verdict.given);
  EXPECT_EQ(PlainText(verdict.sentence),
            "No verdict: one step was recorded, and it is not steady.");
  EXPECT_THAT(PlainText(verdict.lede), StartsWith("Run at least 20 steps."));
  run.steps = 2;
  EXPECT_EQ(Sentence(run), "No verdict: none of 2 recorded steps is steady.");
  // What to do about it is what "not judged" says.
  RunView view = ViewOf(run);
  view.ruled_out.push_back(
      {.id = "steady_steps",
       .verdict = "withheld",
       .text = "everything per step: these are calls, not steps; mark what is a step"});
  EXPECT_THAT(PlainText(MakeVerdict(view).lede), StartsWith("Mark what is a step."));
}

TEST(VerdictTest, LostRecordsForbidAVerdict) {
  SampleRun run = BackwardRun();
  run.stats = {{"dropped", model::Severity::kDataLoss, "collector", 1200, "record fewer steps"}};
  const Verdict verdict = MakeVerdict(ViewOf(run));
  EXPECT_FALSE(verdict.given);
  EXPECT_EQ(PlainText(verdict.sentence),
            "No verdict: 1,200 records were lost, so idle time cannot be told from missing data.");
  EXPECT_THAT(PlainText(verdict.lede), HasSubstr("mul.3"));
}

TEST(VerdictTest, NoModulesAndNoActivityAreSaid) {
  SampleRun run = BackwardRun();
  run.module = false;
  EXPECT_THAT(Sentence(run), StartsWith("No verdict: the run holds no HLO module"));
  run.ops.clear();
  run.steps = 0;
  EXPECT_EQ(Sentence(run), "No verdict: the run holds no device activity.");
}

TEST(VerdictTest, WhatIsNotKnownCarriesItsTime) {
  SampleRun run = BackwardRun();
  run.ops.push_back({.instruction = "", .ns = 1'000'000});
  run.ops[2].other_ppm = 500'000;
  run.ops[2].other_phase = Phase::kLoss;
  const Verdict verdict = MakeVerdict(ViewOf(run));
  ASSERT_EQ(verdict.not_known.size(), 3u);
  EXPECT_THAT(PlainText(verdict.not_known[0]), StartsWith("1.00 ms per step (0.1%) has no"));
  EXPECT_THAT(PlainText(verdict.not_known[1]), StartsWith("200 ms per step is split"));
  EXPECT_THAT(PlainText(verdict.not_known[2]), StartsWith("Only 3 steady steps"));
  // Of the last step nobody sees what follows its work.
  RunView view = ViewOf(run);
  ASSERT_GE(view.steps.all.size(), 3u);
  StepFigure& last = view.steps.all.back();
  last.steady = true;
  last.differs_in = model::StepPart::kIdle;
  last.differs_ns = -last.wall_ns / 50;
  EXPECT_THAT(PlainText(MakeVerdict(view).not_known[2]),
              HasSubstr("steady steps, min to max; the last lacks "));
  for (const bool marked : {false, true}) {
    view.steps.marked = marked;
    if (!marked) last.differs_ns = -last.wall_ns / 101;  // Less than a per cent.
    EXPECT_THAT(PlainText(MakeVerdict(view).not_known[2]), EndsWith("not percentiles"));
  }
}

TEST(VerdictTest, TheFirstFindingIsTheLede) {
  SampleRun run = BackwardRun();
  model::FindingRow finding;
  finding.id = "scatter_add";
  finding.title = "replace the embedding lookup";
  finding.saves_high_ns_per_step = 62'100'000;
  run.findings.push_back(finding);
  EXPECT_EQ(PlainText(MakeVerdict(ViewOf(run)).lede),
            "First: replace the embedding lookup, which saves at most 62.1 ms per step.");
  // By replay; with what is known to be saved at least, it is no bound.
  run.findings[0].basis = "replay";
  run.findings[0].saves_low_ns_per_step = 0;
  EXPECT_EQ(PlainText(MakeVerdict(ViewOf(run)).lede),
            "First: replace the embedding lookup, which saves at most 62.1 ms per step.");
  run.findings[0].saves_low_ns_per_step = 50'000'000;
  EXPECT_EQ(PlainText(MakeVerdict(ViewOf(run)).lede),
            "First: replace the embedding lookup, which saves 62.1 ms per step.");
}

}  // namespace
}  // namespace xlatrace::report
