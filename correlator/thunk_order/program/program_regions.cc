// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/program/program_regions.h"

#include <algorithm>
#include <limits>

namespace xlatrace::correlator {

void ProgramRegions::Clear() {
  regions_.assign(1, Region());
  choices_.clear();
  open_.assign(1, kTopIndex);
  open_choice_.clear();
}

void ProgramRegions::BeginChoice(bool exactly_one) {
  regions_[current()].choices.push_back(static_cast<uint32_t>(choices_.size()));
  open_choice_.push_back(static_cast<uint32_t>(choices_.size()));
  choices_.push_back({exactly_one, {}});
}

uint32_t ProgramRegions::Open(uint32_t next_token) {
  const auto id = static_cast<uint32_t>(regions_.size());
  Region region;
  region.parent = current();
  region.choice = open_choice_.back();
  region.depth = regions_[region.parent].depth + 1;
  region.begin = next_token;
  choices_[region.choice].regions.push_back(id);
  regions_.push_back(std::move(region));
  open_.push_back(id);
  return id;
}

void ProgramRegions::Close(uint32_t next_token) {
  regions_[current()].end = next_token;
  open_.pop_back();
}

void ProgramRegions::EndChoice() { open_choice_.pop_back(); }

void ProgramRegions::Count(const std::vector<bool>& required) {
  required_ = required;
  inner_.assign(required.size(), kTopIndex);
  before_.assign(required.size(), 0);
  regions_[kTopIndex].end = static_cast<uint32_t>(required.size());
  regions_[kTopIndex].total = CountRegion(kTopIndex, required);
}

int64_t ProgramRegions::CountRegion(uint32_t id, const std::vector<bool>& required) {
  int64_t count = 0;
  uint32_t token = regions_[id].begin;
  const auto take = [&](uint32_t end) {
    for (; token < end; ++token) {
      inner_[token] = id;
      before_[token] = count;
      count += required[token] ? 1 : 0;
    }
  };
  for (const uint32_t c : regions_[id].choices) {
    const Choice& choice = choices_[c];
    if (choice.regions.empty()) continue;
    take(regions_[choice.regions.front()].begin);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const uint32_t r : choice.regions) {
      regions_[r].before = count;
      regions_[r].total = CountRegion(r, required);
      least = std::min(least, regions_[r].total);
      token = regions_[r].end;
    }
    if (choice.exactly_one) count += least;
    for (const uint32_t r : choice.regions) regions_[r].after = count;
  }
  take(regions_[id].end);
  return count;
}

void ProgramRegions::CountLoop(Loop* loop) {
  int64_t unused = 0;
  loop->before = Enter(loop->begin, loop->region, &unused);
  loop->after = Leave(loop->end - 1, loop->region, loop->body, &unused);
  if (loop->body != kTopIndex) {
    regions_[loop->body].leaving = regions_[loop->body].before - loop->before;
  }
}

int64_t ProgramRegions::Leave(uint32_t token, uint32_t region, uint32_t around,
                              int64_t* cost) const {
  int64_t at = AfterToken(token);
  for (uint32_t r = inner_[token]; r != region; r = regions_[r].parent) {
    *cost += regions_[r].total - at + (r != around ? regions_[r].leaving : 0);
    at = regions_[r].after;
  }
  return at;
}

int64_t ProgramRegions::Enter(uint32_t token, uint32_t region, int64_t* cost) const {
  int64_t at = before_[token];
  for (uint32_t r = inner_[token]; r != region; r = regions_[r].parent) {
    *cost += at;
    at = regions_[r].before;
  }
  return at;
}

uint32_t ProgramRegions::Common(uint32_t a, uint32_t b, uint32_t* below_a,
                                uint32_t* below_b) const {
  uint32_t x = inner_[a];
  uint32_t y = inner_[b];
  *below_a = *below_b = kTopIndex;
  while (x != y) {
    const bool deeper = regions_[x].depth >= regions_[y].depth;
    if (deeper) {
      *below_a = x;
      x = regions_[x].parent;
    } else {
      *below_b = y;
      y = regions_[y].parent;
    }
  }
  return x;
}

bool ProgramRegions::Exclusive(uint32_t a, uint32_t b) const {
  if (inner_[a] == inner_[b]) return false;
  uint32_t below_a = kTopIndex;
  uint32_t below_b = kTopIndex;
  Common(a, b, &below_a, &below_b);
  return below_a != kTopIndex && below_b != kTopIndex &&
         regions_[below_a].choice == regions_[below_b].choice;
}

int64_t ProgramRegions::Skipped(uint32_t from, uint32_t to) const {
  if (inner_[from] == inner_[to]) return before_[to] - AfterToken(from);
  uint32_t below_from = kTopIndex;
  uint32_t below_to = kTopIndex;
  const uint32_t common = Common(from, to, &below_from, &below_to);
  const bool exclusive = below_from != kTopIndex && below_to != kTopIndex &&
                         regions_[below_from].choice == regions_[below_to].choice;
  if (exclusive) return -1;
  int64_t cost = 0;
  const int64_t left = Leave(from, common, kTopIndex, &cost);
  const int64_t entered = Enter(to, common, &cost);
  return cost + entered - left;
}

int64_t ProgramRegions::SkippedFromStart(uint32_t to) const {
  int64_t cost = 0;
  const int64_t at = Enter(to, kTopIndex, &cost);
  return at + cost;
}

int64_t ProgramRegions::SkippedToEnd(uint32_t from) const {
  int64_t cost = 0;
  const int64_t at = Leave(from, kTopIndex, kTopIndex, &cost);
  return total() - at + cost;
}

int64_t ProgramRegions::SkippedAround(const Loop& loop, uint32_t from, uint32_t to) const {
  int64_t cost = 0;
  const int64_t left = Leave(from, loop.region, loop.body, &cost);
  const int64_t entered = Enter(to, loop.region, &cost);
  return cost + (loop.after - left) + (entered - loop.before);
}

}  // namespace xlatrace::correlator
