// SPDX-License-Identifier: Apache-2.0
#include "analysis/intervals.h"

#include <algorithm>
#include <cstddef>

namespace xlatrace::analysis {

void Append(Intervals& set, Interval next) {
  if (next.end_ns <= next.start_ns) return;
  if (set.empty() || next.start_ns > set.back().end_ns) {
    set.push_back(next);
  } else {
    set.back().end_ns = std::max(set.back().end_ns, next.end_ns);
  }
}

Intervals Normalise(Intervals list) {
  std::sort(list.begin(), list.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  Intervals set;
  for (const Interval& interval : list) Append(set, interval);
  return set;
}

Intervals Unite(const Intervals& a, const Intervals& b) {
  Intervals set;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool take_a = j == b.size() || (i < a.size() && a[i].start_ns <= b[j].start_ns);
    Append(set, take_a ? a[i++] : b[j++]);
  }
  return set;
}

Intervals Intersect(const Intervals& a, const Intervals& b) {
  Intervals set;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    Append(set, {std::max(a[i].start_ns, b[j].start_ns), std::min(a[i].end_ns, b[j].end_ns)});
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return set;
}

Intervals Subtract(const Intervals& a, const Intervals& b) {
  Intervals set;
  size_t j = 0;
  for (const Interval& whole : a) {
    int64_t from = whole.start_ns;
    while (j < b.size() && b[j].end_ns <= from) ++j;
    for (size_t k = j; k < b.size() && b[k].start_ns < whole.end_ns; ++k) {
      Append(set, {from, b[k].start_ns});
      from = std::max(from, b[k].end_ns);
    }
    Append(set, {from, whole.end_ns});
  }
  return set;
}

int64_t Length(const Intervals& set) {
  int64_t length = 0;
  for (const Interval& interval : set) length += interval.end_ns - interval.start_ns;
  return length;
}

int64_t Overlap(const Intervals& set, Interval with) {
  auto at = std::partition_point(set.begin(), set.end(), [&](const Interval& interval) {
    return interval.end_ns <= with.start_ns;
  });
  int64_t length = 0;
  for (; at != set.end() && at->start_ns < with.end_ns; ++at) {
    length += std::min(at->end_ns, with.end_ns) - std::max(at->start_ns, with.start_ns);
  }
  return length;
}

}  // namespace xlatrace::analysis
