// SPDX-License-Identifier: Apache-2.0
#include "report/first_screen.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "report/view_figures.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using model::StepPart;

// Two steps of 10 ms on one GPU: 3 ms forward, 5 backward, 1 recompute, 1 idle in 3 gaps.
RunView TwoSteps() {
  RunView view;
  view.basis = {true, 2};
  view.steps.steady_count = 2;
  view.steps.typical_ns = 10'000'000;
  view.steps.p25_ns = 9'996'000;
  view.steps.p75_ns = 10'104'000;
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

TEST(FirstScreen, FactsArePerStepIfStepsAreSteady) {
  const RunView view = TwoSteps();
  EXPECT_GOLDEN_TEXT(Said(view, "step"));
  RunView several = view;
  several.devices = {{"H100", "gpu", 4, 4}};
  EXPECT_GOLDEN_TEXT(Said(several, "step"));
  // Attribution is of the steps; if that of the recording differs, the fact has it too.
  RunView start = view;
  start.run_coverage.device_ns = 40'000'000;
  start.run_coverage.none_ns = 20'000'000;
  EXPECT_GOLDEN_TEXT(Said(start, "attributed"));
  EXPECT_GOLDEN_TEXT(Said(view, "busy"));
  // A scan or a sort has no usual ratio.
  EXPECT_GOLDEN_TEXT(Said(view, "ratio"));
  RunView products = view;
  products.kinds = {{"gemm", products.coverage.device_ns / 2, 10}};
  EXPECT_GOLDEN_TEXT(Said(products, "ratio"));
  EXPECT_GOLDEN_TEXT(Said(view, "attributed"));
  // The raw figures.
  EXPECT_EQ(FirstFacts(view)[0].ns, 10'000'000);
  EXPECT_EQ(Said(view, "flop-rate"), "");
}

// 2e12 operations in 20 ms are 100 TFLOP/s. The product that reaches 50% of its peak does 1e12 in
// 4 ms, 250 TFLOP/s: the peak is 500. Other types than bf16 count as work but not for the peak.
TEST(FirstScreen, FlopRateIsRelativeToThePeakOfTheAnalysis) {
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
  EXPECT_GOLDEN_TEXT(Said(view, "flop-rate"));
  view.ops[0].compute_pct = 0;
  view.ops[0].peak_flop_per_s = 0;
  EXPECT_EQ(Said(view, "flop-rate"), "");
}

// A TPU's copy-done stays on the device's lane until the copy has ended: busy, but waiting.
TEST(FirstScreen, BusyTimeHasItsShareOfWaiting) {
  RunView view = TwoSteps();
  OpFigure done;
  done.category = "copy-done";
  done.op_kind = "copy";
  done.ns = 12'000'000;  // The total is 18 ms.
  OpFigure start = done;
  start.category = "copy-start";
  start.ns = 3'000'000;
  view.ops = {done, start};
  EXPECT_GOLDEN_TEXT(Said(view, "busy"));
  view.ops[0].ns = 800'000;  // 4.4 %: too little to report.
  EXPECT_EQ(BusyWaitWords(view), "");
  view.ops[0].op_kind = "collective";
  view.ops[0].category = "all-reduce-done";
  view.ops[0].ns = 30'000'000;  // Two lanes waited in parallel: at most 100 %.
  EXPECT_GOLDEN_TEXT(BusyWaitWords(view));
}

TEST(IdleCauseWords, ShortGapsAreMentionedFromFourFifths) {
  GapFigure gap;
  gap.cause = "unknown";
  gap.ns = 100'000;
  gap.short_ns = 79'000;
  const std::string plain = IdleCauseWords(gap);
  gap.short_ns = 80'000;
  const std::string words = IdleCauseWords(gap);
  ASSERT_TRUE(words.starts_with(plain));
  EXPECT_GT(words.size(), plain.size());
  EXPECT_GOLDEN_TEXT(words);
}

TEST(FirstScreen, FactsAreOfTheRunWithoutSteadySteps) {
  RunView view = TwoSteps();
  view.basis = {};
  view.gaps = {{"host", 1'500'000, 3, 900'000}};
  view.coverage.activities = 1234;
  view.kinds = {{"gemm", 9'000'000, 10}};
  EXPECT_GOLDEN_TEXT(Said(view, "step"));
  EXPECT_GOLDEN_TEXT(Said(view, "idle"));
  EXPECT_GOLDEN_TEXT(Said(view, "kind"));
  EXPECT_GOLDEN_TEXT(Said(view, "activities"));
  EXPECT_EQ(Said(view, "busy"), "");
  view.span = {20'000'000, 20'000'000};
  EXPECT_GOLDEN_TEXT(Said(view, "step"));
  EXPECT_GOLDEN_TEXT(Said(view, "idle"));
}

}  // namespace
}  // namespace xlatrace::report
