// SPDX-License-Identifier: Apache-2.0
#include "fleet/pairing.h"

#include <numeric>
#include <utility>

namespace xlatrace::fleet {

bool Pairing::Whole(const RankCollective& collective) const {
  const auto all = static_cast<int64_t>(ranks_);
  return all > 1 && collective.group_size.value_or(all) == all;
}

void Pairing::Add(size_t rank, const RankCollective& collective) {
  if (!Synchronises(collective.op) || !collective.group_size || Whole(collective)) return;
  Members& members = of_[{collective.key.fingerprint, collective.key.instruction}];
  members.group_size = *collective.group_size;
  EndsOfMember& ends = members.ends[rank];
  if (ends.size() < kMaxKeptEnds) {
    ends[{collective.key.step, collective.key.number}] = collective.end_ns;
  }
}

void Pairing::Settle() {
  for (auto& [instruction, members] : of_) {
    std::vector<size_t> ranks;
    std::vector<EndsOfMember> ends;
    for (auto& [rank, of_rank] : members.ends) {
      ranks.push_back(rank);
      ends.push_back(std::move(of_rank));
    }
    members.ends.clear();
    if (members.group_size < 2) continue;
    const auto groups = FindGroups(ends, static_cast<size_t>(members.group_size));
    if (!groups) continue;
    for (size_t m = 0; m < ranks.size(); ++m) members.group_of[ranks[m]] = (*groups)[m];
  }
}

std::optional<PairedCollective> Pairing::Of(size_t rank, const RankCollective& collective) const {
  if (!Synchronises(collective.op)) return std::nullopt;
  if (Whole(collective)) return PairedCollective{collective.key, static_cast<int64_t>(ranks_)};
  const auto members = of_.find({collective.key.fingerprint, collective.key.instruction});
  if (members == of_.end()) return std::nullopt;
  const auto group = members->second.group_of.find(rank);
  if (group == members->second.group_of.end()) return std::nullopt;
  PairedCollective paired{collective.key, members->second.group_size};
  paired.key.group = static_cast<int64_t>(group->second);
  return paired;
}

std::vector<size_t> Pairing::RanksOf(const CollectiveKey& key) const {
  std::vector<size_t> ranks;
  const auto members = of_.find({key.fingerprint, key.instruction});
  if (members == of_.end()) {
    ranks.resize(ranks_);
    std::iota(ranks.begin(), ranks.end(), size_t{0});
    return ranks;
  }
  for (const auto& [rank, group] : members->second.group_of) {
    if (static_cast<int64_t>(group) == key.group) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace xlatrace::fleet
