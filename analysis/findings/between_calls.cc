// SPDX-License-Identifier: Apache-2.0

// Time between calls of compiled programs: small programs between the steps, and a script's work on
// a CPU while no program runs.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/host_work.h"
#include "analysis/findings/idle.h"
#include "analysis/findings/rules.h"
#include "analysis/intervals.h"

namespace xlatrace::analysis::findings {
namespace {

using model::GapCause;
using model::Id;

constexpr double kHostShare = 0.02;
constexpr double kMaxWakeUpShare = 0.1;   // Share of the step that late wake-ups can explain.
constexpr double kMinOutsideShare = 0.5;  // Share of the time between programs.
constexpr int64_t kMaxDispatchGapNs = 1'000'000;  // Calls alone leave shorter gaps.

// Programs of a few small kernels that run between steps, unlike a second solver or an evaluation.
class SmallPrograms {
 public:
  explicit SmallPrograms(const Context& context) : context_(context) {
    // By module, whole run.
    std::vector<int64_t> launches(context.run.modules.size() + 1);
    std::vector<int64_t> device_ns(context.run.modules.size() + 1);
    for (size_t i = 0; i < context.run.activities.size(); ++i) {
      const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
      if (label.module_id == 0) continue;
      ++launches[static_cast<size_t>(label.module_id)];
      device_ns[static_cast<size_t>(label.module_id)] += context.run.activities.self_ns[i];
    }
    std::map<Id, int64_t> executions;
    for (const model::Execution& execution : context.attribution.executions) {
      ++executions[execution.module_id];
    }
    for (const auto& [module_id, count] : executions) {
      const auto& facts = context.attribution.modules[static_cast<size_t>(module_id) - 1];
      if (facts.role != model::ModuleRole::kHelper || facts.beside_others) continue;
      if (launches[static_cast<size_t>(module_id)] > kMaxLaunchesPerCall * count) continue;
      if (static_cast<double>(device_ns[static_cast<size_t>(module_id)]) /
              static_cast<double>(count) >
          kMaxShareOfStep * static_cast<double>(context.step_ns)) {
        continue;
      }
      small_.insert(module_id);
    }
  }
  bool Contains(Id module_id) const { return small_.contains(module_id); }
  // Was the gap in front of such a program, and not inside it?
  bool Before(const Gap& gap) const {
    const auto next = static_cast<size_t>(gap.row->next_activity_id) - 1;
    return !gap.within_execution &&
           Contains(context_.attribution.labels[context_.attribution.label_of[next] - 1].module_id);
  }

 private:
  static constexpr int64_t kMaxLaunchesPerCall = 4;
  static constexpr double kMaxShareOfStep = 0.02;  // Share of the step, per call.
  const Context& context_;
  std::set<Id> small_;
};

// Activity of the threads that call programs, in gaps: ranges of the framework, by process.
class Calls {
 public:
  Calls(const Context& context, const Intervals& gaps) {
    if (!context.options.host_events) return;
    const std::vector<model::HostEvent> events = context.options.host_events(gaps);
    std::set<int64_t> threads;
    for (const model::HostEvent& event : events) {
      if (event.range_id != 0 && (event.name.find("PjitFunction") != std::string::npos ||
                                  event.name.find("Execute") != std::string::npos)) {
        threads.insert(event.thread_id);
        programs_.push_back({event.start_ns, event.end_ns});
      }
    }
    programs_ = Normalise(std::move(programs_));
    for (const model::HostEvent& event : events) {
      if (threads.contains(event.thread_id)) covered_.push_back({event.start_ns, event.end_ns});
    }
    covered_ = Normalise(std::move(covered_));
  }
  bool known() const { return !covered_.empty(); }
  // Time of the gap that such a thread was inside the framework. If 0, the next program had already
  // been called (work is queued on CPUs too), and the threads that execute it were late.
  int64_t Inside(const model::GapRow& gap) const {
    return Overlap(covered_, {gap.start_ns, gap.end_ns});
  }
  // Time after the return of the gap's last call of a program. The script has done its part, and
  // the runtime prepares the program (memory, threads, inputs).
  int64_t AfterReturn(const model::GapRow& gap) const {
    const auto next = std::lower_bound(
        programs_.begin(), programs_.end(), gap.end_ns,
        [](const Interval& call, int64_t time_ns) { return call.start_ns < time_ns; });
    if (next == programs_.begin() || std::prev(next)->end_ns <= gap.start_ns) return 0;
    const int64_t returned_ns = std::prev(next)->end_ns;
    if (returned_ns >= gap.end_ns) return 0;
    return gap.end_ns - returned_ns - Overlap(covered_, {returned_ns, gap.end_ns});
  }

