// SPDX-License-Identifier: Apache-2.0

// Why the device waits in runs without recorded executions (eager frameworks), or with calls in the
// order of a script (whole runs).

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/host_parts.h"
#include "analysis/findings/host_waits.h"
#include "analysis/findings/idle.h"
#include "analysis/findings/rules.h"
#include "analysis/launch_queue.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::GapCause;
using model::Id;

constexpr double kMinGapsShare = 0.02;  // Share of the step, or of the run's span.
constexpr double kMinStallShare = 0.1;  // One gap with this share is reported by itself.
constexpr int64_t kMinStallNs = 5'000'000;
constexpr int64_t kMinLongWaitNs = 200'000;  // Longer than launching takes, profiled or not.

// Idle time of one kind.
struct Kind {
  int64_t ns = 0;  // Sum, not per step.
  int64_t count = 0;
  int64_t longest_ns = 0;
  int64_t long_ns = 0;  // Part of `ns` in gaps of at least kMinLongWaitNs.
  GapClaims claims;
  void Add(const Context& context, const Gap& gap) {
    ns += gap.ns;
    ++count;
    longest_ns = std::max(longest_ns, gap.ns);
    if (gap.ns >= kMinLongWaitNs) long_ns += gap.ns;
    Claim(context, gap, claims);
  }
};

double ShareOfSpan(const Context& context, int64_t sum) {
  return context.ShareOfSpan(context.PerStep(sum));
}

// True if the call that started the next activity was made while the device was idle, and shortly
// before the activity began.
bool CalledLate(const Context& context, const Gap& gap) {
  if (gap.row->cause == GapCause::kLaunchBound || gap.row->cause == GapCause::kHost) return true;
  if (!context.options.call_of || WasLaunchedInTime(context.options.call_of, *gap.row)) {
    return false;
  }
  const auto call = context.options.call_of(static_cast<size_t>(gap.row->next_activity_id) - 1);
  return call && call->start_ns + kLaunchArrivesNs >= gap.row->start_ns;
}

Finding About(const Context& context, std::string_view id, const Kind& kind) {
  Finding finding;
  finding.id = id;
  const int64_t ns = context.PerStep(kind.ns);
  const int64_t each = context.PerStep(kind.count);
  finding.saves_high_ns = ns;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.gaps = kind.claims;
  finding.evidence.AddIdle(IdleInGaps(context), ns)
      .AddReal(fmt::format("of the {}", context.words.whole), 100 * ShareOfSpan(context, kind.ns),
               "%")
      .Add(each > 0 ? context.words.PerStep("gaps,") : "gaps", each > 0 ? each : kind.count,
           "count")
      .Add("longest such gap", kind.longest_ns, "ns");
  AddHostParts(context, kind.claims, finding);
  return finding;
}

void Synchronised(const Context& context, const Kind& kind, Report& report) {
  Finding finding = About(context, "sync_each_step", kind);
  const std::string share = Percent(ShareOfSpan(context, kind.ns));
  const std::string idle = fmt::format("for {} of the {} ({})", share, context.words.whole,
                                       Time(context.PerStep(kind.ns)));
  finding.sentence = {"The program waits for the device, which then has nothing to do",
                      "idle " + idle, "", "After such waits it is idle " + idle};
  if (const std::string what = LongestOf(context, kind.claims); !what.empty()) {
    finding.evidence.Add("the longest such gap: " + what, kind.longest_ns, "ns");
  }
  int64_t waits = 0;
  const std::string place = AddHostWaits(context, finding, &waits);
  if (!place.empty()) {
    finding.values["during"] = " in " + place;
    if (const std::string copies = CopiesOfWaits(context, waits); !copies.empty()) {
      finding.evidence.Add("about as many " + copies, waits, "count");
    }
  }
  // Without the wait the queue would not be empty; with it, faster launching fills it sooner.
  if (const int64_t refilling = RefillingNs(context, kind.claims); 3 * refilling >= kind.ns) {
    finding.evidence.Add(
        context.words.PerStep("idle time between launches after a wait, while the queue fills,"),
        context.PerStep(refilling), "ns");
  }
  report.Add(std::move(finding));
}

