// SPDX-License-Identifier: Apache-2.0

// Which runs of a collective, on which ranks, are one and the same collective of the job.
//
// By content: step, module, instruction and number in the step. Where the group of an instruction
// is the whole job, or all ranks that run its module (a pipeline stage), that is all; where it is a
// part of them, fleet/groups.h tells who is in it.
//
// Add all collectives of all ranks, Settle, then ask. What is kept until then: kEndsKept ends of
// each instruction with such groups, per rank. Thread-safety: const calls may run beside each
// other.

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

inline constexpr size_t kEndsKept = 64;

struct PairedCollective {
  CollectiveKey key;  // With its group.
  int64_t ranks = 0;  // In that group.
};

class Pairing {
 public:
  explicit Pairing(size_t ranks) : ranks_(ranks) {}

  void Add(size_t rank, const RankCollective& collective);
  void Settle();

  // Nothing where ranks do not synchronise in it, or its group is not known.
  std::optional<PairedCollective> Of(size_t rank, const RankCollective& collective) const;

  // Ranks in the group of a key that Of gave.
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
