#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

constexpr double kExposedShare = 0.02;
constexpr double kSkewShare = 0.02;
constexpr int64_t kSmallBytes = 1 << 20;

// Times of one collective instruction, over steady steps and devices.
struct Collective {
  const Op* op = nullptr;
  int64_t ns = 0;
  int64_t exposed_ns = 0;
  int64_t bytes = 0;  // Of one run; 0: unknown.
  // Durations and exposed parts of each device, in order of time.
  std::map<Id, std::vector<std::pair<int64_t, int64_t>>> of_device;
  int64_t wait_ns = 0;  // Waiting for the last device to arrive.
  int64_t exposed_wait_ns = 0;
};

std::map<const Op*, Collective> CollectivesOf(const Context& context) {
  std::map<const Op*, Collective> collectives;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    if (!context.InSteadyStep(i)) continue;
    const Op* op = context.OpOf(i);
    if (op == nullptr) continue;
    Collective& of = collectives[op];
    of.op = op;
    const int64_t ns = context.run.activities.self_ns[i];
    of.ns += ns;
    of.exposed_ns += row.exposed_ns.value_or(0);
    of.bytes = row.bytes.value_or(of.bytes);
    of.of_device[context.run.LaneOf(i).device_id].emplace_back(ns, row.exposed_ns.value_or(0));
  }
  return collectives;
}

// The last to arrive waits for nobody: what others take longer than the shortest of an instance is
// waiting (facts of NCCL kernels: they spin until all ranks are there).
void SplitWaiting(Collective& of) {
  if (of.of_device.size() < 2) return;
  size_t count = SIZE_MAX;
  for (const auto& [device, times] : of.of_device) count = std::min(count, times.size());
  for (size_t k = 0; k < count; ++k) {
    int64_t least = INT64_MAX;
    for (const auto& [device, times] : of.of_device) least = std::min(least, times[k].first);
    for (const auto& [device, times] : of.of_device) {
      const int64_t wait = times[k].first - least;
      of.wait_ns += wait;
      of.exposed_wait_ns += std::min(wait, times[k].second);
    }
  }
}

// Which device arrives last most often, and in how many of the instances.
std::pair<Id, double> LastDevice(const Collective& of) {
  size_t count = SIZE_MAX;
  for (const auto& [device, times] : of.of_device) count = std::min(count, times.size());
  std::map<Id, int64_t> last;
  for (size_t k = 0; k < count; ++k) {
    Id who = 0;
    int64_t least = INT64_MAX;
    for (const auto& [device, times] : of.of_device) {
      if (times[k].first < least) {
        least = times[k].first;
        who = device;
      }
    }
    ++last[who];
  }
  const auto most = std::max_element(
      last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == last.end()) return {0, 0};
  return {most->first, static_cast<double>(most->second) / static_cast<double>(count)};
}

void Skew(const Context& context, std::map<const Op*, Collective>& collectives, int64_t exposed,
          Report& report) {
  if (context.run.devices.size() < 2) {
    if (exposed > 0) {
      report.Withhold("arrival_skew",
                      "waiting for other devices: one device alone cannot tell it from transfer");
    }
    return;
  }
  int64_t wait = 0;
  const Collective* worst = nullptr;
  for (auto& [op, of] : collectives) {
    SplitWaiting(of);
    wait += of.exposed_wait_ns;
    if (worst == nullptr || of.exposed_wait_ns > worst->exposed_wait_ns) worst = &of;
  }
  const int64_t ns = context.PerStep(wait);
  if (worst == nullptr || context.ShareOfStep(ns) < kSkewShare) {
    if (exposed > 0) {
      report.Fine("arrival_skew", fmt::format("waiting for other devices: {} of the step",
                                              Percent(context.ShareOfStep(ns))));
    }
    return;
  }
  Finding finding;
  finding.id = "arrival_skew";
  finding.title = "Even out the devices: they wait for the slowest";
  const auto [last, often] = LastDevice(*worst);
  finding.action =
      "look at what the device that comes last does longer (`summary --by device`): uneven data, "
      "one "
      "slow kernel, clocks; the wait ends when the work in front of it is even";
  finding.how_to_check = "the shortest and the longest device of this collective take alike";
  finding.saves_high_ns = ns;
  finding.saves_low_ns = ns / 2;
  finding.sure = context.Allowed(Sure::kHigh);
  finding.where_op = worst->op->row->name;
  finding.where_layer = worst->op->row->layer_group;
  finding.where_source = context.SourceOf(*worst->op);
  finding.claims["collectives waiting"] = ns;
  finding.evidence.Add("waiting in collectives that nothing hides, per step", ns, "ns")
      .Add("of it in this one", context.PerStep(worst->exposed_wait_ns), "ns", worst->op->handle)
      .Add("device that comes last most often", last, "device_id")
      .AddReal("of its runs", 100 * often, "%");
  report.Add(std::move(finding));
}

