// SPDX-License-Identifier: Apache-2.0

// Collectives of the whole job, one row per instruction: how far apart ranks arrive in it, what the
// exchange itself takes, how fast that is, and how much of it nothing computes beside.
//
// Gets every collective of every rank once, in any order of ranks, then the pairs that fleet/skew.h
// made of them. What is kept is one entry per instruction and rank.
// Thread-safety: one thread.

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

// Of an instruction whose ranks do not synchronise, or of which it is not known who takes part,
// only the exposed time is known.
struct JobCollective {
  std::string program;  // Fingerprint of its module.
  std::string instruction;
  std::string op;
  std::optional<int64_t> group_size, bytes;
  int64_t ranks = 0;   // That run it.
  int64_t groups = 0;  // That they form, as far as that is known.
  int64_t paired = 0;  // Runs of a group of which all ranks are here.
  // Medians over those: the least duration of the group, and the longest less the least.
  std::optional<int64_t> transfer_ns, arrival_skew_ns;
  std::optional<int64_t> most_skew_ns;
  std::optional<int64_t> bus_bandwidth;  // Bytes per second, of the median transfer.
  // Means over steady steps of the ranks that run it.
  int64_t exposed_ns_per_step = 0;
  std::optional<int64_t> wait_ns_per_step;
  // Who arrives last most often, and in how many of `paired`.
  std::optional<size_t> last_rank;
  int64_t last_times = 0;
};

class JobCollectives {
 public:
  // `steady`: its step is one of the rank's steady steps. `waited_ns`: nothing where it is unknown.
  void Add(size_t rank, const RankCollective& collective, bool steady,
           std::optional<int64_t> waited_ns);

  // `steady_steps`: of each rank. The most exposed time first.
  std::vector<JobCollective> Rows(const Skew& skew, const Pairing& pairing,
                                  const std::vector<int64_t>& steady_steps) const;

 private:
  using Instruction = std::pair<std::string, std::string>;  // Fingerprint of the module, name.
  struct Sums {
    std::string op;
    std::optional<int64_t> group_size, bytes;
    double bus_bytes = 0;  // That cross the bus in a run.
    std::set<size_t> ranks;
    int64_t exposed_ns = 0, wait_ns = 0;
    bool waits = false;
  };
  std::map<Instruction, Sums> of_;
};

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_COLLECTIVES_H_
