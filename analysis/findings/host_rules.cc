// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/host_waits.h"
#include "analysis/findings/host_work.h"
#include "analysis/findings/idle.h"
#include "analysis/findings/rules.h"
#include "analysis/launch_queue.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::GapCause;
using model::Id;

constexpr double kLaunchShare = 0.03;
constexpr int64_t kMaxSmallKernelNs = 3'000;
constexpr int64_t kMaxShortKernelNs = 10'000;
constexpr int64_t kMinLaunchesPerStep = 100;
constexpr double kHostGapShare = 0.02;
constexpr double kFineGapShare = 0.01;
constexpr int64_t kLoopFloorNs = 2'000;  // Cost of an iteration without the host.
constexpr int64_t kMinHostIterations = 10;

// The op in steady steps with the time of the gaps before it.
struct WaitedFor {
  const Op* op = nullptr;
  int64_t ns = 0;
  int64_t count = 0;
};

// The gaps inside executions that may be the host's launching, summed.
struct LaunchGaps {
  int64_t idle = 0;
  int64_t count = 0;
  int64_t known = 0;     // Gaps of which the host's call is known, and came too late.
  int64_t launched = 0;  // Idle time before work that had been launched long before.
  GapClaims claims;
  std::map<const Op*, WaitedFor> waited;
};

LaunchGaps SumLaunchGaps(const Context& context, const std::vector<Gap>& gaps) {
  LaunchGaps sums;
  for (const Gap& gap : gaps) {
    if (!gap.within_execution || gap.ns >= kLaunchGapNs) continue;
    if (gap.row->cause == GapCause::kSynchronisation || gap.row->cause == GapCause::kCopy ||
        gap.row->cause == GapCause::kCompile) {
      continue;
    }
    const HostCallOf& call_of = context.options.call_of;
    if (WasLaunchedInTime(call_of, *gap.row)) {
      sums.launched += gap.ns;
      continue;
    }
    sums.idle += gap.ns;
    ++sums.count;
    Claim(context, gap, sums.claims);
    if (context.launch_queue != nullptr && call_of &&
        call_of(static_cast<size_t>(gap.row->next_activity_id) - 1))
      ++sums.known;
    if (gap.next == nullptr) continue;
    WaitedFor& of = sums.waited[gap.next];
    of.op = gap.next;
    of.ns += gap.ns;
    ++of.count;
  }
  return sums;
}

Evidence LaunchEvidence(const Context& context, const LaunchGaps& sums) {
  Evidence evidence;
  evidence
      .Add("idle inside executions, gaps below 50 us, per step", context.PerStep(sums.idle), "ns")
      .Add("such gaps per step", context.PerStep(sums.count), "count");
  if (sums.launched > 0) {
    evidence.Add("idle before what had been launched long before, per step",
                 context.PerStep(sums.launched), "ns");
  }
  if (const model::LaunchQueueRow* row = context.launch_queue) {
    evidence.AddReal("launches that found the device idle", CallsOnIdlePct(context), "%");
    evidence.Add("launches outstanding, median" + WhoseQueue(context), row->outstanding_p50,
                 "count");
    evidence.Add("from host call to start on the device, median" + WhoseQueue(context),
                 row->latency_p50_ns, "ns");
  }
  return evidence;
}

