// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/loop_start.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace xlatrace::analysis::time_tree {
namespace {

constexpr size_t kMaxGapsMeasured = 64;  // Clean periods whose launches are examined.

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
struct PeriodParts {
  std::vector<Sequence> all;
  Sequence usual;  // Empty: no two are equal.
};

PeriodParts SplitInto(const std::vector<Work>& works, const std::vector<size_t>& at) {
  PeriodParts periods;
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
size_t WhereOtherWorkLies(const PeriodParts& periods) {
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

// The position of the first work of the recording, if the works before the first period are the
// last ones of the usual sequence.
size_t FirstRecorded(const std::vector<Work>& works, const PeriodParts& periods) {
  const auto before = static_cast<size_t>(periods.all.front().data() - works.data());
  const size_t length = periods.usual.size();
  const bool fits = before < length &&
                    Same(Sequence(works).first(before), periods.usual.subspan(length - before));
  return fits && before > 0 ? length - before : 0;
}

// How long the host took before a work, over the usual periods.
struct HostTime {
  size_t at = 0;  // Position of the work in the usual sequence.
  int64_t median_ns = -1;
  int64_t p75_ns = -1;
};

// Without calls the idle time of the device stands for that of the host.
HostTime HostTimeBefore(size_t at, const std::vector<Work>& works, const PeriodParts& periods) {
  std::vector<int64_t> gaps;
  for (const Sequence& period : periods.all) {
    const Work* work = period.data() + at;
    if (!Same(period, periods.usual) || work == works.data()) continue;
    const bool called = work->has_call && (work - 1)->has_call;
    gaps.push_back(called ? work->called_ns - (work - 1)->launched_ns
                          : work->start_ns - (work - 1)->end_ns);
    if (gaps.size() == kMaxGapsMeasured) break;
  }
  if (gaps.empty()) return {at, -1, -1};
  std::sort(gaps.begin(), gaps.end());
  return {at, gaps[gaps.size() / 2], gaps[3 * gaps.size() / 4]};
}

// The recording starts with a step unless the host takes longer elsewhere.
HostTime WhereTheHostTakesLongest(const std::vector<Work>& works, const PeriodParts& periods) {
  HostTime longest;
  for (size_t at = 0; at < periods.usual.size(); ++at) {
    if (periods.usual[at].copy) continue;
    const HostTime time = HostTimeBefore(at, works, periods);
    if (time.median_ns > longest.median_ns) longest = time;
  }
  const HostTime first = HostTimeBefore(FirstRecorded(works, periods), works, periods);
  return longest.median_ns <= first.p75_ns ? first : longest;
}

// The work at this position of the usual sequence, or the first one behind it that is no copy.
std::optional<StepStart> StartAt(Sequence usual, size_t at) {
  while (at < usual.size() && usual[at].copy) ++at;
  if (at == 0 || at >= usual.size()) return std::nullopt;
  StepStart start{usual[at].what, 0};
  for (size_t k = at + 1; k < usual.size(); ++k) start.same_after += usual[k].what == start.what;
  return start;
}

// 0: none.
size_t PositionOf(Sequence usual, const StepStart& start) {
  size_t after = 0;
  for (size_t k = usual.size(); k > 1; --k) {
    if (usual[k - 1].what == start.what && after++ == start.same_after) return k - 1;
  }
  return 0;
}

}  // namespace

std::optional<StepStart> StepStartOf(const std::vector<std::vector<Work>>& devices,
                                     const std::vector<std::vector<size_t>>& periods) {
  std::optional<StepStart> start;
  int64_t longest_ns = -1;
  for (size_t d = 0; d < devices.size(); ++d) {
    const PeriodParts split = SplitInto(devices[d], periods[d]);
    if (split.usual.size() < 2) continue;
    if (const size_t at = WhereOtherWorkLies(split); at != SIZE_MAX) {
      return StartAt(split.usual, at);
    }
    const HostTime host = WhereTheHostTakesLongest(devices[d], split);
    if (host.median_ns <= longest_ns) continue;
    longest_ns = host.median_ns;
    start = StartAt(split.usual, host.at);
  }
  return start;
}

std::vector<size_t> MovedToStart(const std::vector<Work>& works, std::vector<size_t> periods,
                                 const StepStart& start) {
  const PeriodParts split = SplitInto(works, periods);
  const size_t at = PositionOf(split.usual, start);
  if (at == 0) return periods;
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
    size_t k = before.size();
    while (k > 0 && before[k - 1].what != head[0].what) --k;
    if (k > 0) periods[p - 1] = begin + k - 1;
    // The recording begins after the first work of the step (WorksOfCutBegin).
    if (k == 0 && p == 1 && same == before.size() && periods.size() > 1) {
      periods.erase(periods.begin());
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
