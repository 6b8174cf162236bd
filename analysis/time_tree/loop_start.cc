// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/loop_start.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace xlatrace::analysis::time_tree {
namespace {

constexpr size_t kMaxGapsMeasured = 64;  // Clean periods whose launches are looked at.

using Sequence = std::span<const Work>;

bool Same(Sequence a, Sequence b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Work& x, const Work& y) { return x.what == y.what; });
}

uint64_t HashOf(Sequence of) {
  uint64_t hash = 14695981039346656037ull;  // FNV-1a.
  for (const Work& work : of) hash = (hash ^ work.what) * 1099511628211ull;
  return hash;
}

size_t CommonPrefix(Sequence a, Sequence b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n].what == b[n].what) ++n;
  return n;
}

size_t CommonSuffix(Sequence a, Sequence b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n].what == b[b.size() - 1 - n].what) {
    ++n;
  }
  return n;
}

// The complete periods, and the sequence that most of them have.
struct Periods {
  std::vector<Sequence> all;
  Sequence usual;  // Empty: no two are equal.
};

Periods SplitInto(const std::vector<Work>& works, const std::vector<size_t>& at) {
  Periods periods;
  std::unordered_map<uint64_t, size_t> count;
  size_t most = 1;
  for (size_t p = 0; p + 1 < at.size(); ++p) {
    const Sequence sequence = Sequence(works).subspan(at[p], at[p + 1] - at[p]);
    periods.all.push_back(sequence);
    const size_t n = ++count[HashOf(sequence)];
    if (n <= most) continue;
    most = n;
    periods.usual = sequence;
  }
  return periods;
}

// The position in the usual sequence at which other work is inserted, where all agree. A range is
// left if the other work begins like the step; then the first position.
size_t WhereOtherWorkLies(const Periods& periods) {
  const size_t length = periods.usual.size();
  std::vector<size_t> votes(length + 1, 0);
  for (const Sequence& period : periods.all) {
    if (period.size() <= length) continue;
    const size_t prefix = CommonPrefix(period, periods.usual);
    const size_t suffix = CommonSuffix(period, periods.usual);
    if (prefix + suffix < length) continue;
    for (size_t at = length - std::min(suffix, length); at <= prefix; ++at) ++votes[at];
  }
  const auto best = std::max_element(votes.begin(), votes.end());
  return *best == 0 ? SIZE_MAX : static_cast<size_t>(best - votes.begin());
}

size_t WhereTheHostTakesLongest(const std::vector<Work>& works, const Periods& periods) {
  const size_t length = periods.usual.size();
  size_t longest_at = 0;
  int64_t longest = -1;
  std::vector<int64_t> gaps;
  for (size_t at = 0; at < length; ++at) {
    if (periods.usual[at].copy) continue;
    gaps.clear();
    for (const Sequence& period : periods.all) {
      const Work* work = period.data() + at;
      if (!Same(period, periods.usual) || work == works.data()) continue;
      gaps.push_back(work->has_call ? work->called_ns - (work - 1)->called_ns
                                    : work->start_ns - (work - 1)->end_ns);
      if (gaps.size() == kMaxGapsMeasured) break;
    }
    if (gaps.empty()) continue;
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    if (*middle <= longest) continue;
    longest = *middle;
    longest_at = at;
  }
  return longest_at;
}

}  // namespace

std::vector<size_t> MovedToStart(const std::vector<Work>& works, std::vector<size_t> periods) {
  const Periods split = SplitInto(works, periods);
  const size_t length = split.usual.size();
  if (length < 2) return periods;
  size_t at = WhereOtherWorkLies(split);
  if (at == SIZE_MAX) at = WhereTheHostTakesLongest(works, split);
  while (at < length && split.usual[at].copy) ++at;
  if (at == 0 || at >= length) return periods;
  const Sequence head = split.usual.subspan(at);  // From the start of a step to its anchor.
  for (size_t p = periods.size(); p > 0; --p) {
    const size_t anchor = periods[p - 1];
    const size_t begin = p > 1 ? periods[p - 2] + 1 : 0;
    const Sequence before = Sequence(works).subspan(begin, anchor - begin);
    const size_t same = CommonSuffix(before, head);
    if (same == head.size()) {
      periods[p - 1] = anchor - head.size();
      continue;
    }
    // Not as usual: the last work like the first of a step, if there is any.
    for (size_t k = before.size(); k > 0; --k) {
      if (before[k - 1].what != head[0].what) continue;
      periods[p - 1] = begin + k - 1;
      break;
    }
  }
  return periods;
}

size_t WorksOfCutBegin(const std::vector<Work>& works, const std::vector<size_t>& periods) {
  const Sequence usual = SplitInto(works, periods).usual;
  if (usual.empty()) return 0;
  const Sequence before = Sequence(works).first(periods[0]);
  for (size_t n = std::min(before.size(), usual.size() - 1); n > 0; --n) {
    if (Same(before.first(n), usual.last(n))) return n;
  }
  return 0;
}

std::vector<size_t> WithCutEnd(const std::vector<Work>& works, std::vector<size_t> periods) {
  const Sequence usual = SplitInto(works, periods).usual;
  if (usual.empty()) return periods;
  const Sequence last = Sequence(works).subspan(periods.back());
  for (size_t at = usual.size(); at < last.size(); ++at) {
    const Sequence rest = last.subspan(at);
    if (rest.size() > usual.size() || CommonPrefix(rest, usual) < rest.size()) continue;
    const bool computes =
        std::any_of(rest.begin(), rest.end(), [](const Work& work) { return !work.copy; });
    if (computes) periods.push_back(periods.back() + at);
    break;
  }
  return periods;
}

}  // namespace xlatrace::analysis::time_tree
