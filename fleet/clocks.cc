// SPDX-License-Identifier: Apache-2.0
#include "fleet/clocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/robust.h"

namespace xlatrace::fleet {
namespace {

constexpr size_t kMinEnds = 3;       // Minimum number of common ends.
constexpr size_t kMinDriftEnds = 8;  // With fewer ends, a slope only reflects the jitter of single
                                     // ends.
constexpr size_t kLagCount = 16;     // Number of distances between ends for which slopes are
                                     // computed.
constexpr double kMinEndsErrorFactor = 10;  // Widens the error of few ends: eleven times for a line
                                            // through three ends.
constexpr double kErrorFactor = 3;  // Spreads divided by the square root of the number of ends; a
                                    // median has 1.25.

// `to` = `from` + offset + drift x (from - origin).
struct Line {
  double offset = 0;
  double drift = 0;
  double origin = 0;
  double error = 0;
  size_t ends = 0;
};

struct Pair {
  int64_t from = 0, to = 0;
};

Line Fit(std::vector<Pair> ends) {
  std::sort(ends.begin(), ends.end(), [](const Pair& a, const Pair& b) { return a.from < b.from; });
  Line line;
  line.ends = ends.size();
  const int64_t origin = ends[ends.size() / 2].from;
  line.origin = static_cast<double>(origin);
  // A double cannot hold epoch times in nanoseconds, but it can hold their differences.
  const int64_t base = ends.front().to - ends.front().from;
  std::vector<double> x, y;
  for (const Pair& end : ends) {
    x.push_back(static_cast<double>(end.from - origin));
    y.push_back(static_cast<double>(end.to - end.from - base));
  }
  double drift_error = 0;  // In ns per ns.
  if (ends.size() >= kMinDriftEnds) {
    std::vector<double> slopes;
    const size_t least = ends.size() / 3;
    const size_t lags = std::min(kLagCount, ends.size() - 2 * least);
    for (size_t lag = 0; lag < lags; ++lag) {
      const size_t apart = least + (ends.size() - 2 * least) * lag / lags;
      for (size_t i = 0; i + apart < ends.size(); ++i) {
        if (x[i + apart] > x[i]) slopes.push_back((y[i + apart] - y[i]) / (x[i + apart] - x[i]));
      }
    }
    drift_error = kErrorFactor * Spread(slopes) / std::sqrt(0.5 * static_cast<double>(ends.size()));
    line.drift = LowerMedian(std::move(slopes));
  }
  for (size_t i = 0; i < y.size(); ++i) y[i] -= line.drift * x[i];
  const double offset = LowerMedian(y);
  line.offset = offset + static_cast<double>(base);
  // The scatter of single ends around the line. The error of the line itself is smaller by the
  // square root of their number. A common error of all ends (a rank that always leaves last) is not
  // visible in the scatter, so at least two spreads are used. Away from the middle, the error of
  // the drift is added; it alone covers distant ends. A few ends may agree by chance, and the
  // luckiest of many pairs of clocks would be chosen.
  const double few = 1 + kMinEndsErrorFactor / static_cast<double>(y.size() - 2);
  if (y.size() < kMinDriftEnds) {
    double largest = 0;
    for (const double left : y) largest = std::max(largest, std::abs(left - offset));
    line.error = 2 * few * largest + 1;
  } else {
    const double reach = std::max(-x.front(), x.back());
    line.error =
        few * (Spread(y) * std::max(2.0, kErrorFactor / std::sqrt(static_cast<double>(y.size()))) +
               drift_error * reach) +
        1;
  }
  return line;
}

// Fits pairs of clocks that share collectives: each clock with the first clock of the collective.
// The first clock is fixed, so that ends of one group count for the same pair.
std::map<std::pair<uint32_t, uint32_t>, Line> FitPairs(size_t clocks,
                                                       std::vector<CollectiveEnd> ends) {
  std::sort(ends.begin(), ends.end(), [](const CollectiveEnd& a, const CollectiveEnd& b) {
    return std::tie(a.collective, a.clock, a.end_ns) < std::tie(b.collective, b.clock, b.end_ns);
  });
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Pair>> common;
  for (size_t i = 0; i < ends.size();) {
    size_t last = i;
    std::vector<CollectiveEnd> of_clock;
    for (; last < ends.size() && ends[last].collective == ends[i].collective; ++last) {
      if (ends[last].clock >= clocks) continue;
      if (!of_clock.empty() && of_clock.back().clock == ends[last].clock) of_clock.pop_back();
      of_clock.push_back(ends[last]);
    }
    for (size_t k = 1; k < of_clock.size(); ++k) {
      common[{of_clock[0].clock, of_clock[k].clock}].push_back(
          {of_clock[k].end_ns, of_clock[0].end_ns});
    }
    i = last;
  }
  std::map<std::pair<uint32_t, uint32_t>, Line> lines;
  for (auto& [pair, seen] : common) {
    if (seen.size() >= kMinEnds) lines[pair] = Fit(std::move(seen));
  }
  return lines;
}

// The inverse line. Drifts are parts per million, so their square is negligible.
Line Inverse(const Line& line) {
  return {.offset = -line.offset,
          .drift = -line.drift,
          .origin = line.origin + line.offset,
          .error = line.error,
          .ends = line.ends};
}

// Applies `inner`, then `outer`.
Line Chain(const Line& inner, const Line& outer) {
  const double at = inner.origin + inner.offset;
  return {.offset = inner.offset + outer.offset + outer.drift * (at - outer.origin),
          .drift = inner.drift + outer.drift,
          .origin = inner.origin,
          .error = inner.error + outer.error,
          .ends = inner.ends};
}

}  // namespace

ClockFits FitClocks(size_t clocks, std::vector<CollectiveEnd> ends) {
  const auto lines = FitPairs(clocks, std::move(ends));
  // Line from a neighbour to the clock itself.
  std::vector<std::vector<std::pair<uint32_t, Line>>> neighbours(clocks);
  for (const auto& [pair, line] : lines) {
    neighbours[pair.first].emplace_back(pair.second, line);
    neighbours[pair.second].emplace_back(pair.first, Inverse(line));
  }
  ClockFits fits;
  fits.clocks.resize(clocks);
  std::vector<Line> to_first(clocks);
  std::vector<bool> done(clocks, false);
  std::vector<double> best(clocks, std::numeric_limits<double>::infinity());
  for (uint32_t first = 0; first < clocks; ++first) {
    if (done[first]) continue;
    using Entry = std::pair<double, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    best[first] = 0;
    queue.emplace(0, first);
    while (!queue.empty()) {
      const uint32_t clock = queue.top().second;
      queue.pop();
      if (done[clock]) continue;
      done[clock] = true;
      const Line& line = to_first[clock];
      fits.clocks[clock] = {.set = fits.sets,
                            .offset_ns = std::llround(line.offset),
                            .drift_ppb = std::llround(line.drift * 1e9),
                            .origin_ns = std::llround(line.origin),
                            .error_ns = std::llround(std::ceil(line.error)),
                            .ends = line.ends};
      for (const auto& [other, step] : neighbours[clock]) {
        const Line chained = Chain(step, line);
        if (done[other] || chained.error >= best[other]) continue;
        best[other] = chained.error;
        to_first[other] = chained;
        queue.emplace(chained.error, other);
      }
    }
    ++fits.sets;
  }
  return fits;
}

int64_t ToCommon(const ClockFit& fit, int64_t local_ns) {
  const double drift = static_cast<double>(fit.drift_ppb) * 1e-9;
  return local_ns + fit.offset_ns +
         std::llround(drift * static_cast<double>(local_ns - fit.origin_ns));
}

}  // namespace xlatrace::fleet