// Adds the op, and the line, before whose ops the device waits longest.
void NameWaiting(const Context& context, const std::map<const Op*, WaitedFor>& waited,
                 Finding& finding) {
  std::map<std::string, int64_t> by_source;
  const WaitedFor* most = nullptr;
  for (const auto& [op, of] : waited) {
    by_source[context.SourceOf(*op)] += of.ns;
    if (most == nullptr || of.ns > most->ns) most = &of;
  }
  const auto source =
      std::max_element(by_source.begin(), by_source.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (source != by_source.end()) {
    finding.where_source = source->first;
    finding.evidence.Add("idle time before ops of " + ShortSource(source->first),
                         context.PerStep(source->second), "ns");
  }
  if (most != nullptr) {
    finding.where_op = most->op->row->name;
    finding.where_layer = most->op->row->layer_group;
    finding.evidence.Add("idle time before this op", context.PerStep(most->ns), "ns",
                         most->op->handle);
  }
}

// Short gaps inside executions: the host launches more slowly than the device works.
void LaunchBound(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  if (!context.on_gpu) return;
  if (context.graph_share > 0.02) {
    report.Withhold("launch_bound", "launches: CUDA graphs were not expanded");
    return;
  }
  LaunchGaps sums = SumLaunchGaps(context, gaps);
  const int64_t ns = context.PerStep(sums.idle);
  const int64_t saves = context.PerStep(sums.idle - sums.count * kLaunchCostNs);
  Evidence evidence = LaunchEvidence(context, sums);
  const double share = context.ShareOfStep(ns);
  if (share < kLaunchShare || context.ShareOfStep(saves) < kFineGapShare) {
    const std::string queue = context.launch_queue == nullptr
                                  ? std::string()
                                  : fmt::format(", {} launches ahead in the median",
                                                context.launch_queue->outstanding_p50);
    report.Fine("launch_bound",
                {"gaps between launches", fmt::format("{} of the step{}", Percent(share), queue)},
                evidence);
    return;
  }
  Finding finding;
  finding.id = "launch_bound";
  // All covered ops together are one launch for the host.
  finding.change.emplace();
  finding.change->one_launch = true;
  finding.saves_high_ns = saves;
  finding.saves_low_ns = saves / 2;
  // Seen in the calls that they came too late, or only guessed from the length of the gaps.
  finding.sure = context.Allowed(10 * sums.known >= 7 * sums.count ? Sure::kHigh : Sure::kMedium);
  finding.gaps = std::move(sums.claims);
  finding.sentence = {
      fmt::format("The device waits for the host to launch for {} of the step", Percent(share)),
      fmt::format("{} per step, in {}", Time(ns), context.Counted(sums.count, "gap", "gaps"))};
  finding.evidence = std::move(evidence);
  NameWaiting(context, sums.waited, finding);
  report.Add(std::move(finding));
}

// Kernels that are shorter than the cost of their start, or that are most of the launches.
void SmallKernels(const Context& context, Report& report) {
  if (!context.on_gpu || context.graph_share > 0.02 || context.ops.empty()) return;
  struct Small {
    int64_t ns = 0;
    int64_t launches = 0;  // Not per step.
    std::vector<const Op*> ops;
    void Add(const Op& op) {
      ns += op.ns;
      launches += op.launches;
      ops.push_back(&op);
    }
  };
  Small tiny, small;
  int64_t all = 0;
  for (const Op& op : context.ops) {
    all += op.launches;
    if (op.launches == 0) continue;
    const int64_t mean = op.ns * context.divisor / op.launches;
    if (mean < kMaxSmallKernelNs) tiny.Add(op);
    if (mean < kMaxShortKernelNs) small.Add(op);
  }
  const auto per_step = [&](const Small& of) { return context.PerStep(of.launches); };
  const int64_t ramp = per_step(tiny) * 1'200;
  const bool by_ramp = context.ShareOfStep(ramp) >= kHostGapShare;
  const bool by_count = per_step(small) >= kMinLaunchesPerStep && 5 * small.launches >= 2 * all &&
                        context.ShareOfStep(small.ns) >= kHostGapShare;
  if (!by_ramp && !by_count) {
    report.Fine("small_kernels",
                {"small kernels",
                 per_step(tiny) == 0
                     ? std::string("none below 3 us")
                     : fmt::format("{} launches below 3 us take {}", Thousands(per_step(tiny)),
                                   Percent(context.ShareOfStep(tiny.ns)))});
    return;
  }
  const Small& of = by_ramp ? tiny : small;
  std::vector<Site> sites = SitesOf(context, of.ops);
  std::stable_sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) {
    const auto launches = [](const Site& site) {
      int64_t sum = 0;
      for (const Op* op : site.ops) sum += op->launches;
      return sum;
    };
    return launches(a) > launches(b);
  });
  // The evidence is of all of them, as title and saving are; the place is where most are launched.
  Finding finding = FindingAbout(context, "small_kernels", AllOf(context, of.ops));
  const Finding most = FindingAbout(context, "small_kernels", sites[0]);
  finding.where_op = most.where_op;
  finding.where_layer = most.where_layer;
  finding.where_source = most.where_source;
  finding.claims.clear();
  for (const Op* op : of.ops) finding.claims["small " + op->handle] = op->ns;
  finding.saves_high_ns =
      by_ramp ? std::min(ramp, of.ns + context.Part(model::StepPart::kIdle)) : of.ns;
  finding.saves_low_ns = 0;
  finding.basis = Basis::kCostModel;
  finding.sure = Sure::kLow;
  finding.evidence.Add(context.words.PerStep("how many,"), per_step(of), "count")
      .Add(context.words.PerStep("of all launches,"), context.PerStep(all), "count");
  report.Add(std::move(finding));
}

