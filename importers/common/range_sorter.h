// SPDX-License-Identifier: Apache-2.0

// Depth of host ranges, for millions of ranges: the number of ranges of the thread that are open at
// the start of the range.
//
// Exports list ranges by start, so a large table can be passed through with one stack per thread.
// The first kHeldRows rows are held back and sorted. If they are in order, the next rows stream,
// else all rows are held. A late row in a stream is passed on at once; its depth is that among the
// ranges open then.
//
// Ranges that do not nest get depth -1 and do not change other depths.
//
// Memory: 72 bytes per held row and its text once. Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_RANGE_SORTER_H_
#define XLATRACE_IMPORTERS_COMMON_RANGE_SORTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace xlatrace::importers {

class RangeSorter {
 public:
  static constexpr size_t kHeldRows = 200'000;

  struct Row {
    int64_t tid = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    std::string_view text;                // For the duration of Add only.
    const std::string* domain = nullptr;  // Outlives the sorter.
    bool nests = true;                    // False: a start/end range, on no thread's stack.
    int64_t domain_number = -1;
  };
  using Output = std::function<void(const Row&, int32_t depth)>;
  explicit RangeSorter(Output output, size_t held_rows = kHeldRows)
      : output_(std::move(output)), held_rows_(held_rows) {}

  void Add(const Row& row);
  void Finish();

 private:
  void Emit(const Row& row);
  void EmitHeld();

  Output output_;
  size_t held_rows_;
  bool in_order_ = true;
  bool streaming_ = false;
  int64_t last_start_ns_ = INT64_MIN;
  std::vector<Row> held_;
  std::unordered_set<std::string> texts_;
  std::unordered_map<int64_t, std::vector<int64_t>> open_ends_;  // By thread.
  std::vector<int64_t>* last_open_ = nullptr;
  int64_t last_tid_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_RANGE_SORTER_H_
