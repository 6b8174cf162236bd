// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/align/known_stretches.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace xlatrace::correlator {
namespace {

uint64_t HashCases(std::span<const uint32_t> cases) {
  uint64_t h = cases.size();
  for (const uint32_t c : cases) h = Mix(h, c);
  return h;
}

}  // namespace

uint32_t KnownStretches::Find(std::span<const uint32_t> cases, const std::vector<Outcome>* outcomes,
                              uint32_t how) const {
  const auto it = by_hash_.find(HashCases(cases));
  if (it == by_hash_.end()) return kNoIndex;
  for (const uint32_t stretch : it->second) {
    if (stretches_[stretch].how != how) continue;
    if (std::equal(cases.begin(), cases.end(), stretches_[stretch].cases.begin(),
                   stretches_[stretch].cases.end()) &&
        (outcomes == nullptr || *outcomes == stretches_[stretch].outcomes)) {
      return stretch;
    }
  }
  return kNoIndex;
}

uint32_t KnownStretches::FindPrefix(std::span<const uint32_t> cases, size_t ahead,
                                    size_t* followed) const {
  const uint32_t found = OnePrefix(cases);
  if (found == kNoIndex) return kNoIndex;
  size_t at = std::max(*followed, stretches_[found].cases.size());
  while (at < ahead && at < cases.size()) {
    const uint32_t next = OnePrefix(cases.subspan(at));
    if (next == kNoIndex) return kNoIndex;
    at += stretches_[next].cases.size();
  }
  *followed = at - stretches_[found].cases.size();
  return found;
}

uint32_t KnownStretches::OnePrefix(std::span<const uint32_t> cases) const {
  const auto it = by_first_case_.find(cases.front());
  if (it == by_first_case_.end()) return kNoIndex;
  for (const uint32_t stretch : it->second) {
    const std::vector<uint32_t>& pattern = stretches_[stretch].cases;
    if (pattern.size() >= cases.size()) continue;
    if (!std::equal(pattern.begin(), pattern.end(), cases.begin())) continue;
    if (by_first_case_.contains(cases[pattern.size()])) return stretch;
  }
  return kNoIndex;
}

uint32_t KnownStretches::Add(std::span<const uint32_t> cases, std::vector<Outcome> outcomes,
                             uint32_t how) {
  const auto id = static_cast<uint32_t>(stretches_.size());
  KnownStretch stretch;
  stretch.cases.assign(cases.begin(), cases.end());
  stretch.outcomes = std::move(outcomes);
  stretch.how = how;
  stretches_.push_back(std::move(stretch));
  by_hash_[HashCases(cases)].push_back(id);
  return id;
}

void KnownStretches::MakePattern(uint32_t stretch) {
  auto& same_start = by_first_case_[stretches_[stretch].cases.front()];
  const bool there = std::any_of(same_start.begin(), same_start.end(), [&](uint32_t s) {
    return stretches_[s].cases == stretches_[stretch].cases;
  });
  if (there) return;
  same_start.push_back(stretch);
  std::sort(same_start.begin(), same_start.end(), [&](uint32_t a, uint32_t b) {
    return stretches_[a].cases.size() > stretches_[b].cases.size();
  });
}

}  // namespace xlatrace::correlator
