// SPDX-License-Identifier: Apache-2.0

// Waiting time in collectives without a common clock.
//
// The kernel of a collective runs from the arrival of its rank to the end of the exchange. All
// ranks have the same end, so the last to arrive has the shortest kernel. In a synchronising
// collective, the exchange time is the shortest duration in the group. The waiting time of a rank
// is its duration less the exchange time. Tools such as nsys-jax and TraceLens use
// the same minimum, because an NCCL kernel spins until its peers have arrived. Broadcast, permute,
// send and receive may release a rank before others have arrived. They have no waiting time here.
//
// Two passes over the ranks, one rank in memory at a time: Add everything, then query. Memory: one
// entry per collective of the job, for any number of ranks.
//
// Thread-safety: const calls may run in parallel.

#ifndef XLATRACE_FLEET_SKEW_H_
#define XLATRACE_FLEET_SKEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/collective_model.h"

namespace xlatrace::fleet {

using analysis::Synchronises;

// Identifies a collective of the job by the content of the program, never by times. `number` counts
// the runs of the instruction inside the step on one device.
struct CollectiveKey {
  int64_t step = 0;
  std::string fingerprint;  // Fingerprint of the module.
  std::string instruction;
  int64_t number = 0;
  int64_t group = 0;  // Index of the instruction's group.

  bool operator==(const CollectiveKey&) const = default;
};

struct CollectiveKeyHash {
  size_t operator()(const CollectiveKey& key) const;
};

class Skew {
 public:
  // Combined figures of all ranks of one collective.
  struct Group {
    int64_t transfer_ns = 0;  // The shortest duration of all ranks.
    int64_t longest_ns = 0;
    size_t last = 0;  // The rank with the shortest duration: the last to arrive.
    int64_t ranks = 0;
    uint32_t number = 0;          // Number in the job's collectives, from 0.
    int64_t next_ns = INT64_MAX;  // The shortest duration of the other ranks. Less transfer_ns, it
                                  // is the lead of the next to last rank over the last.
  };

  // `rank`: index of the rank in the caller's list.
  void Add(const CollectiveKey& key, int64_t duration_ns, size_t rank);

  // nullopt if fewer than `expected` ranks were added, or only one, because the shortest duration
  // of a part of the group may contain waiting time.
  std::optional<Group> Of(const CollectiveKey& key, int64_t expected) const;

  // Visits all of them, in no order, including groups with missing ranks.
  template <typename Function>
  void ForEach(const Function& function) const {
    for (const auto& [key, group] : groups_) function(key, group);
  }

  size_t size() const { return groups_.size(); }

 private:
  std::unordered_map<CollectiveKey, Group, CollectiveKeyHash> groups_;
};

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_SKEW_H_
