// SPDX-License-Identifier: Apache-2.0

// Collectives of the whole job, one row per instruction: arrival skew of the ranks, exchange time,
// bandwidth, and exposed time.
//
// Add every collective of every rank once, in any order of ranks, then the pairs of fleet/skew.h.
// Memory: one entry per instruction and rank. Thread-safety: one thread.

#ifndef XLATRACE_FLEET_COLLECTIVES_H_
#define XLATRACE_FLEET_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fleet/pairing.h"
#include "fleet/rank_reader.h"
#include "fleet/skew.h"

namespace xlatrace::fleet {

// If the ranks of an instruction do not synchronise, or its groups are not known, only the exposed
// time is set.
struct JobCollective {
  std::string program;  // Fingerprint of its module.
  std::string instruction;
  std::string op;
  std::optional<int64_t> group_size, bytes;
  int64_t ranks = 0;   // Number of ranks that run it.
  int64_t groups = 0;  // Number of groups of these ranks, if known.
  int64_t paired = 0;  // Number of runs of a group with all its ranks.
  // Medians over those runs: the shortest duration in the group, and the difference to the longest
  // one.
  std::optional<int64_t> transfer_ns, arrival_skew_ns;
  std::optional<int64_t> most_skew_ns;
  std::optional<int64_t> bus_bandwidth;  // Bytes per second, for the median transfer.
  // Means over steady steps of the ranks that run it.
  int64_t exposed_ns_per_step = 0;
  std::optional<int64_t> wait_ns_per_step;
  // The rank that arrives last most often, and in how many of `paired`.
  std::optional<size_t> last_rank;
  int64_t last_times = 0;
};

class JobCollectives {
 public:
  // `steady`: the collective is in a steady step of the rank. `waited_ns`: nullopt if not known.
  void Add(size_t rank, const RankCollective& collective, bool steady,
           std::optional<int64_t> waited_ns);

  // `steady_steps`: number of each rank. Sorted by exposed time, largest first.
  std::vector<JobCollective> Rows(const Skew& skew, const Pairing& pairing,
                                  const std::vector<int64_t>& steady_steps) const;

 private:
  using Instruction = std::pair<std::string, std::string>;  // Fingerprint of the module, name.
  struct Sums {
    std::string op;
    std::optional<int64_t> group_size, bytes;
    double bus_bytes = 0;  // Bytes that cross the bus in one run.
    std::set<size_t> ranks;
    int64_t exposed_ns = 0, wait_ns = 0;
    bool waits = false;
  };
  std::map<Instruction, Sums> of_;
};

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_COLLECTIVES_H_
