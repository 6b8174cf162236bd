// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/range_tree.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace xlatrace::importers {

DomainAndText SplitDomain(std::string_view name) {
  const size_t colon = name.find(':');
  // Names without a domain may hold colons of their own; XLA's and NCCL's domains are upper case.
  const std::string_view head = name.substr(0, colon);
  const bool is_domain = colon != name.npos && !head.empty() &&
                         std::all_of(head.begin(), head.end(),
                                     [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
  if (!is_domain) return {{}, name};
  return {head, name.substr(colon + 1)};
}

RangeTree::RangeTree(const std::vector<ProjectedRange>& ranges) : ranges_(ranges) {
  std::map<std::pair<int64_t, int64_t>, size_t> by_id;  // (pid, range id)
  kinds_.resize(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::string_view text = SplitDomain(ranges[i].name).text;
    kinds_[i] = text.starts_with("Thunk:")       ? RangeKind::kThunk
                : text.starts_with("XlaModule:") ? RangeKind::kModule
                                                 : RangeKind::kOther;
    if (ranges[i].range_id) by_id[{ranges[i].pid, *ranges[i].range_id}] = i;
  }
  parent_.assign(ranges.size(), kNoRowIndex);
  has_child_.assign(ranges.size(), false);
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].parent_id) continue;
    const auto it = by_id.find({ranges[i].pid, *ranges[i].parent_id});
    // Ids ascend from the outside in; anything else would be a circle.
    if (it == by_id.end() || *ranges[i].parent_id >= ranges[i].range_id.value_or(INT64_MIN)) {
      continue;
    }
    parent_[i] = it->second;
    has_child_[it->second] = true;
  }
}

size_t RangeTree::Around(size_t row, RangeKind kind) const {
  for (size_t at = parent_[row]; at != kNoRowIndex; at = parent_[at]) {
    if (kinds_[at] == kind) return at;
  }
  return kNoRowIndex;
}

std::vector<int64_t> RangeTree::NestedTimes() const {
  std::unordered_map<size_t, std::vector<std::pair<int64_t, int64_t>>> inside;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const ProjectedRange& range = ranges_[i];
    if (kinds_[i] != RangeKind::kThunk || !range.start_ns || !range.duration_ns) continue;
    const size_t outer = Around(i, RangeKind::kThunk);
    if (outer != kNoRowIndex) {
      inside[outer].emplace_back(*range.start_ns, *range.start_ns + *range.duration_ns);
    }
  }
  std::vector<int64_t> nested(ranges_.size(), 0);
  for (auto& [outer, intervals] : inside) {
    const ProjectedRange& range = ranges_[outer];
    if (!range.start_ns || !range.duration_ns) continue;
    std::sort(intervals.begin(), intervals.end());
    int64_t until = *range.start_ns;
    const int64_t end = *range.start_ns + *range.duration_ns;
    for (const auto& [from, to] : intervals) {
      const int64_t begin = std::max(from, until);
      const int64_t stop = std::min(to, end);
      if (stop > begin) nested[outer] += stop - begin;
      until = std::max(until, stop);
    }
  }
  return nested;
}

std::vector<int64_t> RangeTree::OwnOperations() const {
  std::vector<int64_t> own(ranges_.size(), 0);
  for (size_t i = 0; i < ranges_.size(); ++i) own[i] += ranges_[i].gpu_ops;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (kinds_[i] != RangeKind::kThunk) continue;
    const size_t outer = Around(i, RangeKind::kThunk);
    if (outer != kNoRowIndex) own[outer] -= ranges_[i].gpu_ops;
  }
  return own;
}

}  // namespace xlatrace::importers