// The idle time that begins where the step's work ends, of one cause.
struct CauseGaps {
  int64_t ns = 0;
  int64_t longest_ns = 0;
  GapClaims claims;
  std::set<std::pair<Id, int64_t>> steps;  // Device and step.
};

struct StepGaps {
  std::map<GapCause, CauseGaps> by_cause;
  int64_t launched = 0;  // Unknown cause, before work launched long before.
  int64_t all = 0;
};

StepGaps SumStepGaps(const Context& context, const std::vector<Gap>& gaps) {
  StepGaps sums;
  for (const Gap& gap : gaps) {
    if (gap.within_execution && gap.ns < kLaunchGapNs) continue;
    if (gap.next != nullptr && gap.next->facts->host_callback) continue;  // Has its own rule.
    CauseGaps& of = sums.by_cause[gap.row->cause];
    of.ns += gap.ns;
    sums.all += gap.ns;
    Claim(context, gap, of.claims);
    if (gap.row->cause == GapCause::kUnknown &&
        WasLaunchedInTime(context.options.call_of, *gap.row)) {
      sums.launched += gap.ns;
    }
    of.longest_ns = std::max(of.longest_ns, gap.ns);
    const auto next = static_cast<size_t>(gap.row->next_activity_id) - 1;
    if (context.InBasis(next)) of.steps.emplace(gap.row->device_id, context.StepOf(next));
  }
  return sums;
}

// Facts and sentences of a finding about idle time of one cause.
struct CauseWords {
  GapCause cause;
  std::string_view id, what, why;
  Sure sure;
};
// Without compilation: a step with compilation is not steady (steps.h), and `recompile` reports
// its cost.
constexpr std::array<CauseWords, 5> kCauseWords = {{
    {GapCause::kSynchronisation, "sync_each_step",
     "Each step waits for the device before it dispatches the next", "{0} idle, {1} of {2}",
     Sure::kHigh},
    {GapCause::kInput, "input_bound", "The device waits for the next batch for {0} of the step",
     "{1} of {2}", Sure::kMedium},
    {GapCause::kHost, "host_gap", "The device waits for the host to dispatch for {0} of the step",
     "{1} of {2}", Sure::kMedium},
    {GapCause::kCopy, "copy_wait",
     "The device is idle around copies to or from the host for {0} of the step", "{1} of {2}",
     Sure::kMedium},
    {GapCause::kUnknown, "idle", "The device is idle for {0} of the step, {1} of {2}",
     "the host's work is not recorded", Sure::kMedium},
}};

