// SPDX-License-Identifier: Apache-2.0
#include "fleet/skew.h"

#include <algorithm>

#include "base/hash.h"

namespace xlatrace::fleet {

// Selects the collectives of a large job for the fit of its clocks (Job::ReadEnds), and the fit is
// stored. Mix is not used, so that a repeated merge gives the same numbers.
size_t CollectiveKeyHash::operator()(const CollectiveKey& key) const {
  uint64_t hash = Hash(key.fingerprint) ^ (Hash(key.instruction) << 1);
  for (const int64_t part : {key.step, key.number, key.group}) {
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash);
}

void Skew::Add(const CollectiveKey& key, int64_t duration_ns, size_t rank) {
  const auto number = static_cast<uint32_t>(groups_.size());
  const auto [at, fresh] =
      groups_.try_emplace(key, Group{duration_ns, duration_ns, rank, 0, number});
  Group& group = at->second;
  if (duration_ns < group.transfer_ns) {
    group.next_ns = group.transfer_ns;
    group.transfer_ns = duration_ns;
    group.last = rank;
  } else if (!fresh) {
    group.next_ns = std::min(group.next_ns, duration_ns);
  }
  group.longest_ns = std::max(group.longest_ns, duration_ns);
  ++group.ranks;
}

std::optional<Skew::Group> Skew::Of(const CollectiveKey& key, int64_t expected) const {
  const auto at = groups_.find(key);
  if (at == groups_.end() || at->second.ranks < std::max<int64_t>(expected, 2)) return std::nullopt;
  return at->second;
}

}  // namespace xlatrace::fleet
