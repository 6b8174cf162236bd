// SPDX-License-Identifier: Apache-2.0
#include "report/not_known.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/shown_words.h"
#include "report/trust.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxReasonLines = 3;

}  // namespace

std::vector<Sentence> NotKnown(const RunView& view) {
  std::vector<Sentence> not_known;
  const auto add = [&](std::string_view text) { not_known.push_back(Plain(text)); };
  if (view.OnFakeGpu()) {
    add("recorded on the fake GPU of xlatrace's tests: its times are not those of a real device");
  }
  if (view.IsPartial()) {
    add("the program was still running; repeat the command to include later work");
  }
  const Coverage& coverage = view.coverage;
  const std::string_view per_step = PerStepWords(view);
  // Work outside of XLA has no instruction; another line states this.
  const size_t reasons = AttributedWords(view).foreign ? 0 : coverage.reasons.size();
  for (size_t i = 0; i < std::min(kMaxReasonLines, reasons); ++i) {
    const ReasonFigure& reason = coverage.reasons[i];
    if (reason.ns == 0) continue;
    add(fmt::format(
        "{}{} ({}%) has no instruction: {}", Duration(view.PerStep(reason.ns)), per_step,
        ShareText(static_cast<double>(reason.ns), static_cast<double>(coverage.device_ns)),
        ReasonWords(reason.reason)));
  }
  const auto sum_of = [&view](std::string_view name) {
    int64_t sum = 0;
    for (const StatFigure& stat : view.stats) sum += stat.name == name ? stat.value : 0;
    return sum;
  };
  const int64_t outside = sum_of("projected_operations_outside_ranges");
  if (outside > 0) {
    add(fmt::format("{} outside all ranges at unknown times; some idle time may be busy",
                    outside == 1 ? std::string("1 GPU operation ran")
                                 : fmt::format("{} GPU operations ran", Thousands(outside))));
  }
  if (const int64_t ns = sum_of("loop_time_without_operations_ns");
      ns > 0 && 1000 * ns >= view.run_coverage.device_ns) {
    const auto runs = static_cast<int64_t>(view.steps.all.size()) * Workers(view);
    add(fmt::format(
        "{} of the recording, all devices, is idle time between the ops of loops, "
        "counted as time of the loops{}",
        Duration(static_cast<double>(ns)),
        runs == 0 ? ""
                  : fmt::format(": {} per step",
                                Duration(static_cast<double>(ns) / static_cast<double>(runs)))));
  }
  if (const int64_t count = sum_of("runs_without_length"); count > 0) {
    add(count == 1
            ? std::string(
                  "1 execution of a long op has 0 ns: its time may be counted for later ops")
            : fmt::format(
                  "{} executions of long ops have 0 ns: their time may be counted for later ops",
                  Thousands(count)));
  }
  constexpr auto kUnknown = static_cast<size_t>(model::Phase::kUnknown);
  const int64_t unknown = view.phases[kUnknown] - view.none_phases[kUnknown];
  if (unknown > 0) {
    add(fmt::format("{}{} has an instruction, but its phase is not known",
                    Duration(view.PerStep(unknown)), per_step));
  }
  if (view.phases_estimated_ns > 0) {
    add(fmt::format("{}{} is split between phases by estimate (fusions that mix them)",
                    Duration(view.PerStep(view.phases_estimated_ns)), per_step));
  }
  if (view.basis.steady && view.steps.steady_count < kStepsForPercentiles) {
    add(fmt::format("Only {} steady steps", view.steps.steady_count));
  }
  return not_known;
}

}  // namespace xlatrace::report
