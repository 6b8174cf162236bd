// SPDX-License-Identifier: Apache-2.0

// The nesting of a capture's projected ranges: the kind of each range, and its enclosing ranges.
//
// Thread-safety: const after construction.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_RANGE_TREE_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_RANGE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "importers/nsys_jax/projected_trace.h"

namespace xlatrace::importers {

// "TSL:Thunk:#..." -> {"TSL", "Thunk:#..."}.
struct DomainAndText {
  std::string_view domain;
  std::string_view text;
};
DomainAndText SplitDomain(std::string_view name);

enum class RangeKind : uint8_t { kOther, kThunk, kModule };

inline constexpr size_t kNoRowIndex = SIZE_MAX;

class RangeTree {
 public:
  // `ranges` must outlive this object. Rows are indices of `ranges`.
  explicit RangeTree(const std::vector<ProjectedRange>& ranges);

  RangeKind KindOf(size_t row) const { return kinds_[row]; }
  bool HasChild(size_t row) const { return has_child_[row]; }
  // The innermost enclosing range of that kind; kNoRowIndex: none.
  size_t Around(size_t row, RangeKind kind) const;
  // Time per thunk that nested thunks take: the union of their intervals, cut to the thunk's
  // interval.
  std::vector<int64_t> NestedTimes() const;
  // GPU operations per thunk that no nested thunk launched. A loop often has none.
  std::vector<int64_t> OwnOperations() const;

 private:
  const std::vector<ProjectedRange>& ranges_;
  std::vector<RangeKind> kinds_;
  std::vector<size_t> parent_;
  std::vector<bool> has_child_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_RANGE_TREE_H_
