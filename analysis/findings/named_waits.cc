// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/named_waits.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

struct Launch {
  int64_t start_ns = 0, duration_ns = 0, exposed_ns = 0;
};

using ByDevice = std::map<Id, std::vector<Launch>>;

bool AreSameExchanges(const ByDevice& devices) {
  if (devices.size() < 2) return false;
  const std::vector<Launch>& first = devices.begin()->second;
  size_t apart = 0;
  for (const auto& [device, launches] : devices) {
    if (launches.size() != first.size()) return false;
    for (size_t k = 0; k < first.size(); ++k) {
      const Launch &a = first[k], &b = launches[k];
      apart += a.start_ns >= b.start_ns + b.duration_ns || b.start_ns >= a.start_ns + a.duration_ns;
    }
  }
  return 10 * apart <= first.size() * (devices.size() - 1);
}

void AddWaiting(const ByDevice& devices, NamedCollective& of) {
  const size_t count = devices.begin()->second.size();
  for (size_t k = 0; k < count; ++k) {
    int64_t least = INT64_MAX;
    Id last = 0;
    for (const auto& [device, launches] : devices) {
      if (launches[k].duration_ns >= least) continue;
      least = launches[k].duration_ns;
      last = device;
    }
    ++of.last[last];
    ++of.exchanges;
    for (const auto& [device, launches] : devices) {
      const int64_t wait = launches[k].duration_ns - least;
      of.wait_ns[device] += wait;
      of.caused_ns[last] += wait;
      of.longest_wait_ns = std::max(of.longest_wait_ns, wait);
      of.exposed_wait_ns += std::min(wait, launches[k].exposed_ns);
    }
  }
}

}  // namespace

std::vector<NamedCollective> NamedCollectivesOf(const Context& context) {
  std::map<std::string, ByDevice> by_name;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    if (!context.InBasis(i)) continue;
    const model::LaunchConfig& config = context.run.ConfigOf(i);
    const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
    if (label.module_id != 0 || config.kind != model::ActivityKind::kKernel) continue;
    by_name[config.name][context.run.LaneOf(i).device_id].push_back(
        {context.run.activities.start_ns[i], context.run.activities.self_ns[i],
         row.exposed_ns.value_or(0)});
  }
  std::vector<NamedCollective> result;
  for (auto& [name, devices] : by_name) {
    NamedCollective of{.name = name};
    for (auto& [device, launches] : devices) {
      std::sort(launches.begin(), launches.end(),
                [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
      for (const Launch& launch : launches) {
        of.ns += launch.duration_ns;
        of.exposed_ns += launch.exposed_ns;
      }
      of.count += static_cast<int64_t>(launches.size());
    }
    of.paired = AreSameExchanges(devices);
    if (of.paired) AddWaiting(devices, of);
    result.push_back(std::move(of));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return result;
}

}  // namespace xlatrace::analysis::findings
