// SPDX-License-Identifier: Apache-2.0
#include "collector/skipped_calls.h"

#include <iterator>

namespace xlatrace::collector {

void SkippedCalls::Skip(uint32_t correlation) {
  const uint32_t number = correlation >> kPageBits;
  if (IsWhole(number)) return;
  Page& page = pages_[number];
  if (page.bits.empty()) page.bits.resize((size_t{1} << kPageBits) / 64);
  const uint32_t bit = correlation & ((1u << kPageBits) - 1);
  page.bits[bit / 64] |= uint64_t{1} << (bit % 64);
  if (number > newest_) {
    newest_ = number;
    Compact();
  }
}

void SkippedCalls::Keep(uint32_t correlation) {
  const uint32_t number = correlation >> kPageBits;
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
  for (auto it = pages_.begin(); it != pages_.end() && it->first + 1 < newest_;) {
    if (it->second.kept || it->second.bits.empty()) {
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
  while (pages_.size() > kMaxPages) pages_.erase(pages_.begin());
}

}  // namespace xlatrace::collector
