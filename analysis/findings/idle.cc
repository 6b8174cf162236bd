// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/idle.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/gap_words.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

// The part of a gap in steady steps of its device, which is the idle part of the step bar.
class SteadyTime {
 public:
  explicit SteadyTime(const Context& context) : whole_run_(context.whole_run) {
    for (const model::StepRow& step : context.analysis.steps) {
      if (step.typical) steps_[step.device_id].emplace_back(step.start_ns, step.end_ns);
    }
    for (auto& [device, steps] : steps_) std::sort(steps.begin(), steps.end());
  }

  int64_t Of(const model::GapRow& gap) const {
    if (whole_run_) return gap.end_ns - gap.start_ns;
    const auto device = steps_.find(gap.device_id);
    if (device == steps_.end()) return 0;
    const auto& steps = device->second;
    auto step = std::upper_bound(steps.begin(), steps.end(), std::pair(gap.start_ns, INT64_MAX));
    if (step != steps.begin()) --step;
    int64_t ns = 0;
    for (; step != steps.end() && step->first < gap.end_ns; ++step) {
      ns += std::max<int64_t>(
          0, std::min(step->second, gap.end_ns) - std::max(step->first, gap.start_ns));
    }
    return ns;
  }

 private:
  bool whole_run_;
  std::map<Id, std::vector<std::pair<int64_t, int64_t>>> steps_;
};

using Causes = std::map<model::GapCause, int64_t>;

Causes ByCause(const Context& context, const GapClaims& claims) {
  Causes causes;
  for (const auto& [gap, ns] : claims) causes[context.analysis.gaps[gap].cause] += ns;
  return causes;
}

}  // namespace

std::vector<Gap> GapsOf(const Context& context) {
  const SteadyTime steady(context);
  std::map<std::pair<Id, Id>, int64_t> first_start;  // By program and device.
  for (const model::Execution& execution : context.attribution.executions) {
    int64_t& first = first_start.try_emplace({execution.module_id, execution.device_id}, INT64_MAX)
                         .first->second;
    first = std::min(first, execution.start_ns);
  }
  std::vector<Gap> gaps;
  gaps.reserve(context.analysis.gaps.size());  // Growing by copies would take three times as much.
  for (const model::GapRow& row : context.analysis.gaps) {
    const auto next = static_cast<size_t>(row.next_activity_id) - 1;
    const auto previous = static_cast<size_t>(row.previous_activity_id) - 1;
    if (row.next_activity_id <= 0 || row.previous_activity_id <= 0) continue;
    Gap gap;
    gap.row = &row;
    gap.ns = steady.Of(row);
    if (gap.ns == 0) continue;
    gap.next = context.OpOf(next);
    const uint32_t execution = context.attribution.execution_of[next];
    gap.within_execution =
        execution != 0 && execution == context.attribution.execution_of[previous];
    if (execution != 0 && !gap.within_execution) {
      const model::Execution& of = context.attribution.executions[execution - 1];
      gap.before_first_call = first_start[{of.module_id, of.device_id}] == of.start_ns;
    }
    gaps.push_back(gap);
  }
  return gaps;
}

int64_t StartOfWork(const Context& context) {
  struct Calls {
    int64_t count = 0;
    int64_t ns = 0;
    int64_t first_ns = INT64_MAX;
  };
  std::map<Id, Calls> calls;  // By program.
  for (const model::Execution& execution : context.attribution.executions) {
    Calls& of = calls[execution.module_id];
    ++of.count;
    of.ns += execution.end_ns - execution.start_ns;
    of.first_ns = std::min(of.first_ns, execution.start_ns);
  }
  constexpr int64_t kMinCalls = 3;
  int64_t most_ns = 0;
  for (const auto& [module_id, of] : calls) {
    if (of.count >= kMinCalls) most_ns = std::max(most_ns, of.ns);
  }
  int64_t first_ns = INT64_MAX;
  for (const auto& [module_id, of] : calls) {
    if (of.count >= kMinCalls && 5 * of.ns >= most_ns) {
      first_ns = std::min(first_ns, of.first_ns);
    }
  }
  return first_ns == INT64_MAX ? INT64_MIN : first_ns;
}

void Claim(const Context& context, const Gap& gap, GapClaims& claims) {
  claims.emplace_back(static_cast<uint32_t>(gap.row - context.analysis.gaps.data()), gap.ns);
}

double CallsOnIdlePct(const Context& context) {
  int64_t calls = 0, on_idle = 0;
  for (const model::LaunchQueueRow& row : context.analysis.launch_queues) {
    if (context.launch_queue == nullptr || row.steady != context.launch_queue->steady) continue;
    calls += row.calls;
    on_idle += row.calls_on_idle;
  }
  return 100 * static_cast<double>(on_idle) / static_cast<double>(std::max<int64_t>(calls, 1));
}

void AddLaunched(const Context& context, int64_t ns, Finding& finding) {
  finding.variant = "launched";
  finding.sentence = {fmt::format("The device is idle for {} of the {}, with its work launched",
                                  Percent(context.ShareOfSpan(ns)), context.words.whole),
                      fmt::format("{} of {}", Time(ns), Time(context.span_ns))};
}

std::string WhoseQueue(const Context& context) {
  if (context.analysis.launch_queues.size() < 2) return {};
  return ", on " + DeviceWords(context, context.launch_queue->device_id);
}

std::string LongestOf(const Context& context, const GapClaims& claims) {
  uint32_t longest = 0;
  int64_t ns = 0;
  for (const auto& [gap, of] : claims) {
    if (of > ns) longest = gap;
    ns = std::max(ns, of);
  }
  const auto& all = context.analysis.gap_evidence;
  const auto at = std::lower_bound(
      all.begin(), all.end(), longest,
      [](const model::GapEvidenceRow& row, uint32_t gap) { return row.gap < gap; });
  return at != all.end() && at->gap == longest ? at->text : std::string();
}

std::string DuringWords(std::string_view activity) {
  if (activity.empty() || activity.starts_with("nothing recorded")) return {};
  size_t end = activity.size();
  for (const std::string_view mark : {": ", ", ", "; "}) end = std::min(end, activity.find(mark));
  return fmt::format(" during {}", activity.substr(0, end));
}

std::string IdleInGaps(const Context& context) {
  return context.words.PerStep("idle in these gaps,");
}

void NameCauses(const Context& context, Report& report) {
  Causes all;
  for (const Gap& gap : GapsOf(context)) all[gap.row->cause] += gap.ns;
  report.ForEach([&](Finding& finding) {
    const Causes causes = ByCause(context, finding.gaps);
    if (causes.empty()) return;
    const auto [first, first_ns] = *causes.begin();
    // Some gaps of a cause are not all that is idle for it.
    if (causes.size() == 1 && 200 * first_ns >= 199 * all[first] &&
        finding.evidence.NameIdle(
            fmt::format("idle, {}, {}", model::InWords(first), context.words.per_step), first)) {
      return;
    }
    std::vector<std::pair<model::GapCause, int64_t>> order(causes.begin(), causes.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [cause, ns] : order) {
      finding.evidence
          .Add(fmt::format("of these gaps, {}, {}", model::InWords(cause), context.words.per_step),
               context.PerStep(ns), "ns")
          .OfCause(cause);
    }
  });
}

}  // namespace xlatrace::analysis::findings
