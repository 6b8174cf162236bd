// SPDX-License-Identifier: Apache-2.0

// The verdict of a run in one sentence, and the runs that have none.

#include "report/verdict.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/shown_words.h"
#include "sample_run.h"
#include "temporary_folder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using model::Phase;
using testing::HasSubstr;
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

// All sentences of a verdict, one per line.
std::string TextOf(const Verdict& verdict) {
  std::string text = PlainText(verdict.sentence);
  const auto add = [&](const std::string& name, const auto& sentence) {
    const std::string plain = PlainText(sentence);
    if (!plain.empty()) text += "\n" + name + ": " + plain;
  };
  add("headline", verdict.headline);
  add("reason", verdict.reason);
  add("lede", verdict.lede);
  for (const auto& line : verdict.not_known) add("not known", line);
  return text;
}

TEST(Verdict, OpOfAFrameworkIsNamedByTheLastPartOfItsPath) {
  SampleRun run = BackwardRun();
  run.ops[2].instruction = "compile_loss/mean_squared_error/Softmax/SoftmaxCrossEntropy_1:Softmax";
  EXPECT_THAT(Sentence(run), HasSubstr(" SoftmaxCrossEntropy_1 (gemm"));
  run.ops[2].instruction = "compile_loss/mean_squared_error/Softmax/gradients:Softmax";
  EXPECT_THAT(Sentence(run), HasSubstr(" gradients:Softmax (gemm"));
  run.ops[2].instruction = "loss/Softmax:Softmax";
  EXPECT_THAT(Sentence(run), HasSubstr(" loss/Softmax:Softmax (gemm"));
}

TEST(InUnitOf, APartIsInTheUnitOfItsWhole) {
  EXPECT_EQ(InUnitOf(746e3, 765e3), "746");    // us
  EXPECT_EQ(InUnitOf(49.2e6, 134e6), "49.2");  // ms
  EXPECT_EQ(InUnitOf(0.8e9, 1.6e9), "0.800");  // s
  EXPECT_EQ(InUnitOf(3, 120), "3.00");         // ns
  EXPECT_EQ(InUnitOf(30e9, 150e9), "30.0 s");  // of 2 min 30 s
}

TEST(VerdictTest, NamesTheLargestPhaseAndItsLargestOp) {
  const Verdict verdict = MakeVerdict(ViewOf(BackwardRun()));
  EXPECT_TRUE(verdict.given);
  EXPECT_GOLDEN_TEXT(TextOf(verdict));  // 0.700 of 1.00 s, 70.0 %; mul.3: 20.0 %.
  EXPECT_EQ(verdict.op_handle, "o1");
}

// One op is half of the step; the action is about another op and saves little.
TEST(VerdictTest, OpOfHalfOfTheStepComesBeforeASmallSaving) {
  SampleRun run = BackwardRun();
  run.ops[2].ns = 1'000'000'000;  // Of 1,800 ms.
  RunView view = ViewOf(run);
  FindingFigure finding;
  finding.id = "outside_xla";
  finding.title = "Alpha";
  finding.headline = finding.sentence = "Beta is 12%";
  finding.confidence = "medium";
  finding.saves_high_ns = 216'000'000;
  view.findings = {finding};
  const auto first = [&] { return PlainText(MakeVerdict(view).headline); };
  EXPECT_THAT(first(), HasSubstr("55.6%"));
  EXPECT_GOLDEN_TEXT(TextOf(MakeVerdict(view)));
  // A saving of a third of that op is worth the headline, and so is a finding about the op itself.
  view.findings[0].saves_high_ns = 334'000'000;
  EXPECT_EQ(first(), "Beta is 12%.");
  view.findings[0].saves_high_ns = 216'000'000;
  view.findings[0].where_op = "mul.3";
  EXPECT_EQ(first(), "Beta is 12%.");
}

TEST(VerdictTest, NamesTheInstructionThatDominates) {
  SampleRun run = BackwardRun();
  run.ops[2].ns = 800'000'000;  // Half of 1,600 ms.
  EXPECT_EQ(MakeVerdict(ViewOf(run)).op_handle, "o1");
  EXPECT_GOLDEN_TEXT(Sentence(run));  // mul.3: 0.800 of 1.60 s, 50.0 %.
}

