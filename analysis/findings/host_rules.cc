#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "analysis/launch_queue.h"

namespace xlatrace::analysis::findings {
namespace {

using model::GapCause;
using model::Id;

constexpr int64_t kLaunchGapNs = 50'000;  // A host that only launches leaves no longer gap.
constexpr int64_t kLaunchCostNs = 1'500;  // From kernel to kernel of a full queue.
constexpr double kLaunchShare = 0.03;
constexpr int64_t kSmallKernelNs = 3'000;
constexpr double kHostShare = 0.02;
constexpr double kFineShare = 0.01;
constexpr int64_t kLoopFloorNs = 2'000;  // What an iteration costs without asking the host.
constexpr int64_t kLeastIterations = 10;

// Idle time of steady steps, by what comes after it.
struct Gap {
  const model::GapRow* row = nullptr;
  int64_t ns = 0;
  const Op* next = nullptr;
  bool within_execution = false;
};

// How much of an interval lies in steady steps of its device: what the idle part of the step bar
// counts, so that no advice can win more than is there.
class SteadyTime {
 public:
  explicit SteadyTime(const Context& context) {
    for (const model::StepRow& step : context.analysis.steps) {
      if (step.steady) steps_[step.device_id].emplace_back(step.start_ns, step.end_ns);
    }
    for (auto& [device, steps] : steps_) std::sort(steps.begin(), steps.end());
  }

