// SPDX-License-Identifier: Apache-2.0

// Sets of instants as sorted, disjoint, half-open intervals of integer nanoseconds.
//
// Every function takes and returns normalised sets: ascending, non-empty, neither overlapping nor
// touching. Linear time. Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_INTERVALS_H_
#define XLATRACE_ANALYSIS_INTERVALS_H_

#include <cstdint>
#include <vector>

namespace xlatrace::analysis {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // Exclusive.

  bool operator==(const Interval&) const = default;
};

using Intervals = std::vector<Interval>;

// Normalises any list: the result covers the same instants. Empty and reversed intervals cover
// nothing.
Intervals Normalise(Intervals list);

// Adds an interval that starts at or after the start of the last interval of the set.
void Append(Intervals& set, Interval next);

Intervals Unite(const Intervals& a, const Intervals& b);
Intervals Intersect(const Intervals& a, const Intervals& b);
Intervals Subtract(const Intervals& a, const Intervals& b);  // In a, not in b.

int64_t Length(const Intervals& set);

// Length of the covered part of one interval. Cost: logarithmic, plus the number of overlapping
// intervals.
int64_t Overlap(const Intervals& set, Interval with);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_INTERVALS_H_
