// SPDX-License-Identifier: Apache-2.0

// The correlation ids of calls that were not recorded, so that their activities are not either.
//
// Ids are dense and, while nothing is recorded, all skipped: runs of whole pages take no memory.
// At the edges of a window a page is a bitmap of 4 KB. The counter of ids wraps after 2^32 calls
// (60 hours at 20,000 calls per second). So a new page forgets the ids of half a round ago.
// Thread-safety: one thread.

#ifndef XLATRACE_COLLECTOR_SKIPPED_CALLS_H_
#define XLATRACE_COLLECTOR_SKIPPED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace xlatrace::collector {

class SkippedCalls {
 public:
  void Skip(uint32_t correlation);
  // A call that is recorded: its page cannot be taken as a whole.
  void Keep(uint32_t correlation);
  bool Skipped(uint32_t correlation) const;

  size_t pages() const { return pages_.size(); }

 private:
  static constexpr uint32_t kPageBits = 15;
  static constexpr uint32_t kPageCount = uint32_t{1} << (32 - kPageBits);
  // 64 MB: 500 million ids with recorded and skipped ones among each other.
  static constexpr size_t kMaxPages = 1 << 14;
  struct Page {
    bool kept = false;           // A call of this page was recorded.
    std::vector<uint64_t> bits;  // Bits of skipped calls; empty: none.
  };
  // Whether `page` is in a run of `whole_`.
  bool IsWhole(uint32_t page) const;
  // A call on `page`: forgets earlier ids of the pages that are new with it.
  void See(uint32_t page);
  void Remove(uint32_t first, uint32_t end);
  void Compact();

  std::map<uint32_t, Page> pages_;      // By correlation >> kPageBits.
  std::map<uint32_t, uint32_t> whole_;  // First page -> page behind the last: all skipped.
  std::set<uint32_t> exceptions_;       // Recorded calls in there, noted late.
  uint32_t newest_ = 0;                 // Page.
  bool any_ = false;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_SKIPPED_CALLS_H_
