// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/step_spans.h"

#include <algorithm>
#include <numeric>

namespace xlatrace::analysis::time_tree {
namespace {

// One period: which of its works are the step's, and up to which.
struct Own {
  std::vector<bool> is_own;  // By position in the period.
  size_t until = 0;          // First position of work between steps; the length of the period if
                             // there is no such work.
};

// Positions of own work, counted from the front.
Own OwnWork(const std::vector<Work>& works, size_t begin, size_t end, const Pattern& pattern,
            std::vector<uint32_t>& runs) {
  const size_t length = end - begin;
  Own own{std::vector<bool>(length, false), length};
  for (size_t k = 0; k < length; ++k) {
    const uint32_t what = works[begin + k].what;
    own.is_own[k] = ++runs[what] <= pattern.usual[what];
  }
  for (size_t i = begin; i < end; ++i) runs[works[i].what] = 0;
  int64_t own_after = 0;
  int64_t others_after = 0;
  for (size_t k = length; k > 0; --k) {
    const Work& work = works[begin + k - 1];
    if (own.is_own[k - 1]) {
      own_after += work.copy ? 0 : work.device_ns;
      continue;
    }
    others_after += work.device_ns;
    if (own_after < others_after || own_after == 0) own.until = k - 1;
  }
  return own;
}

int64_t LastEnd(const std::vector<Work>& works, size_t begin, const Own& own, int64_t least) {
  int64_t end = least;
  for (size_t k = 0; k < own.until; ++k) {
    if (own.is_own[k]) end = std::max(end, works[begin + k].end_ns);
  }
  return end;
}

size_t WindowAt(const Intervals& windows, int64_t time_ns) {
  const auto after = std::partition_point(windows.begin(), windows.end(),
                                          [&](const Interval& w) { return w.start_ns <= time_ns; });
  return static_cast<size_t>(after - windows.begin());
}

// A span during the search.
struct Open {
  StepSpan span;
  int64_t own_end_ns = 0;
  bool others_follow = false;
};

// The end of a step whose beginning the recording cuts: the first `count` works, of `before` works
// before the first period.
void AddCutBegin(const std::vector<Work>& works, size_t count, size_t before,
                 std::vector<Open>& open) {
  if (count == 0 || open.empty()) return;
  const int64_t next = open[0].span.start_ns;
  Open cut;
  cut.span.number = open[0].span.number - 1;
  cut.span.start_ns = INT64_MAX;
  cut.own_end_ns = count == before ? next : INT64_MIN;
  cut.others_follow = count < before;
  bool computes = false;
  for (size_t i = 0; i < count; ++i) {
    cut.span.start_ns = std::min(cut.span.start_ns, works[i].start_ns);
    cut.own_end_ns = std::max(cut.own_end_ns, works[i].end_ns);
    computes |= !works[i].copy;
  }
  if (computes && cut.span.start_ns < next) open.insert(open.begin(), cut);
}

}  // namespace

std::vector<StepSpan> SpansOf(const std::vector<Work>& works, const std::vector<size_t>& periods,
                              const Pattern& pattern, const std::vector<int64_t>& numbers,
                              const Intervals& windows, size_t cut_begin_works) {
  std::vector<uint32_t> runs(pattern.usual.size(), 0);
  std::vector<Open> open;
  for (size_t p = 0; p < periods.size(); ++p) {
    const size_t begin = periods[p];
    const size_t end = p + 1 < periods.size() ? periods[p + 1] : works.size();
    const Own own = OwnWork(works, begin, end, pattern, runs);
    const Work* first = nullptr;
    const Work* first_own = nullptr;
    for (size_t k = 0; k < end - begin && first == nullptr; ++k) {
      const Work& work = works[begin + k];
      if (!own.is_own[k] || work.copy) continue;
      if (first_own == nullptr) first_own = &work;
      if (pattern.in_every[work.what]) first = &work;
    }
    if (first == nullptr) first = first_own;
    if (first == nullptr) continue;  // A mark without work on this device.
    Open step;
    step.span.number = numbers[p];
    step.span.start_ns = first->start_ns;
    step.own_end_ns = LastEnd(works, begin, own, first->end_ns);
    step.others_follow = own.until < end - begin;
    // Launched later, but started earlier: streams of different priority. Steps do not overlap.
    if (!open.empty()) {
      step.span.start_ns = std::max(step.span.start_ns, open.back().span.start_ns + 1);
    }
    open.push_back(step);
  }
  const size_t before = open.size();
  if (!periods.empty()) AddCutBegin(works, cut_begin_works, periods[0], open);
  const bool begins_cut = open.size() > before;
  std::vector<StepSpan> spans;
  for (size_t s = 0; s < open.size(); ++s) {
    StepSpan span = open[s].span;
    const int64_t next = s + 1 < open.size() ? open[s + 1].span.start_ns : INT64_MAX;
    const size_t window = WindowAt(windows, span.start_ns);
    const bool same_window = next != INT64_MAX && WindowAt(windows, next) == window;
    span.has_duration = same_window && !open[s].others_follow;
    if (span.has_duration) {
      span.end_ns = next;
    } else {
      span.end_ns = std::min(next, open[s].own_end_ns);
      if (window > 0) span.end_ns = std::min(span.end_ns, windows[window - 1].end_ns);
    }
    if (begins_cut && s == 0) span.has_duration = false;
    span.end_ns = std::max(span.end_ns, span.start_ns);
    spans.push_back(span);
  }
  return spans;
}

int64_t Quartile(const std::vector<int64_t>& sorted, int quarter) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<int64_t>(sorted.size() - 1) * quarter;  // In quarters.
  const auto at = static_cast<size_t>(rank / 4);
  if (rank % 4 == 0) return sorted[at];
  return sorted[at] + (sorted[at + 1] - sorted[at]) * (rank % 4) / 4;
}