// `launched`: most of the time lies before work that was ready, so the host is not the cause.
Finding StepGapFinding(const Context& context, const CauseWords& words, CauseGaps& of,
                       bool launched) {
  const int64_t ns = context.PerStep(of.ns);
  Finding finding;
  finding.id = words.id;
  finding.sure = context.Allowed(words.sure);
  if (launched) {
    AddLaunched(context, ns, finding);
  } else {
    const auto said = [&](std::string_view text) {
      return fmt::format(fmt::runtime(text), Percent(context.ShareOfStep(ns)), Time(ns),
                         Time(context.step_ns));
    };
    finding.sentence = {said(words.what), said(words.why)};
    if (words.cause == GapCause::kUnknown)
      finding.sentence.reason = "The host's work is not recorded";
  }
  finding.saves_high_ns = ns;
  // A gap stays between steps: 20 us of dispatch.
  finding.saves_low_ns =
      words.cause == GapCause::kUnknown ? 0 : std::max<int64_t>(0, ns - 20'000) / 2;
  finding.gaps = std::move(of.claims);
  finding.where_source = context.StepCallSource();
  finding.evidence.AddIdle(IdleInGaps(context), ns)
      .Add("longest such gap", of.longest_ns, "ns")
      .AddReal("of the step", 100 * context.ShareOfStep(ns), "%")
      .AddReal("typical steps with one",
               100.0 * static_cast<double>(of.steps.size()) / static_cast<double>(context.divisor),
               "%");
  if (context.launch_queue != nullptr) {
    finding.evidence.Add("launches outstanding, median" + WhoseQueue(context),
                         context.launch_queue->outstanding_p50, "count");
  }
  if (words.cause == GapCause::kSynchronisation) {
    if (const std::string place = AddHostWaits(context, finding); !place.empty()) {
      finding.values["during"] = " in " + place;
    }
  }
  return finding;
}

// Idle time that begins where the step's work ends, by its cause.
void BetweenSteps(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  StepGaps sums = SumStepGaps(context, gaps);
  const double share = context.ShareOfStep(context.PerStep(sums.all));
  if (share < kFineGapShare) {
    report.Fine("host_gap", {"gaps between steps", fmt::format("idle for {}", Percent(share))});
  }
  for (const CauseWords& words : kCauseWords) {
    CauseGaps& of = sums.by_cause[words.cause];
    const int64_t ns = context.PerStep(of.ns);
    if (context.ShareOfStep(ns) < kHostGapShare) continue;
    if (context.options.lost_records > 0) {
      report.Withhold(words.id, "idle time: records were lost, so a gap may be missing work");
      return;
    }
    if (context.graph_share > 0.02) {
      report.Withhold(words.id, "idle time: CUDA graphs were not expanded");
      return;
    }
    const bool launched =
        words.cause == GapCause::kUnknown && 2 * context.PerStep(sums.launched) > ns;
    report.Add(StepGapFinding(context, words, of, launched));
  }
}

// A loop whose trip count the host reads back: a copy of a byte or two, and a wait, per iteration.
// Returns the gaps that its finding claims.
GapClaims LoopConditions(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  if (!context.on_gpu) return {};
  const auto reads_condition = [&](model::Id activity_id) {
    const auto i = static_cast<size_t>(activity_id) - 1;
    const model::LaunchConfig& config = context.run.ConfigOf(i);
    const Op* op = context.OpOf(i);
    // A branch reads its predicate back, too.
    if (op != nullptr && op->row->opcode == "conditional") return false;
    return config.kind == model::ActivityKind::kMemcpy &&
           config.copy_kind == model::CopyKind::kDeviceToHost &&
           context.run.activities.bytes[i] >= 1 && context.run.activities.bytes[i] <= 8 &&
           context.attribution.execution_of[i] != 0;
  };
  int64_t idle = 0;
  int64_t count = 0;
  GapClaims claims;
  int64_t loops = 0;  // Number of the copies that are known to belong to a loop.
  std::map<const Op*, int64_t> before;
  for (const Gap& gap : gaps) {
    if (!gap.within_execution) continue;
    const bool after = reads_condition(gap.row->previous_activity_id);
    if (!after && !reads_condition(gap.row->next_activity_id)) continue;
    idle += gap.ns;
    Claim(context, gap, claims);
    if (!after) continue;
    ++count;
    const Op* loop = context.OpOf(static_cast<size_t>(gap.row->previous_activity_id) - 1);
    if (loop != nullptr && loop->row->opcode == "while") ++loops;
    if (gap.next != nullptr) before[gap.next] += gap.ns;
  }
  const int64_t iterations = context.PerStep(count);
  const int64_t saves = context.PerStep(idle) - iterations * kLoopFloorNs;
  // In a whole run: share of the time in which programs run, without the time before them.
  int64_t of_ns = context.span_ns;
  if (context.whole_run) {
    int64_t running = 0;
    for (const model::Execution& execution : context.attribution.executions) {
      running += execution.end_ns - execution.start_ns;
    }
    of_ns = context.PerStep(running);
  }
  if (iterations < kMinHostIterations ||
      static_cast<double>(saves) < kLaunchShare * static_cast<double>(of_ns)) {
    return {};
  }
  Finding finding;
  finding.id = "while_overhead";
  finding.saves_high_ns = saves;
  finding.saves_low_ns = saves / 2;
  finding.sure = context.Allowed(loops == count ? Sure::kHigh : Sure::kMedium);
  finding.gaps = std::move(claims);
  finding.sentence = {
      fmt::format("The host reads a loop's condition {} times {}", iterations,
                  context.words.per_step),
      fmt::format("{} idle around it, {} of the {}", Time(context.PerStep(idle)),
                  Percent(context.ShareOfSpan(context.PerStep(idle))), context.words.whole)};
  finding.evidence
      .Add(fmt::format("iterations {} whose condition the host reads", context.words.per_step),
           iterations, "count")
      .Add(context.words.PerStep("idle around these copies,"), context.PerStep(idle), "ns");
  const auto most =
      std::max_element(before.begin(), before.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != before.end()) {
    finding.where_op = most->first->row->name;
    finding.where_layer = most->first->row->layer_group;
    finding.where_source = context.SourceOf(*most->first);
    finding.evidence.Add("idle time before this op", context.PerStep(most->second), "ns",
                         most->first->handle);
  }
  GapClaims spoken_of = finding.gaps;
  report.Add(std::move(finding));
  return spoken_of;
}

void Callbacks(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->host_callback) ops.push_back(&op);
  }
  if (ops.empty()) return;
  for (Site& site : SitesOf(context, ops)) {
    int64_t idle = 0;
    GapClaims claims;
    for (const Gap& gap : gaps) {
      const Op* previous = context.OpOf(static_cast<size_t>(gap.row->previous_activity_id) - 1);
      for (const Op* op : site.ops) {
        if (gap.next == op || previous == op) {
          idle += gap.ns;
          Claim(context, gap, claims);
          break;
        }
      }
    }
    Finding finding = FindingAbout(context, "host_callback", site);
    const int64_t gap_ns = context.PerStep(idle);
    finding.saves_high_ns = site.ns + gap_ns;
    finding.saves_low_ns = gap_ns / 2;
    finding.sure = context.Allowed(Sure::kHigh);
    finding.gaps = std::move(claims);
    finding.sentence = {
        fmt::format("A Python callback holds up the device for {} of the {}",
                    Percent(context.ShareOfSpan(site.ns + gap_ns)), context.words.whole),
        "", InBrackets(site.source)};
    finding.evidence.Add(context.words.PerStep("idle before and after it,"), gap_ns, "ns");
    report.Add(std::move(finding));
  }
}

}  // namespace

