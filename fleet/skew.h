// SPDX-License-Identifier: Apache-2.0

// Waiting in collectives without any common clock.
//
// The kernel of a collective runs from the arrival of its rank to the end of the exchange, which is
// the same for all: the last one to arrive has the shortest. So, of one collective in which ranks
// synchronise, waiting of a rank = its duration - the least of the group, and the exchange itself
// took that least. (nsys-jax and TraceLens take the same minimum; facts of NCCL: a kernel spins
// until its peers are there.) A broadcast, a permute and a send or receive let a rank go before
// others have arrived: of them nothing is said.
//
// Two passes over the ranks, one rank in memory at a time: Add everything, then ask. What is kept
// is one entry per collective of the job, whatever the number of ranks.
//
// Thread-safety: const calls may run beside each other.

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

// Which collective of the job it is: like is paired with like by the content of the program, never
// by times. `number` counts runs of the instruction inside the step on one device.
struct CollectiveKey {
  int64_t step = 0;
  std::string fingerprint;  // Of the module.
  std::string instruction;
  int64_t number = 0;
  int64_t group = 0;  // Which of the instruction's groups.

  bool operator==(const CollectiveKey&) const = default;
};

struct CollectiveKeyHash {
  size_t operator()(const CollectiveKey& key) const;
};

class Skew {
 public:
  // What all ranks of one collective said.
  struct Group {
    int64_t transfer_ns = 0;  // The least duration.
    int64_t longest_ns = 0;
    size_t last = 0;  // Who had the least: the last to arrive.
    int64_t ranks = 0;
    uint32_t number = 0;          // Of the job's collectives, from 0 on.
    int64_t next_ns = INT64_MAX;  // The least of all others: the next to last came so much
                                  // before the last as this is more than transfer_ns.
  };

  // `rank`: the caller's number of it.
  void Add(const CollectiveKey& key, int64_t duration_ns, size_t rank);

  // Nothing where fewer than `expected` ranks said something, or only one: the least of a part of
  // the group may be anybody's waiting.
  std::optional<Group> Of(const CollectiveKey& key, int64_t expected) const;

  // All of them, in no order, whether or not all of their ranks said something.
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
