// SPDX-License-Identifier: Apache-2.0

// Finds the runs, on all ranks, of one collective of the job.
//
// Runs are paired by content: step, module, instruction and number in the step. This is sufficient
// if the group is the whole job, or all ranks that run the module (a pipeline stage). For smaller
// groups, fleet/groups.h finds the members.
//
// Add all collectives of all ranks, call Settle, then query. Memory until then: kMaxKeptEnds ends
// per rank of each instruction with smaller groups. Thread-safety: const calls may run in parallel.

#ifndef XLATRACE_FLEET_PAIRING_H_
#define XLATRACE_FLEET_PAIRING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "fleet/groups.h"
#include "fleet/rank_reader.h"
#include "fleet/skew.h"

namespace xlatrace::fleet {

inline constexpr size_t kMaxKeptEnds = 64;

struct PairedCollective {
  CollectiveKey key;  // Includes its group.
  int64_t ranks = 0;  // Number of ranks in that group.
};

class Pairing {
 public:
  explicit Pairing(size_t ranks) : ranks_(ranks) {}

  void Add(size_t rank, const RankCollective& collective);
  void Settle();

  // nullopt if its ranks do not synchronise, or if its group is not known.
  std::optional<PairedCollective> Of(size_t rank, const RankCollective& collective) const;

  // Ranks in the group of a key that Of returned.
  std::vector<size_t> RanksOf(const CollectiveKey& key) const;

 private:
  using Instruction = std::pair<std::string, std::string>;  // Fingerprint of the module, name.
  struct Members {
    int64_t group_size = 0;
    std::map<size_t, EndsOfMember> ends;  // By rank.
    std::map<size_t, size_t> group_of;    // By rank; empty: not known.
  };

  bool Whole(const RankCollective& collective) const;

  size_t ranks_;
  std::map<Instruction, Members> of_;
};

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_PAIRING_H_
