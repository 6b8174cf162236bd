// SPDX-License-Identifier: Apache-2.0

// Pauses: much idle time in few steps (a checkpoint, an evaluation, the log of every tenth step). A
// mean over all steps would look as if each of them waited a little.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/idle.h"
#include "analysis/findings/rules.h"
#include "model/gap_words.h"

namespace xlatrace::analysis::findings {
namespace {

using model::GapCause;

constexpr double kMinPauseShare = 0.1;    // Share of a step, in one gap.
constexpr int64_t kMinStepsPerPause = 3;  // At most a third of the steps.
constexpr int64_t kMinPauseRatio = 3;     // Ratio to the gaps of the other steps.
constexpr double kMinPausesShare = 0.02;  // Share of all steps.
constexpr size_t kNamedSteps = 6;

// A gap and its part in a step.
struct GapInStep {
  const model::GapRow* row = nullptr;
  int64_t ns = 0;
};

// The steady steps of all devices by number, each with its gaps. Typical steps would not suffice,
// because steps with pauses are not typical.
class StepsByNumber {
 public:
  explicit StepsByNumber(const Context& context) {
    for (const model::StepRow& step : context.analysis.steps) {
      if (step.first_execution) continue;
      of_device_[step.device_id].push_back(&step);
      gaps_[step.step];
      ++pairs_;
      steps_ns_ += step.end_ns - step.start_ns;
    }
    for (const model::GapRow& gap : context.analysis.gaps) {
      const model::StepRow* step = StepOf(gap);
      if (step == nullptr) continue;
      const int64_t ns =
          std::min(step->end_ns, gap.end_ns) - std::max(step->start_ns, gap.start_ns);
      gaps_[step->step].push_back({&gap, ns});
    }
  }

  const std::map<int64_t, std::vector<GapInStep>>& gaps() const { return gaps_; }
  int64_t pairs() const { return pairs_; }  // One per step and device.
  int64_t steps_ns() const { return steps_ns_; }

 private:
  // The first step that the gap lies in.
  const model::StepRow* StepOf(const model::GapRow& gap) const {
    const auto device = of_device_.find(gap.device_id);
    if (device == of_device_.end()) return nullptr;
    const auto at =
        std::upper_bound(device->second.begin(), device->second.end(), gap.start_ns,
                         [](int64_t ns, const model::StepRow* step) { return ns < step->end_ns; });
    return at == device->second.end() || (*at)->start_ns >= gap.end_ns ? nullptr : *at;
  }

