// SPDX-License-Identifier: Apache-2.0

// `arrival_skew`: devices that wait for each other in collectives.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/collective_rules.h"
#include "analysis/findings/lag.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

constexpr double kSkewShare = 0.02;

// Which device arrives last most often, and in how many of the instances.
std::pair<Id, double> LastDevice(const Collective& of) {
  const size_t count = of.paired.size();
  std::map<Id, int64_t> last;
  for (const std::map<Id, int64_t>& times : of.paired) {
    const auto least =
        std::min_element(times.begin(), times.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ++last[least->first];
  }
  const auto most = std::max_element(
      last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == last.end()) return {0, 0};
  return {most->first, static_cast<double>(most->second) / static_cast<double>(count)};
}

// The op on which the last device spends more time than the others do before they wait.
struct SkewCause {
  const Op* op = nullptr;
  int64_t more_ns = 0;  // Per step.
};

SkewCause CauseOfSkew(const Context& context, const SameOps& same, const Collective& worst) {
  constexpr size_t kMaxOps = 64;                   // Smaller ops cannot delay the others for long.
  std::map<int64_t, std::map<Id, int64_t>> waits;  // Step -> device -> time in the collective.
  std::map<int64_t, std::map<Id, std::vector<int64_t>>> times;  // The same, of the largest ops.
  const size_t count = std::min(kMaxOps, context.ops.size());
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    const Op* op = same.OpOf(i);
    if (op == nullptr) continue;
    const int64_t step = context.StepOf(i);
    const Id device = context.run.LaneOf(i).device_id;
    const int64_t ns = context.run.activities.self_ns[i];
    if (op == worst.op) waits[step][device] += ns;
    const auto at = static_cast<size_t>(op - context.ops.data());
    if (at >= count || op->row->op_kind == model::OpKind::kCollective) continue;
    std::vector<int64_t>& of = times[step][device];
    of.resize(count);
    of[at] += ns;
  }
  std::vector<int64_t> more(count, 0);
  int64_t waited = 0;
  int64_t steps = 0;
  for (const auto& [step, devices] : waits) {
    if (devices.size() < 2) continue;
    const auto last =
        std::min_element(devices.begin(), devices.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ++steps;
    const auto others = static_cast<int64_t>(devices.size()) - 1;
    const auto& of_step = times[step];
    for (const auto& [device, ns] : devices) {
      if (device != last->first) waited += (ns - last->second) / others;
    }
    // Against the median device, as everywhere else (fleet/culprit.h, the page's Ranks).
    std::vector<int64_t> of_op;
    for (size_t k = 0; k < count; ++k) {
      of_op.clear();
      int64_t of_last = 0;
      for (const auto& [device, ns] : devices) {
        const auto found = of_step.find(device);
        of_op.push_back(found == of_step.end() ? 0 : found->second[k]);
        if (device == last->first) of_last = of_op.back();
      }
      const auto middle = of_op.begin() + static_cast<std::ptrdiff_t>((of_op.size() - 1) / 2);
      std::nth_element(of_op.begin(), middle, of_op.end());
      more[k] += of_last - *middle;
    }
  }
  if (steps == 0 || count == 0) return {};
  const auto most = std::max_element(more.begin(), more.end());
  // Devices that are late in turn leave no difference to explain.
  if (waited <= 0 || *most <= 0 || 2 * *most < waited) return {};
  return {&context.ops[static_cast<size_t>(most - more.begin())], *most / steps};
}

// Describes skew whose late device differs from step to step, or that has too few steps. Returns
// the op that is responsible, if there is one.
const Op* DescribeTurns(const Context& context, const SameOps& same, const Collective& worst,
                        Finding& finding) {
  const SkewCause cause = CauseOfSkew(context, same, worst);
  const auto [last, often] = LastDevice(worst);
  if (cause.op != nullptr) {
    finding.variant = "op";
    finding.values["op"] = cause.op->row->name;
    finding.values["more"] = Time(cause.more_ns);
    finding.evidence.Add(
        context.words.PerStep("longer on the device that comes last in a step than on the median "
                              "device,"),
        cause.more_ns, "ns", cause.op->handle);
  } else {
    finding.values["collective"] = worst.op->row->name;
  }
  finding.evidence.AddReal(fmt::format("comes last most often: {}, in", DeviceWords(context, last)),
                           100 * often, "%");
  return cause.op;
}

// Number of devices of the largest group; 0: unknown. From half of a job's recordings the device
// that all others wait for cannot be identified.
int64_t LargestGroup(const Context& context) {
  int64_t largest = 0;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    largest = std::max(largest, row.group_size.value_or(0));
  }
  return largest;
}

}  // namespace