StepFigures FiguresOf(const std::vector<std::vector<StepSpan>>& devices) {
  struct Sum {
    int64_t ns = 0;
    int64_t devices = 0;
    bool steady = true;
  };
  std::map<int64_t, Sum> of_number;
  for (const std::vector<StepSpan>& spans : devices) {
    for (const StepSpan& span : spans) {
      Sum& sum = of_number[span.number];
      sum.ns += span.end_ns - span.start_ns;
      ++sum.devices;
      sum.steady = sum.steady && span.steady;
    }
  }
  std::vector<std::pair<int64_t, int64_t>> by_duration;  // Mean over devices, number.
  StepFigures figures;
  for (const auto& [number, sum] : of_number) {
    if (!sum.steady) continue;
    figures.steady.push_back(number);
    by_duration.emplace_back(sum.ns / sum.devices, number);
  }
  std::sort(by_duration.begin(), by_duration.end());
  std::vector<int64_t> durations;
  for (const auto& [ns, number] : by_duration) durations.push_back(ns);
  figures.p25_ns = Quartile(durations, 1);
  figures.p75_ns = Quartile(durations, 3);
  const size_t drop = durations.size() / 4;
  int64_t sum = 0;
  for (size_t k = drop; k + drop < by_duration.size(); ++k) {
    sum += by_duration[k].first;
    figures.kept.push_back(by_duration[k].second);
  }
  std::sort(figures.kept.begin(), figures.kept.end());
  if (!figures.kept.empty()) figures.typical_ns = sum / static_cast<int64_t>(figures.kept.size());
  const int64_t limit = figures.p75_ns + 3 * (figures.p75_ns - figures.p25_ns);
  for (const auto& [ns, number] : by_duration) {
    if (ns > limit) figures.paused.push_back(number);
  }
  std::sort(figures.paused.begin(), figures.paused.end());
  return figures;
}

}  // namespace xlatrace::analysis::time_tree
