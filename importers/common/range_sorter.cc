// SPDX-License-Identifier: Apache-2.0
#include "importers/common/range_sorter.h"

#include <algorithm>

namespace xlatrace::importers {

void RangeSorter::Add(const Row& row) {
  if (streaming_) return Emit(row);
  if (row.start_ns < last_start_ns_) in_order_ = false;
  last_start_ns_ = row.start_ns;
  Row held = row;
  held.text = *texts_.emplace(row.text).first;
  held_.push_back(held);
  if (in_order_ && held_.size() >= held_rows_) {
    EmitHeld();
    streaming_ = true;
  }
}

void RangeSorter::Finish() { EmitHeld(); }

void RangeSorter::EmitHeld() {
  std::stable_sort(held_.begin(), held_.end(), [](const Row& a, const Row& b) {
    if (a.tid != b.tid) return a.tid < b.tid;
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    return a.end_ns > b.end_ns;
  });
  for (const Row& row : held_) Emit(row);
  held_ = {};
  texts_ = {};
}

void RangeSorter::Emit(const Row& row) {
  if (!row.nests) return output_(row, -1);
  if (last_open_ == nullptr || last_tid_ != row.tid) {
    last_open_ = &open_ends_[row.tid];
    last_tid_ = row.tid;
  }
  std::vector<int64_t>& open = *last_open_;
  while (!open.empty() && open.back() <= row.start_ns) open.pop_back();
  output_(row, static_cast<int32_t>(open.size()));
  open.push_back(row.end_ns);
}

}  // namespace xlatrace::importers