// Where most of the gaps goes to calls that a process needs few of, these are named, and the advice
// is about them.
void NameSetUp(const Context& context, const Kind& kind, Finding& finding) {
  const SetUpCalls calls = SetUpCallsIn(context, kind.claims);
  if (2 * calls.ns < kind.ns || calls.by_time.empty()) return;
  constexpr size_t kMaxNamedCalls = 3;
  std::string names;
  for (size_t i = 0; i < std::min(kMaxNamedCalls, calls.by_time.size()); ++i) {
    const auto& [ns, name] = calls.by_time[i];
    if (20 * ns < calls.ns) break;
    names += (i == 0 ? "" : ", ") + std::string(name);
    finding.evidence.Add(
        context.words.PerStep(fmt::format("idle time while the host is in {},", name)),
        context.PerStep(ns), "ns");
  }
  finding.variant = "set_up";
  finding.values["calls"] = names;
}

void LaunchedOneByOne(const Context& context, const Kind& kind, Report& report) {
  Finding finding = About(context, "launch_bound", kind);
  int64_t kernels = 0;
  int64_t device_ns = 0;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    ++kernels;
    device_ns += context.run.activities.self_ns[i];
  }
  const int64_t mean_ns = kernels > 0 ? device_ns / kernels : 0;
  const int64_t ns = context.PerStep(kind.ns);
  finding.saves_high_ns = std::max<int64_t>(0, ns - context.PerStep(kind.count) * kLaunchCostNs);
  finding.variant = "no_programs";
  finding.sentence = {fmt::format("The device waits for the host for {} of the {}",
                                  Percent(ShareOfSpan(context, kind.ns)), context.words.whole),
                      fmt::format("{} launches of {} on average",
                                  Thousands(context.PerStep(kernels)), Time(mean_ns))};
  const std::string_view compile = context.Advice(
      context.run.modules.empty() ? "`jax.jit`, `tf.function`, `torch.compile`" : "`jax.jit`",
      "`tf.function`", "`torch.compile(mode=\"reduce-overhead\")`");
  finding.values["compile"] = std::string(compile);
  if (2 * kind.long_ns >= kind.ns) {
    finding.id = "host_gap";
    finding.variant = "long";
    finding.sentence = {fmt::format("The device waits for the host for {} of the {}",
                                    Percent(ShareOfSpan(context, kind.ns)), context.words.whole),
                        fmt::format("{}, {} on average", context.Counted(kind.count, "gap", "gaps"),
                                    Time(kind.ns / std::max<int64_t>(kind.count, 1)))};
    NameSetUp(context, kind, finding);
  }
  if (const model::LaunchQueueRow* row = context.launch_queue) {
    finding.evidence.AddReal("launches that found the device idle", CallsOnIdlePct(context), "%")
        .Add("time from launch to start of ready work, median" + WhoseQueue(context),
             row->queued_p50_ns, "ns");
  }
  finding.evidence.Add("a launch keeps the device busy for, on average", mean_ns, "ns");
  report.Add(std::move(finding));
}

// Time between calls of compiled programs, in which a script does its own work. If no program is
// called repeatedly, this time is no bottleneck, because the time of a loop of such calls is
// unknown.
void BetweenCalls(const Context& context, const Kind& kind, Report& report) {
  Finding finding = About(context, "host_gap", kind);
  std::set<Id> programs;
  std::map<std::pair<Id, Id>, int64_t> calls;  // By program and device.
  std::set<Id> called_again;
  for (const model::Execution& execution : context.attribution.executions) {
    programs.insert(execution.module_id);
    if (++calls[{execution.module_id, execution.device_id}] >= kMinRepeatedCalls) {
      called_again.insert(execution.module_id);
    }
  }
  int64_t again_ns = 0;
  for (const Op& op : context.ops) {
    if (called_again.contains(op.row->module_id)) again_ns += op.ns;
  }
  if (2 * again_ns < context.device_ns) {
    finding.id = "too_few_calls";
    finding.saves_high_ns.reset();
    finding.saves_low_ns.reset();
    finding.before_small = true;
    finding.sure = Sure::kHigh;
    report.Add(std::move(finding));
    return;
  }
  finding.variant = "calls";
  const std::string own = fmt::format("host's own time between {} calls of {} program{}",
                                      context.attribution.executions.size(), programs.size(),
                                      programs.size() == 1 ? "" : "s");
  finding.sentence = {fmt::format("The device is idle for {} of the {}",
                                  Percent(ShareOfSpan(context, kind.ns)), context.words.whole),
                      "the " + own, "", "The " + own};
  finding.where_source = context.StepCallSource();
  report.Add(std::move(finding));
}

