// SPDX-License-Identifier: Apache-2.0
#include "report/first_screen.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "report/verdict_figures.h"

namespace xlatrace::report {
namespace {

using model::StepPart;

// Two steps of 10 ms on one GPU: 3 ms forward, 5 backward, 1 recompute, 1 idle in 3 gaps.
RunView TwoSteps() {
  RunView view;
  view.basis = {true, 2};
  view.steps.steady_count = 2;
  view.steps.mean_ns = 10'000'000;
  view.steps.min_ns = 9'996'000;
  view.steps.max_ns = 10'004'000;
  view.steps.wall_ns = 20'000'000;
  view.steps.busy_ns = 18'000'000;
  const auto part = [&](StepPart of, int64_t ns) { view.step_parts[static_cast<size_t>(of)] = ns; };
  part(StepPart::kForward, 6'000'000);
  part(StepPart::kBackward, 10'000'000);
  part(StepPart::kRecompute, 2'000'000);
  part(StepPart::kIdle, 2'000'000);
  view.has_step_parts = true;
  view.gap_count = 3;
  view.devices.push_back({.name = "H100", .kind = "gpu", .count = 1, .worked = 1});
  view.device_count = 1;
  view.coverage.device_ns = 18'000'000;
  view.coverage.exact_ns = 9'000'000;
  view.coverage.inferred_ns = 8'100'000;
  view.coverage.none_ns = 900'000;
  return view;
}

std::string Said(const RunView& view, std::string_view id) {
  for (const Fact& fact : FirstFacts(view)) {
    if (fact.id == id) return fact.label + ": " + fact.value + ", " + fact.note;
  }
  return {};
}

TEST(FirstScreen, FactsOfAStep) {
  const RunView view = TwoSteps();
  EXPECT_EQ(Said(view, "step"), "Step: 10.0 ms, mean of 2 steps, 10.0 to 10.0 ms");
  RunView several = view;
  several.devices = {{"H100", "gpu", 4, 4}};
  EXPECT_EQ(Said(several, "step"), "Step: 10.0 ms, mean of 2 steps of 4 devices, 10.0 to 10.0 ms");
  // What comes before and after the work of the last step nobody counts.
  RunView one = view;
  one.steps.steady_count = 1;
  one.steps.all = {{.step = 0}, {.step = 1, .steady = true}};
  EXPECT_EQ(Said(one, "step"), "Step: 10.0 ms, one steady step, from its first work to its last");
  one.steps.all = {{.step = 0, .steady = true}, {.step = 1}};
  EXPECT_EQ(Said(one, "step"), "Step: 10.0 ms, one steady step");
  // From ten steps on it is p10 to p90, as `summary` says it.
  RunView many = view;
  many.steps.steady_count = 20;
  for (int i = 0; i < 20; ++i) {
    many.steps.all.push_back({.wall_ns = 9'000'000 + i * 100'000, .steady = true});
  }
  EXPECT_EQ(Said(many, "step"), "Step: 10.0 ms, mean of 20 steps, p10 9.10 to p90 10.7 ms");
  // A mean beyond nine tenths of its steps (a checkpoint every so often) stands in no such range.
  RunView pausing = many;
  pausing.steps.mean_ns = 12'000'000;
  pausing.steps.min_ns = 9'000'000;
  pausing.steps.max_ns = 60'000'000;
  EXPECT_EQ(Said(pausing, "step"), "Step: 12.0 ms, mean of 20 steps, 9.00 to 60.0 ms");
  // What is attributed is of the steps; where the recording is otherwise, that stands beside it.
  RunView start = view;
  start.run_coverage.device_ns = 40'000'000;
  start.run_coverage.none_ns = 20'000'000;
  EXPECT_EQ(Said(start, "attributed"),
            "Attributed: 95.0%, 50.0% by exact evidence; 50.0% of the whole recording");
  EXPECT_EQ(Said(view, "busy"),
            "GPU busy: 90.0%, idle 1.00 ms a step, 1.50 gaps of 1 \u00b5s or more");
  // Nothing is usual of a scan or a sort.
  EXPECT_EQ(Said(view, "ratio"), "Backward / forward: 2.00\u00d7, with 1.00 ms recompute");
  RunView products = view;
  products.kinds = {{"gemm", products.coverage.device_ns / 2, 10}};
  EXPECT_EQ(Said(products, "ratio"),
            "Backward / forward: 2.00\u00d7, with 1.00 ms recompute; about 2.3 is usual");
  EXPECT_EQ(Said(view, "attributed"), "Attributed: 95.0%, 50.0% by exact evidence");
  // Raw figures stand beside the words.
  EXPECT_EQ(FirstFacts(view)[0].ns, 10'000'000);
  EXPECT_EQ(Said(view, "exposed"), "");
  EXPECT_EQ(Said(view, "flop-rate"), "");
}

TEST(FirstScreen, ExposedCollectivesAreAPartOfTheStep) {
  RunView view = TwoSteps();
  view.step_parts[static_cast<size_t>(StepPart::kExposedCollective)] = 500'000;
  EXPECT_EQ(Said(view, "exposed"), "Exposed collectives: 0.250 ms, 2.5% of the step");
}

// 2e12 operations in 20 ms are 100 TFLOP/s. The product that reaches 50% of its peak does 1e12 in
// 4 ms, 250 TFLOP/s: the peak is 500. What is not bf16 counts as work and says nothing of the peak.
TEST(FirstScreen, TheFlopRateIsOfThePeakThatTheAnalysisUsed) {
  RunView view = TwoSteps();
  OpFigure product;
  product.op_kind = "gemm";
  product.compute_type = "bf16";
  product.calls = 10;
  product.flop_per_call = 1.5e11;
  product.compute_pct = 50;
  product.peak_flop_per_s = 5e14;
  OpFigure other = product;
  other.compute_type = "f32";
  other.flop_per_call = 0.5e11;
  other.peak_flop_per_s = 6e13;
  view.ops = {product, other};
  EXPECT_EQ(Said(view, "flop-rate"), "FLOP rate: 20.0%, 100 TFLOP/s of 500 TFLOP/s, bf16");
  view.ops[0].compute_pct = 0;
  view.ops[0].peak_flop_per_s = 0;
  EXPECT_EQ(Said(view, "flop-rate"), "");
}

// A TPU's copy-done is on the device's line until the copy is there: busy, and yet waiting.
TEST(FirstScreen, BusyTimeThatOnlyWaitsIsSaid) {
  RunView view = TwoSteps();
  OpFigure done;
  done.category = "copy-done";
  done.op_kind = "copy";
  done.ns = 12'000'000;  // Of 18 ms.
  OpFigure start = done;
  start.category = "copy-start";
  start.ns = 3'000'000;
  view.ops = {done, start};
  EXPECT_EQ(Said(view, "busy"),
            "GPU busy: 90.0%, 66.7% of it waiting for copies; idle 1.00 ms a step, 1.50 gaps of "
            "1 \u00b5s or more");
  view.ops[0].ns = 800'000;  // 4.4 %: not worth a word.
  EXPECT_EQ(BusyWaitWords(view), "");
  view.ops[0].op_kind = "collective";
  view.ops[0].category = "all-reduce-done";
  view.ops[0].ns = 30'000'000;  // Two lines waited side by side: no more than all that was busy.
  EXPECT_EQ(BusyWaitWords(view), "100% of it waiting for collectives");
}

TEST(IdleCauseWords, SayWhereNearlyAllIsTooShortToBeJudged) {
  GapFigure gap;
  gap.cause = "unknown";
  gap.ns = 100'000;
  gap.short_ns = 79'000;
  const std::string plain = IdleCauseWords(gap);
  gap.short_ns = 80'000;
  EXPECT_EQ(IdleCauseWords(gap), plain + " (gaps under 5 us, too short to judge)");
}

TEST(FirstScreen, WithoutSteadyStepsTheFactsAreOfTheRun) {
  RunView view = TwoSteps();
  view.basis = {};
  view.gaps = {{"host", 1'500'000, 3, 900'000}};
  view.coverage.activities = 1234;
  view.kinds = {{"gemm", 9'000'000, 10}};
  EXPECT_EQ(Said(view, "step"), "Device time: 18.0 ms, whole run: no steady step");
  EXPECT_EQ(Said(view, "idle"), "Idle: 1.50 ms, in 3 gaps of 1 \u00b5s or more");
  EXPECT_EQ(Said(view, "kind"), "Largest kind of work: gemm, 50.0% of device time");
  EXPECT_EQ(Said(view, "activities"), "Activities: 1,234, launches, ops, copies");
  EXPECT_EQ(Said(view, "busy"), "");
  view.span = {20'000'000, 20'000'000};
  EXPECT_EQ(Said(view, "step"), "Device time: 18.0 ms, whole run of 20.0 ms: no steady step");
  EXPECT_EQ(Said(view, "idle"), "Idle: 1.50 ms, 7.5%, in 3 gaps of 1 \u00b5s or more");
}

}  // namespace
}  // namespace xlatrace::report