void Exposed(const Context& context, const std::map<const Op*, Collective>& collectives,
             Report& report) {
  int64_t all = 0;
  int64_t exposed = 0;
  int64_t wait = 0;
  std::vector<const Op*> ops;
  for (const auto& [op, of] : collectives) {
    all += of.ns;
    exposed += of.exposed_ns;
    wait += of.exposed_wait_ns;
    if (of.exposed_ns > of.exposed_wait_ns) ops.push_back(op);
  }
  if (collectives.empty()) return;
  const int64_t ns = context.PerStep(exposed);
  const int64_t transfer = context.PerStep(exposed - wait);
  Evidence evidence;
  evidence.Add("collectives per step", context.PerStep(all), "ns")
      .Add("of them with nothing beside them", ns, "ns")
      .Add("of that, waiting for other devices", context.PerStep(wait), "ns");
  if (context.ShareOfStep(transfer) < kExposedShare) {
    report.Fine("exposed_collective",
                fmt::format("collectives: {} of {} per step exposed beyond waiting", Time(transfer),
                            Time(context.PerStep(all))),
                evidence);
    return;
  }
  std::stable_sort(ops.begin(), ops.end(), [&](const Op* a, const Op* b) {
    const Collective& left = collectives.at(a);
    const Collective& right = collectives.at(b);
    return left.exposed_ns - left.exposed_wait_ns > right.exposed_ns - right.exposed_wait_ns;
  });
  std::map<std::string, int64_t> by_source;
  int64_t small = 0;
  for (const Op* op : ops) {
    const Collective& of = collectives.at(op);
    by_source[context.SourceOf(*op)] += of.exposed_ns - of.exposed_wait_ns;
    if (of.bytes > 0 && of.bytes < kSmallBytes) ++small;
  }
  const auto source =
      std::max_element(by_source.begin(), by_source.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Finding finding;
  finding.id = "exposed_collective";
  finding.title = "Overlap communication with computation";
  finding.action =
      "`jax.jit(..., compiler_options={\"optimization_level\": \"O1\"})` turns on the "
      "latency-hiding "
      "scheduler and pipelined collectives; else communicate less: larger batch per device, other "
      "sharding, gradients in bf16";
  finding.how_to_check =
      "exposed collectives fall and the step with them; the collectives may stay";
  finding.saves_high_ns = transfer;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.where_op = ops[0]->row->name;
  finding.where_layer = ops[0]->row->layer_group;
  finding.where_source = source->first;
  finding.claims["collectives exposed"] = transfer;
  evidence.Add("largest", context.PerStep(collectives.at(ops[0]).exposed_ns), "ns", ops[0]->handle);
  if (collectives.at(ops[0]).bytes > 0) {
    evidence.Add("its bytes", collectives.at(ops[0]).bytes, "bytes", ops[0]->handle);
  }
  if (small >= 10) evidence.Add("collectives below 1 MiB among them", small, "count");
  finding.evidence = std::move(evidence);
  report.Add(std::move(finding));
}

}  // namespace

void JudgeCollectives(const Context& context, Report& report) {
  std::map<const Op*, Collective> collectives = CollectivesOf(context);
  int64_t exposed = 0;
  for (const auto& [op, of] : collectives) exposed += of.exposed_ns;
  Skew(context, collectives, exposed, report);
  Exposed(context, collectives, report);
}

}  // namespace xlatrace::analysis::findings
