// SPDX-License-Identifier: Apache-2.0
#include "base/robust.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace xlatrace {

namespace {

// The value at the index `part` of the sorted values.
double At(std::vector<double> values, size_t part) {
  if (values.empty()) return 0;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / part);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

double LowerMedian(std::vector<double> values) { return At(std::move(values), 2); }

double LowerQuartile(std::vector<double> values) { return At(std::move(values), 4); }

double Spread(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = LowerMedian(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return 1.4826 * LowerMedian(std::move(distances));
}

size_t RiseOf(const std::vector<double>& values) {
  const size_t n = values.size();
  std::vector<double> sums(n + 1, 0), counts(n + 1, 0);
  for (size_t i = 0; i < n; ++i) {
    const bool known = !std::isnan(values[i]);
    sums[i + 1] = sums[i] + (known ? values[i] : 0);
    counts[i + 1] = counts[i] + (known ? 1 : 0);
  }
  const auto mean = [&](size_t from, size_t to) {
    const double count = counts[to] - counts[from];
    return count == 0 ? 0 : (sums[to] - sums[from]) / count;
  };
  size_t rise = 0;
  double gain = 0;
  for (size_t i = 2; i + 3 <= n; ++i) {
    const double before = mean(0, i);
    const double after = mean(i, n);
    const double apart = (after - before) * std::abs(after - before) * static_cast<double>(i) *
                         static_cast<double>(n - i);
    if (apart <= gain || before > 0.5 * after) continue;
    gain = apart;
    rise = i;
  }
  return rise;
}

}  // namespace xlatrace