void CheckHost(const Context& context, Report& report) {
  std::vector<Gap> gaps = GapsOf(context);
  // Gaps of loops and pauses have their own findings.
  const auto leave_out = [&](const GapClaims& spoken_of) {
    std::set<uint32_t> known;
    for (const auto& [gap, ns] : spoken_of) known.insert(gap);
    std::erase_if(gaps, [&](const Gap& gap) {
      return known.contains(static_cast<uint32_t>(gap.row - context.analysis.gaps.data()));
    });
  };
  leave_out(LoopConditions(context, gaps, report));
  CheckPauses(context, report);
  leave_out(CheckHiddenProducts(context, gaps, report));
  leave_out(ReportHostWork(context, gaps, report));
  if (context.whole_run || context.attribution.executions.empty()) {
    CheckLaunching(context, gaps, report);
  } else {
    LaunchBound(context, gaps, report);
  }
  SmallKernels(context, report);
  const bool eager = !context.whole_run && CheckEagerOps(context, gaps, report);
  if (context.on_cpu) {
    CheckBetweenPrograms(context, gaps, eager, report);
    report.Withhold("idle", "idle time inside programs: on a CPU the host is the device");
  } else if (!context.whole_run && !context.attribution.executions.empty()) {
    BetweenSteps(context, gaps, report);
  }
  Callbacks(context, gaps, report);
}

}  // namespace xlatrace::analysis::findings