void WaitsForInput(const Context& context, const Kind& kind, Report& report) {
  Finding finding = About(context, "input_bound", kind);
  finding.sentence = {fmt::format("The device waits for input for {} of the {}",
                                  Percent(ShareOfSpan(context, kind.ns)), context.words.whole),
                      Time(context.PerStep(kind.ns))};
  report.Add(std::move(finding));
}

void CopiesHold(const Context& context, const Kind& kind, Report& report) {
  Finding finding = About(context, "copy_wait", kind);
  const int64_t ns = context.PerStep(kind.ns);
  finding.sentence = {
      fmt::format("The device is idle around copies to or from the host for {} of the {}",
                  Percent(ShareOfSpan(context, kind.ns)), context.words.whole),
      fmt::format("{}, in {}", Time(ns), context.Counted(kind.count, "gap", "gaps"))};
  report.Add(std::move(finding));
}

// Long gaps that are a large part of the run and rare: start-up, a checkpoint, a library that
// loads.
void LongStalls(const Context& context, const Kind& kind, Report& report) {
  Finding finding = About(context, "long_stall", kind);
  const std::string during = LongestOf(context, kind.claims);
  const std::string periods =
      kind.count == 1
          ? fmt::format("One idle period of {} is", Time(kind.longest_ns))
          : fmt::format("{} idle periods of up to {} are", kind.count, Time(kind.longest_ns));
  const std::string share = fmt::format(
      "{} {} of the {}", periods, Percent(ShareOfSpan(context, kind.ns)), context.words.whole);
  finding.sentence =
      during.empty() ? Statement{share, "the host is not recorded", "", "The host is not recorded"}
                     : Statement{share, "during it: " + during, "", "During it: " + during};
  finding.values["count"] = std::to_string(kind.count);
  if (kind.count > 1) finding.variant = "many";
  finding.values["during"] = DuringWords(during);
  finding.sure = Sure::kLow;
  report.Add(std::move(finding));
}

// Long, rare gaps. Up to three gaps of one cause are reported one by one. More gaps are reported
// together, if they lie in fewer than a tenth of the steps. Gaps of every step have other findings.
class Stalls {
 public:
  Stalls(const Context& context, const std::vector<Gap>& gaps) {
    std::map<GapCause, std::vector<const Gap*>> of_cause;
    for (const Gap& gap : gaps) {
      if (gap.ns >= kMinStallNs &&
          static_cast<double>(gap.ns) >= kMinStallShare * static_cast<double>(context.span_ns)) {
        of_cause[gap.row->cause].push_back(&gap);
      }
    }
    constexpr size_t kMaxStallsOfCause = 3;
    for (const auto& [cause, stalls] : of_cause) {
      const auto count = static_cast<int64_t>(stalls.size());
      const bool few = stalls.size() <= kMaxStallsOfCause &&
                       (context.whole_run || 2 * count <= context.step_count);
      const bool seldom = !context.whole_run && 10 * count < context.step_count;
      if (!few && !seldom) continue;
      for (size_t k = 0; k < stalls.size(); ++k) {
        if (few || k == 0) kinds_.emplace_back();
        kinds_.back().Add(context, *stalls[k]);
        rows_.insert(stalls[k]->row);
      }
    }
  }