  int64_t Of(const model::GapRow& gap) const {
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
  std::map<Id, std::vector<std::pair<int64_t, int64_t>>> steps_;
};

std::vector<Gap> GapsOf(const Context& context) {
  const SteadyTime steady(context);
  std::vector<Gap> gaps;
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
    gaps.push_back(gap);
  }
  return gaps;
}

// The op in steady steps by time that gaps before it take.
struct WaitedFor {
  const Op* op = nullptr;
  int64_t ns = 0;
  int64_t count = 0;
};

void LaunchBound(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  if (!context.on_gpu) return;
  if (context.graph_share > 0.02) {
    report.Withhold("launch_bound", "launches: CUDA graphs were not expanded");
    return;
  }
  int64_t idle = 0;
  int64_t count = 0;
  int64_t known = 0;     // Gaps of which the host's call is known, and came too late.
  int64_t launched = 0;  // Idle time before what had been launched long before.
  std::map<const Op*, WaitedFor> waited;
  for (const Gap& gap : gaps) {
    if (!gap.within_execution || gap.ns >= kLaunchGapNs) continue;
    if (gap.row->cause == GapCause::kSynchronisation || gap.row->cause == GapCause::kCopy ||
        gap.row->cause == GapCause::kCompile) {
      continue;
    }
    const HostCallOf& call_of = context.options.call_of;
    if (WasLaunchedBefore(call_of, *gap.row)) {
      launched += gap.ns;
      continue;
    }
    idle += gap.ns;
    ++count;
    if (context.launch_queue != nullptr && call_of &&
        call_of(static_cast<size_t>(gap.row->next_activity_id) - 1))
      ++known;
    if (gap.next == nullptr) continue;
    WaitedFor& of = waited[gap.next];
    of.op = gap.next;
    of.ns += gap.ns;
    ++of.count;
  }
  const int64_t ns = context.PerStep(idle);
  const int64_t launches = context.PerStep(count);
  const int64_t saves = ns - launches * kLaunchCostNs;
  Evidence evidence;
  evidence.Add("idle inside executions, gaps below 50 us, per step", ns, "ns")
      .Add("such gaps per step", launches, "count");
  if (launched > 0) {
    evidence.Add("idle before what had been launched long before, per step",
                 context.PerStep(launched), "ns");
  }
  std::string queue;
  if (const model::LaunchQueueRow* row = context.launch_queue) {
    const double on_idle = static_cast<double>(row->calls_on_idle) /
                           static_cast<double>(std::max<int64_t>(row->calls, 1));
    evidence.AddReal("launches that found the device with nothing to do", 100 * on_idle, "%")
        .Add("launches outstanding, median", row->outstanding_p50, "count")
        .Add("from host call to start on the device, median", row->latency_p50_ns, "ns");
    queue = fmt::format(", {} launches ahead in the median", row->outstanding_p50);
  }
  const double share = context.ShareOfStep(ns);
  if (share < kLaunchShare || context.ShareOfStep(saves) < kFineShare) {
    report.Fine(
        "launch_bound",
        fmt::format("host launches: {} of the step waits for them{}", Percent(share), queue),
        evidence);
    return;
  }
  Finding finding;
  finding.id = "launch_bound";
  finding.title =
      fmt::format("Launch less: the device waits {} per step for {} launches", Time(ns), launches);
  finding.action =
      "let command buffers (CUDA graphs) cover these ops (xla_gpu_enable_command_buffer; loops "
      "need "
      "WHILE in it), unroll the loop (`scan(unroll=8)`), or give each launch more work: a larger "
      "batch, vmap over the parts";
  finding.how_to_check = "idle inside executions falls; the kernels stay as they are";
  finding.saves_high_ns = saves;
  finding.saves_low_ns = saves / 2;
  // Seen in the calls that they came too late, or only guessed from the length of the gaps.
  finding.sure = context.Allowed(10 * known >= 7 * count ? Sure::kHigh : Sure::kMedium);
  finding.claims["idle"] = ns;
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
    evidence.Add("of it before ops of " + ShortSource(source->first),
                 context.PerStep(source->second), "ns");
  }
  if (most != nullptr) {
    finding.where_op = most->op->row->name;
    finding.where_layer = most->op->row->layer_group;
    evidence.Add("of it before this op", context.PerStep(most->ns), "ns", most->op->handle);
  }
  finding.evidence = std::move(evidence);
  report.Add(std::move(finding));
}

// Kernels that take less than it takes to start them.
void SmallKernels(const Context& context, Report& report) {
  if (!context.on_gpu || context.graph_share > 0.02) return;
  int64_t ns = 0;
  double count = 0;
  std::vector<const Op*> small;
  for (const Op& op : context.ops) {
    if (op.calls < 1 || static_cast<double>(op.ns) / op.calls >= kSmallKernelNs) continue;
    ns += op.ns;
    count += op.calls;
    small.push_back(&op);
  }
  const auto ramp = static_cast<int64_t>(count * 1'200);
  if (small.empty() || context.ShareOfStep(ramp) < kHostShare) {
    report.Fine("small_kernels", fmt::format("small kernels: {:.0f} below 3 us take {}", count,
                                             Percent(context.ShareOfStep(ns))));
    return;
  }
  std::vector<Site> sites = SitesOf(context, small);
  std::stable_sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) {
    const auto calls = [](const Site& site) {
      double sum = 0;
      for (const Op* op : site.ops) sum += op->calls;
      return sum;
    };
    return calls(a) > calls(b);
  });
  Finding finding = FindingAbout(context, "small_kernels", sites[0]);
  finding.title =
      fmt::format("Merge small kernels: {:.0f} per step take less than 3 us each", count);
  finding.action =
      "batch the work (vmap, larger batch), unroll the loop so that XLA can fuse across "
      "iterations, "
      "or stack parameters that are treated alike into one array";
  finding.how_to_check = "launches per step fall";
  finding.claims.clear();
  for (const Op* op : small) finding.claims[op->handle] = op->ns;
  finding.saves_high_ns = std::min(ramp, ns + context.Part(model::StepPart::kIdle));
  finding.saves_low_ns = 0;
  finding.basis = Basis::kCostModel;
  finding.sure = Sure::kLow;
  finding.evidence.Add("kernels below 3 us, per step", ns, "ns")
      .Add("how many, per step", static_cast<int64_t>(count), "count");
  report.Add(std::move(finding));
}