TEST(VerdictTest, IdleTimeComesBeforeTheOnlyOp) {
  SampleRun run;
  run.ops = {Op("dot.1", Phase::kForward, 20'000'000)};
  run.idle_ns = 80'000'000;
  const Verdict verdict = MakeVerdict(ViewOf(run));
  EXPECT_GOLDEN_TEXT(TextOf(verdict));  // 80.0 of 100 ms, 80.0 %, all because the host is late.
}

TEST(VerdictTest, AllIdleTimeComesBeforeItsCausesAndBeforeASmallerFinding) {
  SampleRun run;
  run.ops = {Op("dot.1", Phase::kForward, 20'000'000)};
  run.idle_ns = 80'000'000;
  RunView view = ViewOf(run);
  const int64_t idle = view.gaps.at(0).ns;
  view.gaps = {{.cause = "host", .ns = idle / 2, .count = 1, .longest_ns = idle / 2},
               {.cause = "unknown", .ns = idle / 4, .count = 1, .longest_ns = idle / 4},
               {.cause = "copy", .ns = idle / 4, .count = 1, .longest_ns = idle / 4}};
  FindingFigure finding;
  finding.title = "Alpha";
  finding.headline = "Beta is 12.0%";
  finding.sentence = finding.headline + ": 12.0 ms in all-reduce.1";
  finding.reason = "12.0 ms in all-reduce.1";
  finding.confidence = "high";
  finding.saves_high_ns = 12'000'000;
  view.findings = {finding};
  Verdict verdict = MakeVerdict(view);
  const std::string both = PlainText(verdict.sentence);
  ASSERT_TRUE(both.ends_with(" Beta is 12.0%.")) << both;
  // 80.0 of 100 ms, 80.0 %: the host is late 40.0, not known 20.0, other causes 20.0 ms.
  EXPECT_GOLDEN_TEXT(TextOf(verdict));
  // A finding about a part of the idle time is not a second sentence.
  view.findings[0].id = "host_gap";
  view.findings[0].headline = "Beta is 40.0%";
  view.findings[0].sentence = view.findings[0].headline + ": x";
  EXPECT_EQ(PlainText(MakeVerdict(view).sentence) + " Beta is 12.0%.", both);
  view.findings = {finding};
  // If one cause is nearly all idle time, the sentence of the finding suffices.
  view.gaps = {{.cause = "host", .ns = idle - 2, .count = 1, .longest_ns = idle - 2},
               {.cause = "copy", .ns = 2, .count = 1, .longest_ns = 2}};
  verdict = MakeVerdict(view);
  EXPECT_EQ(PlainText(verdict.sentence), view.findings[0].sentence + ".");
  EXPECT_EQ(PlainText(verdict.headline), view.findings[0].headline + ".");
  EXPECT_EQ(PlainText(verdict.reason), "12.0 ms in all-reduce.1.");
  // Two lines of a terminal have 150 characters.
  view.findings[0].sentence += std::string(120, 'x');
  EXPECT_EQ(PlainText(MakeVerdict(view).sentence), view.findings[0].headline + ".");
  EXPECT_EQ(PlainText(MakeVerdict(view).reason), "");
}

TEST(VerdictTest, NamesTheLargestOpIfNothingDominates) {
  SampleRun run;
  const Phase phases[] = {Phase::kForward, Phase::kBackward, Phase::kOptimizer};
  for (int i = 0; i < 12; ++i) {
    run.ops.push_back(Op("op" + std::string(1, static_cast<char>('a' + i)), phases[i % 3], 1000));
  }
  EXPECT_GOLDEN_TEXT(Sentence(run));  // opa: 8.3 %.
}

TEST(VerdictTest, PoorAttributionComesFirst) {
  SampleRun run = BackwardRun();
  run.ops.push_back({.instruction = "", .ns = 250'000'000});  // A fifth of 1,250 ms.
  const Verdict verdict = MakeVerdict(ViewOf(run));
  EXPECT_THAT(PlainText(verdict.headline), HasSubstr("80.0%"));
  EXPECT_GOLDEN_TEXT(TextOf(verdict));
  run.ops.back().ns = 10'000'000;
  EXPECT_GOLDEN_TEXT(Sentence(run));
}

