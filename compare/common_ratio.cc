// SPDX-License-Identifier: Apache-2.0
#include "compare/common_ratio.h"

#include <algorithm>
#include <cmath>

namespace xlatrace::compare {

std::optional<double> CommonRatio(std::vector<WeighedRatio> ratios, double near) {
  constexpr size_t kMinRatios = 8;
  constexpr double kMinWeightShare = 0.8;
  if (ratios.size() < kMinRatios) return std::nullopt;
  std::sort(ratios.begin(), ratios.end(),
            [](const WeighedRatio& a, const WeighedRatio& b) { return a.ratio < b.ratio; });
  int64_t all = 0;
  for (const WeighedRatio& one : ratios) all += one.weight;
  int64_t below = 0;
  double middle = 1;
  for (const WeighedRatio& one : ratios) {
    below += one.weight;
    if (2 * below >= all) {
      middle = one.ratio;
      break;
    }
  }
  int64_t close = 0;
  for (const WeighedRatio& one : ratios) {
    if (std::abs(one.ratio - middle) <= near * middle) close += one.weight;
  }
  if (static_cast<double>(close) < kMinWeightShare * static_cast<double>(all)) return std::nullopt;
  return middle;
}

}  // namespace xlatrace::compare
