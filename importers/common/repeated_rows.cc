// SPDX-License-Identifier: Apache-2.0
#include "importers/common/repeated_rows.h"

#include <utility>

#include "base/hash.h"

namespace xlatrace::importers {
namespace {

constexpr int64_t kMicrosecondNs = 1000;

bool IsIdentifiable(const model::Activity& row) {
  if (row.end_ns <= row.start_ns) return false;
  return row.correlation_id != 0 || row.start_ns % kMicrosecondNs != 0 ||
         row.end_ns % kMicrosecondNs != 0;
}

uint64_t HashOf(const model::Activity& row) {
  const int64_t parts[] = {row.start_ns,       row.end_ns,        row.config_id,
                           row.correlation_id, row.graph_node_id, row.graph_id};
  const uint64_t hash = Hash({reinterpret_cast<const char*>(parts), sizeof(parts)});
  return hash == 0 ? 1 : hash;
}

}  // namespace

bool RepeatedRows::IsRepeated(const model::Activity& row) {
  if (!IsIdentifiable(row) || lanes_[row.lane_id].Add(row.start_ns, HashOf(row))) return false;
  ++repeated_;
  return true;
}

void RepeatedRows::Count(Counters& counters) {
  counters.Add("repeated_row", model::Severity::kNotice, std::exchange(repeated_, 0),
               "the file holds these rows more than once (equal stream, times, kernel and "
               "correlation id); each was read once");
}

bool RepeatedRows::Rows::Add(int64_t start_ns, uint64_t hash) {
  if (in_order_ && start_ns > latest_start_ns_) {
    latest_start_ns_ = start_ns;
    hashes_.push_back(hash);
    return true;
  }
  if (in_order_) {
    in_order_ = false;
    std::vector<uint64_t> ordered = std::exchange(hashes_, {});
    hashes_.assign(1024, 0);
    for (const uint64_t earlier : ordered) Insert(earlier);
  }
  return Insert(hash);
}

bool RepeatedRows::Rows::Insert(uint64_t hash) {
  if (2 * (used_ + 1) > hashes_.size()) Grow();
  const size_t mask = hashes_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    if (hashes_[at] == hash) return false;
    if (hashes_[at] != 0) continue;
    hashes_[at] = hash;
    ++used_;
    return true;
  }
}

void RepeatedRows::Rows::Grow() {
  const std::vector<uint64_t> smaller =
      std::exchange(hashes_, std::vector<uint64_t>(2 * hashes_.size(), 0));
  used_ = 0;
  for (const uint64_t hash : smaller) {
    if (hash != 0) Insert(hash);
  }
}

}  // namespace xlatrace::importers