 private:
  Intervals covered_, programs_;
};

// Idle time of the step (or of the run) without contention. While other programs have the CPU,
// neither script nor runtime can do better.
struct OwnIdle {
  bool known = false;
  int64_t all_ns = 0;
  int64_t script_ns = 0;  // Neither inside the framework nor in a wait for the device.
  const model::TimeTreeRow* function = nullptr;  // The user's function with most of `script_ns`.
};

OwnIdle OwnIdleOf(const Context& context) {
  using model::TreeKind;
  OwnIdle own;
  int64_t longest_ns = 0;
  const std::vector<model::TimeTreeRow>& tree = context.analysis.time_tree;
  for (const model::TimeTreeRow& row : tree) {
    if (row.device_id != 0 || row.process_id != 0 || row.parent_id == 0) continue;
    if (tree[static_cast<size_t>(row.parent_id) - 1].kind != TreeKind::kIdle) continue;
    own.known = true;
    if (row.kind == TreeKind::kContention) continue;
    const int64_t ns = context.whole_run ? row.ns : row.per_step_ns.value_or(0);
    own.all_ns += ns;
    const bool of_runtime = row.kind == TreeKind::kSync || row.kind == TreeKind::kDispatch ||
                            row.kind == TreeKind::kLaunch || row.kind == TreeKind::kDependency ||
                            row.kind == TreeKind::kCopyWait;
    if (of_runtime) continue;
    own.script_ns += ns;
    if (row.source_line && ns > longest_ns) {
      longest_ns = ns;
      own.function = &row;
    }
  }
  if (2 * longest_ns < own.script_ns) own.function = nullptr;
  return own;
}

}  // namespace

bool CheckEagerOps(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  // A long run has a hundred thousand steps, and executions as many: by device and time.
  std::map<Id, std::map<int64_t, int64_t>> steps;  // Start -> end of the steady ones.
  for (const model::StepRow& step : context.analysis.steps) {
    if (step.typical) steps[step.device_id][step.start_ns] = step.end_ns;
  }
  const SmallPrograms small(context);
  std::set<Id> programs;
  int64_t count = 0;
  for (const model::Execution& execution : context.attribution.executions) {
    if (!small.Contains(execution.module_id)) continue;
    const auto of_device = steps.find(execution.device_id);
    if (of_device == steps.end()) continue;
    const auto after = of_device->second.upper_bound(execution.start_ns);
    if (after == of_device->second.begin()) continue;
    if (execution.start_ns >= std::prev(after)->second) continue;
    ++count;
    programs.insert(execution.module_id);
  }
  if (context.PerStep(count) < 3) return false;
  std::string names;
  int64_t ns = 0;
  for (const Op& op : context.ops) {
    if (!programs.contains(op.row->module_id)) continue;
    ns += op.ns;
    const std::string& name = context.run.modules[static_cast<size_t>(op.row->module_id) - 1].name;
    if (names.find(name) == std::string::npos && names.size() < 60) {
      names += (names.empty() ? "" : ", ") + name;
    }
  }
  int64_t idle = 0;
  Finding finding;
  for (const Gap& gap : gaps) {
    if (!small.Before(gap)) continue;
    idle += gap.ns;
    Claim(context, gap, finding.gaps);
  }
  const int64_t gap_ns = context.PerStep(idle);
  finding.id = "eager_ops";
  finding.values["count"] = std::to_string(context.PerStep(count));
  finding.values["programs"] = names;
  finding.sentence = {
      fmt::format("{} small programs run between the steps one by one", context.PerStep(count)),
      fmt::format("{} idle in front of them, {} of the step", Time(gap_ns),
                  Percent(context.ShareOfStep(gap_ns)))};
  std::vector<const Op*> theirs;
  for (const Op& op : context.ops) {
    if (programs.contains(op.row->module_id)) theirs.push_back(&op);
  }
  // Moving their work does not remove it; at best the work is fused.
  finding.saves_high_ns = ns + gap_ns;
  finding.saves_low_ns = gap_ns / 2;
  // A CPU's profile does not show the framework's own computation between programs.
  finding.sure = context.Allowed(context.on_gpu ? Sure::kHigh : Sure::kMedium);
  finding.evidence.Add("idle in front of them, per step", gap_ns, "ns")
      .Add("their device time per step", ns, "ns")
      .Add("programs per step", context.PerStep(count), "count");
  finding.where_source = PlaceOf(context, theirs);
  if (finding.where_source.empty()) finding.where_source = context.StepCallSource();
  report.Add(std::move(finding));
  return true;
}

// On a CPU, host and device are the same. Gaps inside a program are hand-overs between threads, but
// between programs no compiled work runs.
void CheckBetweenPrograms(const Context& context, const std::vector<Gap>& gaps,
                          bool small_are_checked, Report& report) {
  const SmallPrograms small(context);
  const int64_t begun_ns = StartOfWork(context);
  std::vector<const Gap*> between;
  Intervals where;
  for (const Gap& gap : gaps) {
    // Compilation comes before the first call, even if one call does much work. So does other
    // preparation.
    if (gap.within_execution || gap.row->cause == GapCause::kCompile) continue;
    if (gap.row->end_ns <= begun_ns) continue;
    if (gap.before_first_call || (small_are_checked && small.Before(gap))) continue;
    between.push_back(&gap);
    where.push_back({gap.row->start_ns, gap.row->end_ns});
  }
  const Calls calls(context, Normalise(std::move(where)));
  int64_t sum = 0;
  int64_t input = 0;
  int64_t outside = 0;
  int64_t starting = 0;  // After the call: the runtime's.
  int64_t longest = 0;
  int64_t before_small = 0;
  int64_t count = 0;
  GapClaims claims;
  for (const Gap* gap : between) {
    const int64_t inside = calls.Inside(*gap->row);
    if (calls.known() && inside == 0) continue;
    sum += gap->ns;
    const int64_t after = std::min(calls.AfterReturn(*gap->row), gap->ns);
    starting += after;
    outside += std::max<int64_t>(gap->ns - inside - after, 0);
    ++count;
    Claim(context, *gap, claims);
    if (gap->row->cause == GapCause::kInput) input += gap->ns;
    // No dispatch takes this long, however small the next program is.
    if (gap->ns < kMaxDispatchGapNs && small.Before(*gap)) before_small += gap->ns;
    longest = std::max(longest, gap->ns);
  }
  const OwnIdle own = OwnIdleOf(context);
  if (own.known) {
    sum = std::min(sum, own.all_ns * context.divisor);
    outside = std::min(outside, own.script_ns * context.divisor);
    starting = std::min(starting, sum);
  }
  const int64_t ns = context.PerStep(sum);
  if (context.ShareOfSpan(ns) < kHostShare) {
    report.Fine("host_gap", {small_are_checked ? "other time between programs"
                             : calls.known()   ? "the script's time between programs"
                                               : "time between programs",
                             fmt::format("{} of the {}", Percent(context.ShareOfSpan(ns)),
                                         context.words.whole)});
    return;
  }
  if (context.options.lost_records > 0) {
    report.Withhold("host_gap", "time between programs: records were lost");
    return;
  }
  Finding finding;
  finding.id = "host_gap";
  finding.saves_high_ns = ns;
  finding.saves_low_ns = 0;
  // A caller that waits for the device wakes up late on a CPU with other load. The recording cannot
  // separate this from the caller's work after the wait.
  finding.sure =
      context.Allowed(context.ShareOfSpan(ns) < kMaxWakeUpShare ? Sure::kLow : Sure::kMedium);
  finding.gaps = std::move(claims);
  finding.where_source = context.StepCallSource();
  finding.evidence.Add(context.words.PerStep("between compiled programs,"), ns, "ns")
      .AddReal(fmt::format("share of the {}", context.words.whole), 100 * context.ShareOfSpan(ns),
               "%")
      .Add("longest", longest, "ns");
  if (input > 0)
    finding.evidence.Add("time between compiled programs spent on loading input",
                         context.PerStep(input), "ns");
  const double outside_share =
      calls.known() ? static_cast<double>(outside) / static_cast<double>(sum) : 0;
  if (calls.known()) {
    finding.evidence
        .AddReal("share of it outside any call of the framework", 100 * outside_share, "%")
        .Add(
            context.words.PerStep("time after the call that starts the next program has returned,"),
            context.PerStep(starting), "ns");
  }
  // The script's work may also take cores from ops that run in parallel. The amount is unknown, so
  // it is reported and not counted.
  if (context.ShareOfSpan(ns) >= kMaxWakeUpShare) {
    double slowed_ns = 0;
    for (const Op& op : context.ops) {
      slowed_ns += std::max(
          0.0, static_cast<double>(op.ns) - static_cast<double>(op.time->min_ns) * op.calls);
    }
    // Less is how times differ on any CPU.
    if (3 * slowed_ns >= static_cast<double>(context.device_ns)) {
      finding.evidence.Add(
          context.words.PerStep("by which ops exceed their shortest, beside the script perhaps,"),
          static_cast<int64_t>(slowed_ns), "ns");
    }
  }
  if (!finding.where_source.empty()) {
    finding.evidence.Add(
        fmt::format("gaps, before the call at {} among them", ShortSource(finding.where_source)),
        count, "count");
  }
  if (2 * input > sum) {
    // The cause of the remaining gaps is not recorded.
    const std::string_view mostly = 10 * input >= 9 * sum ? "" : " mostly";
    finding.id = "input_bound";
    finding.variant = "cpu";
    finding.sentence = {fmt::format("The program{} waits for its input for {} of the {}", mostly,
                                    Percent(context.ShareOfSpan(ns)), context.words.whole),
                        fmt::format("{} of {}", Time(ns), Time(context.span_ns))};
  } else if (outside_share >= kMinOutsideShare && 2 * before_small <= sum &&
             sum >= kMaxDispatchGapNs * count) {
    finding.variant = "script";
    finding.sentence = {fmt::format("The script's own code between calls is {} of the {}",
                                    Percent(context.ShareOfSpan(ns)), context.words.whole),
                        fmt::format("{}, and no op of XLA runs meanwhile", Time(ns))};
    if (own.function != nullptr) {
      finding.variant = "script_function";
      finding.values["function"] = FunctionOf(own.function->name);
      finding.where_source =
          fmt::format("{}:{}", own.function->source_file, *own.function->source_line);
    }
  } else if (2 * starting >= sum) {
    finding.variant = "start";
    finding.sentence = {
        fmt::format("Making a called program ready takes {} of the {}",
                    Percent(context.ShareOfSpan(context.PerStep(starting))), context.words.whole),
        fmt::format("{}, in which the script has called and no op of XLA runs",
                    Time(context.PerStep(starting)))};
    finding.sure = Sure::kLow;
  } else {
    finding.variant = "cpu";
    finding.sentence = {fmt::format("No op of XLA runs for {} of the {}",
                                    Percent(context.ShareOfSpan(ns)), context.words.whole),
                        fmt::format("{} pass between programs", Time(ns))};
  }
  report.Add(std::move(finding));
}

}  // namespace xlatrace::analysis::findings
