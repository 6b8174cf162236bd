// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/collective_times.h"

#include <algorithm>
#include <string>

namespace xlatrace::analysis::findings {

using model::Id;

SameOps::SameOps(const Context& context) : context_(context) {
  if (context.run.processes.size() < 2) return;
  std::map<std::pair<std::string, std::string>, const Op*> first;
  for (const Op& op : context.ops) {
    if (op.row->module_id == 0) continue;
    const auto& facts = context.attribution.modules[static_cast<size_t>(op.row->module_id) - 1];
    if (facts.fingerprint.empty()) continue;
    const Op*& same = first[{facts.fingerprint, op.row->name}];
    if (same == nullptr) same = &op;
    same_[&op] = same;
  }
}
const Op* SameOps::OpOf(size_t activity) const {
  const Op* op = context_.OpOf(activity);
  const auto at = same_.find(op);
  return at == same_.end() ? op : at->second;
}

std::map<const Op*, Collective> CollectivesOf(const Context& context, const SameOps& same) {
  std::map<const Op*, Collective> collectives;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    if (!context.InBasis(i)) continue;
    const Op* op = same.OpOf(i);
    if (op == nullptr) continue;
    Collective& of = collectives[op];
    of.op = op;
    const int64_t ns = context.run.activities.self_ns[i];
    of.ns += ns;
    of.exposed_ns += row.exposed_ns.value_or(0);
    of.bytes = row.bytes.value_or(of.bytes);
    of.of_device[context.run.LaneOf(i).device_id][context.StepOf(i)].emplace_back(
        ns, row.exposed_ns.value_or(0));
  }
  return collectives;
}

void SplitWaiting(Collective& of) {
  if (of.of_device.size() < 2) return;
  for (const auto& [step, first] : of.of_device.begin()->second) {
    // Processes record on their own: a step that one of them lacks, or in which it ran another
    // number of times, has no counterpart.
    const size_t count = first.size();
    const bool on_all = std::all_of(
        of.of_device.begin(), of.of_device.end(), [count, at_step = step](const auto& device) {
          const auto at = device.second.find(at_step);
          return at != device.second.end() && at->second.size() == count;
        });
    if (!on_all) continue;
    for (size_t k = 0; k < count; ++k) {
      std::map<Id, int64_t>& times = of.paired.emplace_back();
      int64_t least = INT64_MAX;
      for (const auto& [device, steps] : of.of_device) {
        times[device] = steps.at(step)[k].first;
        least = std::min(least, times[device]);
      }
      for (const auto& [device, steps] : of.of_device) {
        const auto& [ns, exposed] = steps.at(step)[k];
        of.wait_ns += ns - least;
        of.exposed_wait_ns += std::min(ns - least, exposed);
        of.paired_exposed_ns += exposed;
      }
    }
  }
}

}  // namespace xlatrace::analysis::findings
