// SPDX-License-Identifier: Apache-2.0

// The factor that most ratios share: everything ran twice as often, or takes 1.2x as long.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_COMMON_RATIO_H_
#define XLATRACE_COMPARE_COMMON_RATIO_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace xlatrace::compare {

struct WeighedRatio {
  double ratio = 1;
  int64_t weight = 0;
};

// The weighted median of at least 8 ratios, if those within `near` of it (relative) have at least
// 80 % of the weight. Otherwise nullopt: there is no common factor.
std::optional<double> CommonRatio(std::vector<WeighedRatio> ratios, double near);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_COMMON_RATIO_H_
