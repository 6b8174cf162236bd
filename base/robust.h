// SPDX-License-Identifier: Apache-2.0

// Robust statistics: middle and spread that outliers do not change.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_BASE_ROBUST_H_
#define XLATRACE_BASE_ROBUST_H_

#include <cstddef>
#include <vector>

namespace xlatrace {

// The lower median: the smaller of the two middle values. For two values, it is the smaller one, so
// that the larger one counts as the outlier. 0 without values.
double LowerMedian(std::vector<double> values);

// The lower quartile: a quarter of all values are at most this.
double LowerQuartile(std::vector<double> values);

// Standard deviation estimated from the median absolute deviation (1.4826 x MAD, Rousseeuw and
// Croux 1993). 0 with fewer than two values.
double Spread(const std::vector<double>& values);

// The position at which the values change to a higher level, by the best split into two levels.
// Requires at least two values before it and three after it. Returns 0 if the first level is more
// than half of the second, because then all values are high. NaN is a value that is not known.
size_t RiseOf(const std::vector<double>& values);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_ROBUST_H_