  bool Hold(const Gap& gap) const { return rows_.contains(gap.row); }
  const std::vector<Kind>& kinds() const { return kinds_; }

 private:
  std::vector<Kind> kinds_;
  std::set<const model::GapRow*> rows_;
};

// The next activity had been launched, and the reason of its waiting is not recorded.
void Held(const Context& context, const Kind& kind, Report& report) {
  Finding finding = About(context, "idle", kind);
  AddLaunched(context, context.PerStep(kind.ns), finding);
  if (const std::string what = LongestOf(context, kind.claims); !what.empty()) {
    finding.evidence.Add("the longest such gap: " + what, kind.longest_ns, "ns");
  }
  finding.sure = Sure::kLow;
  report.Add(std::move(finding));
}

void Unexplained(const Context& context, const Kind& kind, Report& report) {
  Finding finding = About(context, "idle", kind);
  finding.sentence = {
      fmt::format("The device is idle for {} of the {}, {}", Percent(ShareOfSpan(context, kind.ns)),
                  context.words.whole, Time(context.PerStep(kind.ns))),
      "why is not recorded", "", "Why is not recorded"};
  finding.sure = Sure::kLow;
  report.Add(std::move(finding));
}

}  // namespace

void CheckLaunching(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  if (context.on_cpu || gaps.empty()) return;
  if (context.graph_share > 0.02) {
    report.Withhold("launch_bound", "idle time and launches: CUDA graphs were not expanded");
    return;
  }
  if (context.options.lost_records > 0) {
    report.Withhold("idle", "idle time: records were lost, so a gap may be missing work");
    return;
  }
  Kind synchronised, launched, calls, input, copies, held, unknown;
  const int64_t begun_ns = StartOfWork(context);
  std::vector<Gap> judged;
  judged.reserve(gaps.size());
  std::copy_if(gaps.begin(), gaps.end(), std::back_inserter(judged), [&](const Gap& gap) {
    return gap.row->cause != GapCause::kCompile && gap.row->end_ns > begun_ns;
  });
  const Stalls stalls(context, judged);
  for (const Kind& kind : stalls.kinds()) LongStalls(context, kind, report);
  for (const Gap& gap : judged) {
    const GapCause cause = gap.row->cause;
    if (stalls.Hold(gap)) continue;
    if (cause == GapCause::kSynchronisation) {
      synchronised.Add(context, gap);
    } else if (cause == GapCause::kInput) {
      input.Add(context, gap);
    } else if (cause == GapCause::kCopy) {
      copies.Add(context, gap);
    } else if (!context.attribution.executions.empty() &&
               (!gap.within_execution || gap.ns >= kLaunchGapNs)) {
      if (!gap.before_first_call) calls.Add(context, gap);
    } else if (CalledLate(context, gap)) {
      launched.Add(context, gap);
    } else if (WasLaunchedInTime(context.options.call_of, *gap.row)) {
      held.Add(context, gap);
    } else {
      unknown.Add(context, gap);
    }
  }
  const auto matters = [&](const Kind& kind) {
    return ShareOfSpan(context, kind.ns) >= kMinGapsShare;
  };
  if (matters(synchronised)) Synchronised(context, synchronised, report);
  if (matters(launched)) LaunchedOneByOne(context, launched, report);
  if (matters(calls)) BetweenCalls(context, calls, report);
  if (matters(input)) WaitsForInput(context, input, report);
  if (matters(copies)) CopiesHold(context, copies, report);
  if (matters(held)) Held(context, held, report);
  if (matters(unknown)) Unexplained(context, unknown, report);
  Evidence evidence;
  evidence.Add(context.words.PerStep("idle time,"), context.Part(model::StepPart::kIdle), "ns");
  if (const model::LaunchQueueRow* row = context.launch_queue;
      row != nullptr && !matters(launched) && row->queued_p50_ns >= 20'000) {
    report.Fine("launch_bound",
                {"host launches", fmt::format("{} ahead in the median", Time(row->queued_p50_ns))},
                evidence);
  }
}

}  // namespace xlatrace::analysis::findings
