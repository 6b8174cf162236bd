// SPDX-License-Identifier: Apache-2.0

// The correlation ids of calls that were not recorded, so that their activities are not recorded,
// either.
//
// Ids are dense. While nothing is recorded, all ids are skipped, and runs of whole pages take no
// memory. At the edges of a window a page is a bitmap of 4 KB. The counter of ids wraps after 2^32
// calls (60 hours at 20,000 calls per second). A new page therefore removes the ids of half a cycle
// ago. Thread-safety: one thread.

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
  // Adds a recorded call: its page cannot be stored as a whole.
  void Keep(uint32_t correlation);
  bool Skipped(uint32_t correlation) const;

  size_t pages() const { return pages_.size(); }

 private:
  static constexpr uint32_t kPageBits = 15;
  static constexpr uint32_t kPageCount = uint32_t{1} << (32 - kPageBits);
  // 64 MB: 500 million ids if recorded and skipped ids alternate.
  static constexpr size_t kMaxPages = 1 << 14;
  struct Page {
    bool kept = false;           // A call of this page was recorded.
    std::vector<uint64_t> bits;  // Bits of skipped calls; empty: none.
  };
  // Whether `page` is in a run of `whole_`.
  bool IsWhole(uint32_t page) const;
  // Adds a call on `page`, and removes earlier ids of pages that are reused.
  void See(uint32_t page);
  void Remove(uint32_t first, uint32_t end);
  void Compact();

  std::map<uint32_t, Page> pages_;  // By correlation >> kPageBits.
  // First page to the page after the last one; all ids of these pages are skipped.
  std::map<uint32_t, uint32_t> whole_;
  std::set<uint32_t> exceptions_;  // Recorded calls in these pages that were reported late.
  uint32_t newest_ = 0;            // Page.
  bool any_ = false;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_SKIPPED_CALLS_H_
