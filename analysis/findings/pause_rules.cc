// SPDX-License-Identifier: Apache-2.0

// Pauses: much idle time in few of the steps (a checkpoint, an evaluation, the log of every tenth
// step). A mean over all steps would tell it as if each of them waited a little.

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

constexpr int64_t kStepsForPauses = 10;
constexpr int64_t kLeastPauseNs = 1'000'000;
constexpr double kPause = 0.1;          // Of a step, in one gap.
constexpr int64_t kFewOf = 3;           // At most a third of the steps.
constexpr int64_t kTimesTheOthers = 3;  // Longer than what the other steps have.
constexpr double kNoticeable = 0.02;    // Of all steps.
constexpr size_t kNamedSteps = 6;

// The steady steps of all devices by number, each with its gaps.
class StepsByNumber {
 public:
  StepsByNumber(const Context& context, const std::vector<Gap>& gaps) {
    for (const model::StepRow& step : context.analysis.steps) {
      if (!step.steady) continue;
      of_device_[step.device_id].push_back(&step);
      gaps_[step.step];
    }
    for (auto& [device, steps] : of_device_) {
      std::sort(steps.begin(), steps.end(),
                [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
    }
    for (const Gap& gap : gaps) {
      if (const model::StepRow* step = StepOf(*gap.row)) gaps_[step->step].push_back(&gap);
    }
  }

  const std::map<int64_t, std::vector<const Gap*>>& gaps() const { return gaps_; }

 private:
  // The first steady step that the gap lies in.
  const model::StepRow* StepOf(const model::GapRow& gap) const {
    const auto device = of_device_.find(gap.device_id);
    if (device == of_device_.end()) return nullptr;
    const auto at =
        std::upper_bound(device->second.begin(), device->second.end(), gap.start_ns,
                         [](int64_t ns, const model::StepRow* step) { return ns < step->end_ns; });
    return at == device->second.end() || (*at)->start_ns >= gap.end_ns ? nullptr : *at;
  }

  std::map<model::Id, std::vector<const model::StepRow*>> of_device_;
  std::map<int64_t, std::vector<const Gap*>> gaps_;
};

struct Pauses {
  std::vector<int64_t> steps;  // Numbers of those that have one, in order.
  std::vector<const Gap*> gaps;
  int64_t ns = 0;
  int64_t longest_ns = 0;
  int64_t of_others_ns = 0;  // The longest gap of a step without one, in the median.
  std::map<GapCause, int64_t> by_cause;
};

Pauses PausesOf(const Context& context, const StepsByNumber& steps) {
  const auto least =
      std::max(kLeastPauseNs, static_cast<int64_t>(kPause * static_cast<double>(context.step_ns)));
  Pauses pauses;
  std::vector<int64_t> others;
  for (const auto& [number, gaps] : steps.gaps()) {
    int64_t longest = 0;
    bool paused = false;
    for (const Gap* gap : gaps) {
      longest = std::max(longest, gap->ns);
      if (gap->ns < least || gap->row->cause == GapCause::kCompile) continue;
      paused = true;
      pauses.gaps.push_back(gap);
      pauses.ns += gap->ns;
      pauses.longest_ns = std::max(pauses.longest_ns, gap->ns);
      pauses.by_cause[gap->row->cause] += gap->ns;
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

// "every 7th", where they come as regularly as that; empty otherwise.
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

std::string_view ActionOf(GapCause cause) {
  return cause == GapCause::kInput ? "input is late in these steps: a file or shard that is "
                                     "opened, a shuffle buffer that "
                                     "is filled; prefetch further ahead, more than one batch"
         : cause == GapCause::kSynchronisation
             ? "the host waits for the device in these steps (metrics, logging): read the values "
               "of the step before, or copy them aside (`x.copy_to_host_async()`)"
         : cause == GapCause::kCopy
             ? "a copy to or from the host in these steps (checkpoints, metrics, evaluation): make "
               "it asynchronous, from a copy on the device"
             : "see what the program does every so many steps: checkpoints, evaluation, logging, "
               "garbage collection; write and evaluate aside, in another thread or process";
}

Finding FindingOf(const Context& context, const Pauses& pauses, int64_t all_steps) {
  const auto count = static_cast<int64_t>(pauses.steps.size());
  const int64_t per_step = context.PerStep(pauses.ns);
  // Of one device, as steps are.
  const int64_t each = per_step * all_steps / count;
  const std::string every = Every(pauses.steps);
  const auto cause =
      std::max_element(pauses.by_cause.begin(), pauses.by_cause.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Finding finding;
  finding.id = "pauses";
  finding.of_median_step = false;
  for (const Gap* gap : pauses.gaps) Claim(context, *gap, finding.gaps);
  const std::string what = LongestOf(context, finding.gaps);
  finding.title = {fmt::format("See what pauses {} of {} steps", count, all_steps),
                   fmt::format("{}{}{}{}", Time(each), count == 1 ? "" : " each",
                               every.empty() ? "" : ", " + every,
                               what.empty()                           ? ""
                               : what.starts_with("nothing recorded") ? ", " + what
                                                                      : ", the host in " + what)};
  finding.sentence = {
      fmt::format("{} of {} steps pause{}: {}{}", count, all_steps, count == 1 ? "s" : "",
                  Time(each), count == 1 ? "" : " each"),
      fmt::format("{}{}, {} of all steps' time", every.empty() ? "" : every + " step, ",
                  context.words.PerStep(Time(per_step)), Percent(context.ShareOfStep(per_step))),
      "", "", "; "};
  finding.action = ActionOf(cause->first);
  finding.how_to_check = "no step is longer than the median by as much";
  finding.saves_high_ns = per_step;
  finding.saves_low_ns = 0;
  // On a CPU another program may have had the cores; what comes as regularly as that is the
  // script's.
  finding.sure = context.Allowed(context.on_cpu && every.empty() ? Sure::kLow : Sure::kMedium);
  finding.where_source = context.StepCallSource();
  finding.evidence.AddIdle(IdleInGaps(context), per_step)
      .AddReal("of the step", 100 * context.ShareOfStep(per_step), "%")
      .Add(fmt::format("steps that pause ({})", Numbers(pauses.steps)), count, "count")
      .Add("steady steps", all_steps, "count");
  if (!what.empty()) {
    finding.evidence.Add("the longest such gap: " + what, pauses.longest_ns, "ns");
  } else {
    finding.evidence.Add("longest such gap", pauses.longest_ns, "ns");
  }
  finding.evidence.Add("longest gap of a step without one, median", pauses.of_others_ns, "ns");
  return finding;
}

}  // namespace

GapClaims JudgePauses(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  if (context.whole_run || context.step_count < kStepsForPauses) return {};
  if (context.options.lost_records > 0 || context.graph_share > 0.02) return {};
  const StepsByNumber steps(context, gaps);
  const Pauses pauses = PausesOf(context, steps);
  const auto all = static_cast<int64_t>(steps.gaps().size());
  const auto count = static_cast<int64_t>(pauses.steps.size());
  if (count == 0 || kFewOf * count > all) return {};
  if (context.ShareOfStep(context.PerStep(pauses.ns)) < kNoticeable) return {};
  const int64_t mean = pauses.ns / static_cast<int64_t>(pauses.gaps.size());
  if (mean < kTimesTheOthers * pauses.of_others_ns) return {};
  Finding finding = FindingOf(context, pauses, all);
  GapClaims spoken_of = finding.gaps;
  report.Add(std::move(finding));
  return spoken_of;
}

}  // namespace xlatrace::analysis::findings
