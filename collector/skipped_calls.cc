// SPDX-License-Identifier: Apache-2.0
#include "collector/skipped_calls.h"

#include <iterator>
#include <utility>

namespace xlatrace::collector {

void SkippedCalls::Skip(uint32_t correlation) {
  const uint32_t number = correlation >> kPageBits;
  See(number);
  if (IsWhole(number)) return;
  Page& page = pages_[number];
  if (page.bits.empty()) page.bits.resize((size_t{1} << kPageBits) / 64);
  const uint32_t bit = correlation & ((1u << kPageBits) - 1);
  page.bits[bit / 64] |= uint64_t{1} << (bit % 64);
}

void SkippedCalls::See(uint32_t page) {
  if (!std::exchange(any_, true)) newest_ = page;
  const uint32_t ahead = (page - newest_) % kPageCount;
  if (ahead == 0 || ahead >= kPageCount / 2) return;  // An earlier page of another thread.
  // Bits of the half round after the new page are from the round before.
  const uint32_t first = (newest_ + 1) % kPageCount;
  const uint32_t end = (page + kPageCount / 2) % kPageCount;
  if (first < end) {
    Remove(first, end);
  } else {
    Remove(first, kPageCount);
    Remove(0, end);
  }
  newest_ = page;
  Compact();
}

void SkippedCalls::Remove(uint32_t first, uint32_t end) {
  pages_.erase(pages_.lower_bound(first), pages_.lower_bound(end));
  const auto id_of = [](uint32_t page) { return uint64_t{page} << kPageBits; };
  auto exception = exceptions_.lower_bound(static_cast<uint32_t>(id_of(first)));
  while (exception != exceptions_.end() && *exception < id_of(end)) {
    exception = exceptions_.erase(exception);
  }
  auto run = whole_.upper_bound(first);
  if (run != whole_.begin()) --run;
  while (run != whole_.end() && run->first < end) {
    const auto [begin, behind] = *run;
    if (behind <= first) {
      ++run;
      continue;
    }
    run = whole_.erase(run);
    if (begin < first) whole_.emplace(begin, first);
    if (behind > end) run = whole_.emplace(end, behind).first;
  }
}

void SkippedCalls::Keep(uint32_t correlation) {
  const uint32_t number = correlation >> kPageBits;
  See(number);
  if (IsWhole(number)) {
    exceptions_.insert(correlation);
    return;
  }
  pages_[number].kept = true;
}

bool SkippedCalls::Skipped(uint32_t correlation) const {
  const uint32_t number = correlation >> kPageBits;
  if (IsWhole(number)) return !exceptions_.contains(correlation);
  const auto page = pages_.find(number);
  if (page == pages_.end() || page->second.bits.empty()) return false;
  const uint32_t bit = correlation & ((1u << kPageBits) - 1);
  return (page->second.bits[bit / 64] >> (bit % 64) & 1) != 0;
}

bool SkippedCalls::IsWhole(uint32_t page) const {
  auto run = whole_.upper_bound(page);
  if (run == whole_.begin()) return false;
  return page < std::prev(run)->second;
}

// Threads are some calls apart: a page is settled when another one lies between it and the newest.
void SkippedCalls::Compact() {
  for (auto it = pages_.begin(); it != pages_.end();) {
    const uint32_t behind = (newest_ - it->first) % kPageCount;
    if (behind < 2 || it->second.kept || it->second.bits.empty()) {
      ++it;
      continue;
    }
    const uint32_t page = it->first;
    it = pages_.erase(it);
    auto after = whole_.lower_bound(page);
    if (after != whole_.begin() && std::prev(after)->second == page) {
      std::prev(after)->second = page + 1;
    } else {
      whole_.emplace(page, page + 1);
    }
  }
  // Past the limit the oldest are recorded after all: too much rather than too little.
  while (pages_.size() > kMaxPages) {
    const auto oldest = pages_.upper_bound(newest_);
    pages_.erase(oldest == pages_.end() ? pages_.begin() : oldest);
  }
}

}  // namespace xlatrace::collector
