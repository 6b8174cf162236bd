// SPDX-License-Identifier: Apache-2.0
#include "fleet/collectives.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/robust.h"

namespace xlatrace::fleet {

void JobCollectives::Add(size_t rank, const RankCollective& collective, bool steady,
                         std::optional<int64_t> waited_ns) {
  Sums& sums = of_[{collective.key.fingerprint, collective.key.instruction}];
  if (sums.ranks.empty()) {
    sums.op = collective.op;
    sums.group_size = collective.group_size;
    sums.bytes = collective.bytes;
  }
  sums.ranks.insert(rank);
  // The bytes on the bus are the same in every run.
  if (sums.bus_bytes == 0) sums.bus_bytes = collective.bus_bytes;
  if (!steady) return;
  sums.exposed_ns += collective.exposed_ns;
  if (!waited_ns) return;
  sums.wait_ns += *waited_ns;
  sums.waits = true;
}

std::vector<JobCollective> JobCollectives::Rows(const Skew& skew, const Pairing& pairing,
                                                const std::vector<int64_t>& steady_steps) const {
  struct Times {
    std::vector<double> transfer, skew;
    std::map<int64_t, int64_t> ranks_in;  // By group.
    std::map<size_t, int64_t> last;
  };
  std::map<Instruction, Times> times;
  skew.ForEach([&](const CollectiveKey& key, const Skew::Group& group) {
    Times& of = times[{key.fingerprint, key.instruction}];
    const auto [ranks, fresh] = of.ranks_in.try_emplace(key.group, 0);
    if (fresh) ranks->second = static_cast<int64_t>(pairing.RanksOf(key).size());
    if (group.ranks < std::max<int64_t>(ranks->second, 2)) return;
    of.transfer.push_back(static_cast<double>(group.transfer_ns));
    of.skew.push_back(static_cast<double>(group.longest_ns - group.transfer_ns));
    ++of.last[group.last];
  });
  std::vector<JobCollective> rows;
  for (const auto& [instruction, sums] : of_) {
    JobCollective& row = rows.emplace_back();
    std::tie(row.program, row.instruction) = instruction;
    row.op = sums.op;
    row.group_size = sums.group_size;
    row.bytes = sums.bytes;
    row.ranks = static_cast<int64_t>(sums.ranks.size());
    int64_t steps = 0;
    for (const size_t rank : sums.ranks) steps += steady_steps[rank];
    row.exposed_ns_per_step = steps > 0 ? sums.exposed_ns / steps : 0;
    if (sums.waits && steps > 0) row.wait_ns_per_step = sums.wait_ns / steps;
    const auto at = times.find(instruction);
    if (at == times.end() || at->second.transfer.empty()) continue;
    const Times& of = at->second;
    row.groups = static_cast<int64_t>(of.ranks_in.size());
    row.paired = static_cast<int64_t>(of.transfer.size());
    row.transfer_ns = std::llround(LowerMedian(of.transfer));
    row.arrival_skew_ns = std::llround(LowerMedian(of.skew));
    row.most_skew_ns = std::llround(*std::max_element(of.skew.begin(), of.skew.end()));
    if (sums.bus_bytes > 0 && *row.transfer_ns > 0) {
      row.bus_bandwidth =
          std::llround(sums.bus_bytes / (static_cast<double>(*row.transfer_ns) * 1e-9));
    }
    const auto last =
        std::max_element(of.last.begin(), of.last.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    row.last_rank = last->first;
    row.last_times = last->second;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const JobCollective& a, const JobCollective& b) {
    return a.exposed_ns_per_step > b.exposed_ns_per_step;
  });
  return rows;
}

}  // namespace xlatrace::fleet