void CheckSkew(const Context& context, const SameOps& same,
               std::map<const Op*, Collective>& collectives, int64_t exposed, Report& report) {
  if (context.run.devices.size() < 2) {
    if (exposed > 0) {
      report.Withhold(
          "arrival_skew",
          "waiting for other devices: with one device, waiting and transfer cannot be separated");
    }
    return;
  }
  int64_t wait = 0;
  const Collective* worst = nullptr;
  int64_t paired_ns = 0;
  for (auto& [op, of] : collectives) {
    SplitWaiting(of);
    paired_ns += of.paired_exposed_ns;
    wait += of.exposed_wait_ns;
    if (worst == nullptr || of.exposed_wait_ns > worst->exposed_wait_ns) worst = &of;
  }
  if (2 * paired_ns < exposed) {
    report.Withhold("arrival_skew",
                    "waiting for other devices: for most collectives no counterpart on another "
                    "device is known (the same program, instruction, step and number in it)");
    return;
  }
  const int64_t ns = context.PerStep(wait);
  const auto here = static_cast<int64_t>(context.run.devices.size());
  const int64_t members = LargestGroup(context);
  if (worst == nullptr || context.ShareOfStep(ns) < kSkewShare) {
    if (exposed > 0 && members > here) {
      report.Withhold("arrival_skew",
                      fmt::format("waiting for other devices: {} of the {} that exchange are in "
                                  "this run, and the one that all wait for may be another (merge "
                                  "the runs of all ranks)",
                                  here, members));
    } else if (exposed > 0) {
      report.Fine("arrival_skew", {"waiting for other devices",
                                   context.words.OfStep(Percent(context.ShareOfStep(ns)))});
    }
    return;
  }
  Finding finding;
  finding.id = "arrival_skew";
  const std::optional<DeviceLag> lag = LagOf(context);
  const Op* blamed =
      lag ? DescribeLag(
                context, *lag, [&](size_t activity) { return same.OpOf(activity); }, finding)
          : DescribeTurns(context, same, *worst, finding);
  finding.sentence = {
      fmt::format("Devices wait for each other {}",
                  context.words.OfStep(Percent(context.ShareOfStep(ns)))),
      fmt::format("{} in collectives that nothing hides{}", Time(ns),
                  blamed != nullptr ? ", for " + blamed->row->name : std::string())};
  finding.saves_high_ns = ns;
  finding.saves_low_ns = ns / 2;
  // The saving cannot exceed the waiting. Collectives without counterpart may contain waiting too.
  finding.bounded = paired_ns >= exposed;
  finding.sure = context.Allowed(Sure::kHigh);
  const Op& where = blamed != nullptr ? *blamed : *worst->op;
  finding.where_op = where.row->name;
  finding.where_layer = where.row->layer_group;
  finding.where_source = context.SourceOf(where);
  finding.claims["collectives waiting"] = ns;
  finding.change.emplace();
  finding.change->devices_even = true;
  finding.evidence
      .Add(context.words.PerStep("mean of all devices: waiting in collectives that nothing hides,"),
           ns, "ns")
      .Add("waiting in the collective that waits most", context.PerStep(worst->exposed_wait_ns),
           "ns", worst->op->handle);
  if (members > here) {
    finding.evidence.Add("devices that exchange, of which some are not in this run", members,
                         "count");
  }
  report.Add(std::move(finding));
}

}  // namespace xlatrace::analysis::findings