// Idle time that begins where the step's work ends, by its cause.
void BetweenSteps(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  std::map<GapCause, int64_t> by_cause;
  std::map<GapCause, Id> range;
  std::map<GapCause, int64_t> longest;
  std::map<GapCause, std::set<std::pair<Id, int64_t>>> steps;
  int64_t launched = 0;  // Of unknown cause, before work that had been launched long before.
  int64_t all = 0;
  for (const Gap& gap : gaps) {
    if (gap.within_execution && gap.ns < kLaunchGapNs) continue;
    if (gap.next != nullptr && gap.next->facts->host_callback) continue;  // Has its own rule.
    by_cause[gap.row->cause] += gap.ns;
    all += gap.ns;
    if (gap.row->cause == GapCause::kUnknown &&
        WasLaunchedBefore(context.options.call_of, *gap.row)) {
      launched += gap.ns;
    }
    if (gap.ns > longest[gap.row->cause]) {
      longest[gap.row->cause] = gap.ns;
      range[gap.row->cause] = gap.row->host_range_id;
    }
    const auto next = static_cast<size_t>(gap.row->next_activity_id) - 1;
    if (context.InSteadyStep(next)) {
      steps[gap.row->cause].emplace(gap.row->device_id, *context.analysis.step_of[next]);
    }
  }
  if (context.ShareOfStep(context.PerStep(all)) < kFineShare) {
    report.Fine("host_gap", fmt::format("gaps between steps: idle for {}",
                                        Percent(context.ShareOfStep(context.PerStep(all)))));
  }
  struct Words {
    GapCause cause;
    std::string_view id, title, action, check;
    Sure sure;
  };
  // No word for compilation: a step with one in it is not steady (steps.h), and `recompile` judges
  // what it costs.
  static constexpr std::array<Words, 5> kWords = {{
      {GapCause::kSynchronisation, "sync_each_step",
       "Stop waiting for the device each step: {} idle after a synchronisation",
       "read metrics of the step before, or every N steps (`x.copy_to_host_async()`), instead of "
       "`float(loss)`, `.item()`, print or block_until_ready in the loop",
       "the device's queue holds more than one step; the gap is gone", Sure::kHigh},
      {GapCause::kInput, "input_bound", "Prepare the next batch earlier: {} idle waiting for input",
       "prefetch (grain, tf.data), call `jax.device_put` for the next batch right after the step "
       "was dispatched",
       "the gap before each step falls below 0.3 ms", Sure::kMedium},
      {GapCause::kHost, "host_gap", "Dispatch faster: the device waits {} for the host",
       "one jitted function for the whole step, fewer and flatter arguments, no Python work "
       "between "
       "steps; `lax.scan` over several steps",
       "the gap before each step shrinks", Sure::kMedium},
      {GapCause::kCopy, "copy_wait", "Copy earlier: {} idle around copies to or from the host",
       "copy while the step before computes; reduce on the device before reading back",
       "copies run beside kernels", Sure::kMedium},
      {GapCause::kUnknown, "idle", "Find what the host does: the device is idle for {}",
       "record with xlatrace or with host events: what the host does during the longest gaps "
       "decides "
       "between input, dispatch and synchronisation",
       "the idle part of the step shrinks and the step with it", Sure::kMedium},
  }};
  for (const Words& words : kWords) {
    const int64_t ns = context.PerStep(by_cause[words.cause]);
    if (context.ShareOfStep(ns) < kHostShare) continue;
    if (context.options.lost_records > 0) {
      report.Withhold(words.id, "idle time: records were lost, so a gap may be missing work");
      return;
    }
    if (context.graph_share > 0.02) {
      report.Withhold(words.id, "idle time: CUDA graphs were not expanded");
      return;
    }
    Finding finding;
    finding.id = words.id;
    finding.title = fmt::format(fmt::runtime(words.title), fmt::format("{} per step", Time(ns)));
    finding.action = words.action;
    finding.how_to_check = words.check;
    if (words.cause == GapCause::kUnknown && 2 * context.PerStep(launched) > ns) {
      finding.title =
          fmt::format("Find what the device waits for: {} per step, its work launched", Time(ns));
      finding.action =
          "the next kernels stood ready, so the host is not the cause: they wait for an event of "
          "another stream, a transfer or another device; see the timeline around the longest gaps";
    }
    finding.sure = context.Allowed(words.sure);
    finding.saves_high_ns = ns;
    // A gap stays between steps: 20 us of dispatch.
    finding.saves_low_ns =
        words.cause == GapCause::kUnknown ? 0 : std::max<int64_t>(0, ns - 20'000) / 2;
    finding.claims["idle"] = ns;
    finding.where_source = context.StepCallSource();
    finding.evidence.Add("idle with this cause, per step", ns, "ns")
        .Add("longest such gap", longest[words.cause], "ns")
        .AddReal("of the step", 100 * context.ShareOfStep(ns), "%")
        .AddReal("steady steps with one",
                 100.0 * static_cast<double>(steps[words.cause].size()) /
                     static_cast<double>(std::max<int64_t>(context.steady_steps, 1)),
                 "%");
    if (context.launch_queue != nullptr) {
      finding.evidence.Add("launches outstanding, median", context.launch_queue->outstanding_p50,
                           "count");
    }
    report.Add(std::move(finding));
  }
}

// On a CPU the host is the device: gaps inside a program are threads handing over to each other,
// but nothing that XLA compiled runs between programs.
void BetweenPrograms(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  int64_t sum = 0;
  int64_t input = 0;
  int64_t longest = 0;
  for (const Gap& gap : gaps) {
    if (gap.within_execution) continue;
    sum += gap.ns;
    if (gap.row->cause == GapCause::kInput) input += gap.ns;
    longest = std::max(longest, gap.ns);
  }
  const int64_t ns = context.PerStep(sum);
  if (context.ShareOfStep(ns) < kHostShare) {
    report.Fine("host_gap", fmt::format("time between programs: {} of the step",
                                        Percent(context.ShareOfStep(ns))));
    return;
  }
  if (context.options.lost_records > 0) {
    report.Withhold("host_gap", "time between programs: records were lost");
    return;
  }
  Finding finding;
  finding.id = "host_gap";
  finding.title = fmt::format("Do more in one call: {} per step pass between programs", Time(ns));
  finding.action =
      "one compiled function for the whole step (`jax.jit`, `tf.function`), several steps in one "
      "call (`lax.scan` over batches, Keras `steps_per_execution`), a larger batch; prepare input "
      "in another thread";
  finding.how_to_check = "the idle part of the step shrinks and the step with it";
  finding.saves_high_ns = ns;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.claims["idle"] = ns;
  finding.where_source = context.StepCallSource();
  finding.evidence.Add("between compiled programs, per step", ns, "ns")
      .AddReal("of the step", 100 * context.ShareOfStep(ns), "%")
      .Add("longest", longest, "ns");
  if (input > 0) finding.evidence.Add("of it loading input", context.PerStep(input), "ns");
  report.Add(std::move(finding));
}

// A loop whose trip count the host reads back: a copy of a byte or two, and a wait, per iteration.
void LoopConditions(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  if (!context.on_gpu) return;
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
  int64_t loops = 0;  // Of them copies that are known to be a loop's.
  std::map<const Op*, int64_t> before;
  for (const Gap& gap : gaps) {
    if (!gap.within_execution) continue;
    const bool after = reads_condition(gap.row->previous_activity_id);
    if (!after && !reads_condition(gap.row->next_activity_id)) continue;
    idle += gap.ns;
    if (!after) continue;
    ++count;
    const Op* loop = context.OpOf(static_cast<size_t>(gap.row->previous_activity_id) - 1);
    if (loop != nullptr && loop->row->opcode == "while") ++loops;
    if (gap.next != nullptr) before[gap.next] += gap.ns;
  }
  const int64_t iterations = context.PerStep(count);
  const int64_t saves = context.PerStep(idle) - iterations * kLoopFloorNs;
  if (iterations < kLeastIterations || context.ShareOfStep(saves) < kLaunchShare) return;
  Finding finding;
  finding.id = "while_overhead";
  finding.title =
      fmt::format("Tell the loop its trip count: the host checks it {} times per step", iterations);
  finding.action =
      "a static length (`lax.scan`, `fori_loop` with constant bounds) lets XLA run the loop "
      "without "
      "asking; check convergence every k iterations, unroll, or put WHILE into command buffers "
      "(xla_gpu_enable_command_buffer)";
  finding.how_to_check = "no copy of a few bytes to the host per iteration";
  finding.saves_high_ns = saves;
  finding.saves_low_ns = saves / 2;
  finding.sure = context.Allowed(loops == count ? Sure::kHigh : Sure::kMedium);
  finding.claims["idle"] = context.PerStep(idle);
  finding.evidence.Add("iterations per step whose condition the host reads", iterations, "count")
      .Add("idle around these copies, per step", context.PerStep(idle), "ns");
  const auto most =
      std::max_element(before.begin(), before.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != before.end()) {
    finding.where_op = most->first->row->name;
    finding.where_layer = most->first->row->layer_group;
    finding.where_source = context.SourceOf(*most->first);
    finding.evidence.Add("of it before this op", context.PerStep(most->second), "ns",
                         most->first->handle);
  }
  report.Add(std::move(finding));
}

void Callbacks(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->host_callback) ops.push_back(&op);
  }
  if (ops.empty()) return;
  for (Site& site : SitesOf(context, ops)) {
    int64_t idle = 0;
    for (const Gap& gap : gaps) {
      const Op* previous = context.OpOf(static_cast<size_t>(gap.row->previous_activity_id) - 1);
      for (const Op* op : site.ops) {
        if (gap.next == op || previous == op) {
          idle += gap.ns;
          break;
        }
      }
    }
    Finding finding = FindingAbout(context, "host_callback", site);
    const int64_t gap_ns = context.PerStep(idle);
    finding.title =
        fmt::format("Take the Python callback out of the step ({})", Time(site.ns + gap_ns));
    finding.action =
        "compute it with jnp or an FFI call; call debug.print and io_callback every N steps only "
        "(`lax.cond`)";
    finding.how_to_check = "no python callback in the optimised HLO";
    finding.saves_high_ns = site.ns + gap_ns;
    finding.saves_low_ns = gap_ns / 2;
    finding.sure = context.Allowed(Sure::kHigh);
    finding.claims["idle"] = gap_ns;
    finding.evidence.Add("idle before and after it, per step", gap_ns, "ns");
    report.Add(std::move(finding));
  }
}