  std::map<model::Id, std::vector<const model::StepRow*>> of_device_;  // By start.
  std::map<int64_t, std::vector<GapInStep>> gaps_;
  int64_t pairs_ = 0;
  int64_t steps_ns_ = 0;
};

struct Pauses {
  std::vector<int64_t> steps;  // Numbers of those that have one, in order.
  std::vector<GapInStep> gaps;
  int64_t ns = 0;
  int64_t longest_ns = 0;
  int64_t of_others_ns = 0;  // The longest gap of a step without one, in the median.
  std::map<GapCause, int64_t> by_cause;
};

Pauses PausesOf(const Context& context, const StepsByNumber& steps) {
  const auto least = static_cast<int64_t>(kMinPauseShare * static_cast<double>(context.step_ns));
  Pauses pauses;
  std::vector<int64_t> others;
  for (const auto& [number, gaps] : steps.gaps()) {
    int64_t longest = 0;
    bool paused = false;
    for (const GapInStep& gap : gaps) {
      longest = std::max(longest, gap.ns);
      if (gap.ns < least || gap.row->cause == GapCause::kCompile) continue;
      paused = true;
      pauses.gaps.push_back(gap);
      pauses.ns += gap.ns;
      pauses.longest_ns = std::max(pauses.longest_ns, gap.ns);
      pauses.by_cause[gap.row->cause] += gap.ns;
    }
    if (paused) {
      pauses.steps.push_back(number);
    } else {
      others.push_back(longest);
    }
  }
  if (!others.empty()) {
    const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
    std::nth_element(others.begin(), middle, others.end());
    pauses.of_others_ns = *middle;
  }
  return pauses;
}

// "every 7th" for regular steps; otherwise empty.
std::string Every(const std::vector<int64_t>& steps) {
  if (steps.size() < 3) return {};
  const int64_t apart = steps[1] - steps[0];
  for (size_t i = 2; i < steps.size(); ++i) {
    if (steps[i] - steps[i - 1] != apart) return {};
  }
  const std::string_view ending = apart % 100 / 10 == 1 ? "th"
                                  : apart % 10 == 1     ? "st"
                                  : apart % 10 == 2     ? "nd"
                                  : apart % 10 == 3     ? "rd"
                                                        : "th";
  return fmt::format("every {}{}", apart, ending);
}

std::string Numbers(const std::vector<int64_t>& steps) {
  std::string text;
  for (size_t i = 0; i < std::min(steps.size(), kNamedSteps); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", steps[i]);
  }
  return text + (steps.size() > kNamedSteps ? ", ..." : "");
}

std::string VariantOf(GapCause cause) {
  return cause == GapCause::kInput             ? "input"
         : cause == GapCause::kSynchronisation ? "synchronisation"
         : cause == GapCause::kCopy            ? "copy"
                                               : "";
}

Finding FindingOf(const Context& context, const Pauses& pauses, const StepsByNumber& steps) {
  const auto count = static_cast<int64_t>(pauses.steps.size());
  const auto all_steps = static_cast<int64_t>(steps.gaps().size());
  const int64_t per_step = pauses.ns / steps.pairs();
  const double share = static_cast<double>(pauses.ns) / static_cast<double>(steps.steps_ns());
  // Per device, as steps are.
  const int64_t each = per_step * all_steps / count;
  const std::string every = Every(pauses.steps);
  const auto cause =
      std::max_element(pauses.by_cause.begin(), pauses.by_cause.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Finding finding;
  finding.id = "pauses";
  finding.of_median_step = false;
  // Scaled, because sums of gaps are divided by the number of typical steps.
  for (const GapInStep& gap : pauses.gaps) {
    finding.gaps.emplace_back(static_cast<uint32_t>(gap.row - context.analysis.gaps.data()),
                              gap.ns * context.divisor / steps.pairs());
  }
  const std::string what = LongestOf(context, finding.gaps);
  finding.values["count"] = std::to_string(count);
  finding.values["steps"] = std::to_string(all_steps);
  finding.values["during"] = DuringWords(what);
  finding.sentence = {
      fmt::format("{} of {} steps pause{}: {}{}", count, all_steps, count == 1 ? "s" : "",
                  Time(each), count == 1 ? "" : " each"),
      fmt::format("{}{}, {} of all steps' time", every.empty() ? "" : every + " step, ",
                  context.words.PerStep(Time(per_step)), Percent(share)),
      "", "", "; "};
  finding.variant = VariantOf(cause->first);
  finding.saves_high_ns = per_step;
  finding.saves_low_ns = 0;
  // On a CPU another program may have used the cores. But regular pauses belong to the
  // script.
  finding.sure = context.Allowed(context.on_cpu && every.empty() ? Sure::kLow : Sure::kMedium);
  finding.where_source = context.StepCallSource();
  finding.evidence.AddIdle(IdleInGaps(context), per_step)
      .AddReal("of all steps", 100 * share, "%")
      .Add(fmt::format("steps that pause ({})", Numbers(pauses.steps)), count, "count")
      .Add("steps", all_steps, "count");
  if (!what.empty()) {
    finding.evidence.Add("the longest such gap: " + what, pauses.longest_ns, "ns");
  } else {
    finding.evidence.Add("longest such gap", pauses.longest_ns, "ns");
  }
  finding.evidence.Add("longest gap of a step without one, median", pauses.of_others_ns, "ns");
  return finding;
}

}  // namespace

void CheckPauses(const Context& context, Report& report) {
  if (context.whole_run) return;
  if (context.options.lost_records > 0 || context.graph_share > 0.02) return;
  const StepsByNumber steps(context);
  const auto all = static_cast<int64_t>(steps.gaps().size());
  const Pauses pauses = PausesOf(context, steps);
  const auto count = static_cast<int64_t>(pauses.steps.size());
  if (count == 0 || kMinStepsPerPause * count > all) return;
  if (context.ShareOfStep(pauses.ns / steps.pairs()) < kMinPausesShare) return;
  const int64_t mean = pauses.ns / static_cast<int64_t>(pauses.gaps.size());
  if (mean < kMinPauseRatio * pauses.of_others_ns) return;
  report.Add(FindingOf(context, pauses, steps));
}

}  // namespace xlatrace::analysis::findings
