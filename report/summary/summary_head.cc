// SPDX-License-Identifier: Apache-2.0

// The head of a summary in a terminal, and helpers that its blocks share.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "base/terminal.h"
#include "hlo/module_origin.h"
#include "report/shown_words.h"
#include "report/summary/summary_blocks.h"
#include "report/text_table.h"
#include "report/trust.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

constexpr int kMinSummaryWidth = 60;

}  // namespace

void AppendLines(SummaryLines& to, SummaryLines from) {
  for (std::string& line : from) to.push_back(std::move(line));
}

SummaryBlock::SummaryBlock(const RunView& view, const SummaryOptions& options)
    : view_(view), options_(options), width_(std::max(options.width, kMinSummaryWidth)) {}

std::string SummaryBlock::Clean(std::string_view text) const { return Safe(text, options_.ascii); }
std::string SummaryBlock::Bold(const std::string& text) const {
  return options_.color ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string SummaryBlock::Fields(const SummaryLines& fields) const {
  std::string line;
  for (const std::string& field : fields) {
    if (field.empty()) continue;
    const std::string safe = Clean(field);
    const int room = width_ - DisplayWidth(line) - (line.empty() ? 0 : 2);
    if (DisplayWidth(safe) > room) {
      if (line.empty()) line = FitLeft(safe, width_);
      continue;
    }
    line += (line.empty() ? "" : "  ") + safe;
  }
  return line;
}

std::string SummaryBlock::FitName(const std::string& name, int width) {
  const std::string safe = Safe(name, false);
  return DisplayWidth(safe) > width ? FitLeft(safe, width) : safe;
}

// The program, the device, the framework, how much was launched.
SummaryLines HeaderBlock::WhatRan() const {
  const std::string file = view_.path.substr(view_.path.find_last_of('/') + 1);
  SummaryLines first{"xlatrace " XLATRACE_VERSION, FitName(file, 30)};
  if (view_.title != file) first.push_back(FitName(view_.title, 30));
  const JobFigure& job = view_.job;
  if (job.ranks > 0) first.push_back(RankWords(job));
  // For a job with only some ranks' launches in the file, the text states that the devices are kept
  // ones.
  first.push_back(FitName(view_.DeviceText(), 40) + (job.kept < job.ranks ? " kept" : ""));
  if (const std::string rank = view_.RankText(); !rank.empty()) first.push_back(rank);
  if (const ModuleFigure* main = view_.MainModule()) {
    // TensorFlow's module names consist of the function's name and 60 generated characters.
    const hlo::ModuleOrigin origin = hlo::OriginOfModule(main->name);
    const bool function = origin.how == "tf.function" || origin.how == "cluster";
    first.push_back(FitName(function ? origin.function : main->name, 40));
  }
  first.push_back(view_.framework);
  const Coverage& coverage = view_.coverage;
  if (view_.basis.steady) {
    const double launches = view_.PerStep(coverage.activities);
    first.push_back(Thousands(static_cast<int64_t>(std::llround(launches))) + " " + Launches() +
                    "/step");
  } else if (coverage.activities > 0) {
    first.push_back(Thousands(coverage.activities) + " " + Launches());
  }
  return first;
}

// For a job without steps in this file: the step of all ranks, as in the job's sentence.
std::string HeaderBlock::JobStepText() const {
  const JobFigure& job = view_.job;
  const auto step = static_cast<double>(job.step_ns);
  if (job.steps == 1) return fmt::format("step {} (1 step of the job)", Duration(step));
  return fmt::format("step {} ({} to {}, {} steps of the job)", Duration(step),
                     InUnitOf(static_cast<double>(job.min_ns), step),
                     InUnitOf(static_cast<double>(job.max_ns), step), Thousands(job.steps));
}

std::string StepWords(const StepsFigure& steps) {
  const auto typical = static_cast<double>(steps.typical_ns);
  const std::string count = Thousands(steps.steady_count);
  const std::string low = InUnitOf(static_cast<double>(steps.p25_ns), typical);
  const std::string high = InUnitOf(static_cast<double>(steps.p75_ns), typical);
  if (low == high) return fmt::format("step {} ({} steps)", Duration(typical), count);
  return fmt::format("step {} (half of {} steps: {} to {})", Duration(typical), count, low, high);
}

std::string HeaderBlock::Launches() const {
  return view_.granularity == "kernel" ? "launches" : "ops";
}

SummaryLines HeaderBlock::Lines() const {
  const SummaryLines first = WhatRan();
  const Coverage& coverage = view_.coverage;
  SummaryLines second;
  if (view_.basis.steady) {
    const StepsFigure& steps = view_.steps;
    const std::string waits = BusyWaitWords(view_);
    second.push_back(StepWords(view_.steps));
    second.push_back(
        "busy " +
        ShareText(static_cast<double>(steps.busy_ns), static_cast<double>(steps.wall_ns)) + "%" +
        (waits.empty() ? "" : " (" + waits + ")"));
  } else {
    if (view_.StepsAreJobs()) {
      second.push_back(JobStepText());
    } else if (view_.span.longest_ns > 0) {
      second.push_back("whole run " + Duration(static_cast<double>(view_.span.longest_ns)));
    }
    second.push_back("device time " + Duration(static_cast<double>(coverage.device_ns)));
  }
  if (coverage.device_ns > 0) second.push_back(AttributedWords(view_).text);
  // Possible losses have a separate line, so that they are never cut off.
  const bool lacks = view_.losses.more_possible();
  if (!lacks) {
    second.push_back("lost " + view_.losses.Text());
    second.push_back(view_.losses.EndsText());
  }
  if (view_.errors > 0) second.push_back(Thousands(view_.errors) + " errors");
  const auto left_out = static_cast<int64_t>(view_.steps.all.size()) - view_.steps.steady_count;
  if (view_.basis.steady && left_out > 0) {
    second.push_back(fmt::format("{} not steady left out", Thousands(left_out)));
  }
  if (!lacks) return {Fields(first), Fields(second)};
  return {Fields(first), Fields(second),
          Fields({"lost " + view_.losses.Text(), view_.losses.EndsText()})};
}

}  // namespace xlatrace::report