// Small programs that run between steps.
void EagerOps(const Context& context, Report& report) {
  std::map<Id, int64_t> executions;
  int64_t ns = 0;
  // A long run has a hundred thousand steps, and executions as many: by device and time.
  std::map<Id, std::map<int64_t, int64_t>> steps;  // Start -> end of the steady ones.
  for (const model::StepRow& step : context.analysis.steps) {
    if (step.steady) steps[step.device_id][step.start_ns] = step.end_ns;
  }
  for (const model::Execution& execution : context.attribution.executions) {
    const auto& facts = context.attribution.modules[static_cast<size_t>(execution.module_id) - 1];
    if (facts.role != model::ModuleRole::kHelper) continue;
    const auto of_device = steps.find(execution.device_id);
    if (of_device == steps.end()) continue;
    const auto after = of_device->second.upper_bound(execution.start_ns);
    if (after == of_device->second.begin()) continue;
    if (execution.start_ns < std::prev(after)->second) ++executions[execution.module_id];
  }
  int64_t count = 0;
  for (const auto& [module, of_module] : executions) count += of_module;
  if (context.PerStep(count) < 3) return;
  std::string names;
  for (const Op& op : context.ops) {
    if (!executions.contains(op.row->module_id)) continue;
    ns += op.ns;
    const std::string& name = context.run.modules[static_cast<size_t>(op.row->module_id) - 1].name;
    if (names.find(name) == std::string::npos && names.size() < 60) {
      names += (names.empty() ? "" : ", ") + name;
    }
  }
  const SteadyTime steady(context);
  int64_t gaps = 0;
  for (const model::GapRow& row : context.analysis.gaps) {
    const auto next = static_cast<size_t>(row.next_activity_id) - 1;
    if (row.next_activity_id <= 0 || !context.InSteadyStep(next)) continue;
    const Op* op = context.OpOf(next);
    if (op != nullptr && executions.contains(op->row->module_id)) gaps += steady.Of(row);
  }
  const int64_t saves = ns + context.PerStep(gaps);
  Finding finding;
  finding.id = "eager_ops";
  finding.title =
      fmt::format("Move {} small programs per step into the jitted step", context.PerStep(count));
  finding.action =
      fmt::format("compute inside jit, or on the host with numpy; between steps run {}", names);
  finding.how_to_check = "only the main module runs in a step";
  finding.saves_high_ns = saves;
  finding.saves_low_ns = ns;
  // A CPU's profile does not show what the framework computes itself between programs.
  finding.sure = context.Allowed(context.on_gpu ? Sure::kHigh : Sure::kMedium);
  finding.claims["idle"] = context.PerStep(gaps);
  finding.evidence.Add("their device time per step", ns, "ns")
      .Add("idle in front of them, per step", context.PerStep(gaps), "ns")
      .Add("programs per step", context.PerStep(count), "count");
  finding.where_source = context.StepCallSource();
  report.Add(std::move(finding));
}

}  // namespace

void JudgeHost(const Context& context, Report& report) {
  const std::vector<Gap> gaps = GapsOf(context);
  LaunchBound(context, gaps, report);
  SmallKernels(context, report);
  LoopConditions(context, gaps, report);
  if (context.on_cpu) {
    BetweenPrograms(context, gaps, report);
    report.Withhold("idle", "idle time inside programs: on a CPU the host is the device");
  } else {
    BetweenSteps(context, gaps, report);
  }
  Callbacks(context, gaps, report);
  EagerOps(context, report);
}

}  // namespace xlatrace::analysis::findings