TEST(VerdictTest, WithoutSteadyStepsThereIsNoVerdict) {
  SampleRun run = BackwardRun();
  run.steps = 1;
  const Verdict verdict = MakeVerdict(ViewOf(run));
  EXPECT_FALSE(verdict.given);
  EXPECT_GOLDEN_TEXT(TextOf(verdict));
  run.steps = 2;
  EXPECT_FALSE(MakeVerdict(ViewOf(run)).given);
  EXPECT_GOLDEN_TEXT(Sentence(run));
  // The last clause of the withheld row is the advice.
  RunView view = ViewOf(run);
  view.ruled_out.push_back(
      {.id = "steady_steps", .verdict = "withheld", .text = "alpha: beta, gamma; delta epsilon"});
  EXPECT_THAT(PlainText(MakeVerdict(view).lede), StartsWith("Delta epsilon."));
}

TEST(VerdictTest, LostRecordsForbidAVerdict) {
  SampleRun run = BackwardRun();
  run.stats = {{"dropped", model::Severity::kDataLoss, "collector", 1200, "alpha"}};
  const Verdict verdict = MakeVerdict(ViewOf(run));
  EXPECT_FALSE(verdict.given);
  EXPECT_THAT(PlainText(verdict.sentence), HasSubstr("1,200"));
  EXPECT_THAT(PlainText(verdict.lede), HasSubstr("mul.3"));
  EXPECT_GOLDEN_TEXT(TextOf(verdict));
}

TEST(VerdictTest, RunWithoutModulesOrWithoutActivityHasNoVerdict) {
  SampleRun run = BackwardRun();
  run.module = false;
  EXPECT_FALSE(MakeVerdict(ViewOf(run)).given);
  EXPECT_GOLDEN_TEXT(Sentence(run));
  run.ops.clear();
  run.steps = 0;
  EXPECT_FALSE(MakeVerdict(ViewOf(run)).given);
  EXPECT_GOLDEN_TEXT(Sentence(run));
}

TEST(VerdictTest, LimitsOfTheVerdictHaveTheirTime) {
  SampleRun run = BackwardRun();
  run.ops.push_back({.instruction = "", .ns = 1'000'000});
  run.ops[2].other_ppm = 500'000;
  run.ops[2].other_phase = Phase::kLoss;
  const Verdict verdict = MakeVerdict(ViewOf(run));
  ASSERT_EQ(verdict.not_known.size(), 3u);
  EXPECT_GOLDEN_TEXT(TextOf(verdict));  // 1.00 ms (0.1 %), 200 ms, 3 steps.
  // The time after the work of the last step is not recorded.
  RunView view = ViewOf(run);
  ASSERT_GE(view.steps.all.size(), 3u);
  StepFigure& last = view.steps.all.back();
  last.steady = true;
  last.differs_in = model::StepPart::kIdle;
  last.differs_ns = -last.wall_ns / 50;
  EXPECT_GOLDEN_TEXT(PlainText(MakeVerdict(view).not_known[2]));
  for (const bool marked : {false, true}) {
    view.steps.marked = marked;
    if (!marked) last.differs_ns = -last.wall_ns / 101;  // Less than a per cent.
    EXPECT_EQ(PlainText(MakeVerdict(view).not_known[2]), PlainText(verdict.not_known[2]));
  }
}

TEST(VerdictTest, FirstFindingIsTheLede) {
  SampleRun run = BackwardRun();
  model::FindingRow finding;
  finding.id = "scatter_add";
  finding.title = "alpha";
  finding.saves_high_ns_per_step = 62'100'000;
  run.findings.push_back(finding);
  const std::string at_most = PlainText(MakeVerdict(ViewOf(run)).lede);
  EXPECT_GOLDEN_TEXT(at_most);  // At most 62.1 ms.
  // By replay, with a known lower bound, the figure is not an upper bound.
  run.findings[0].basis = "replay";
  run.findings[0].saves_low_ns_per_step = 0;
  EXPECT_EQ(PlainText(MakeVerdict(ViewOf(run)).lede), at_most);
  run.findings[0].saves_low_ns_per_step = 50'000'000;
  EXPECT_GOLDEN_TEXT(PlainText(MakeVerdict(ViewOf(run)).lede));  // 62.1 ms.
}

}  // namespace
}  // namespace xlatrace::report
