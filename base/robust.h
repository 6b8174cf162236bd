// SPDX-License-Identifier: Apache-2.0

// Middle and spread that a few wild values do not move.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_BASE_ROBUST_H_
#define XLATRACE_BASE_ROBUST_H_

#include <cstddef>
#include <vector>

namespace xlatrace {

// The lower one of two middles, so that of two values the smaller one is the rule and the larger
// one the exception. 0 without values.
double LowerMedian(std::vector<double> values);

// The value that a quarter of all lie at or below.
double LowerQuartile(std::vector<double> values);

// Standard deviation as the median absolute deviation tells it (1.4826 x MAD, Rousseeuw and Croux
// 1993). 0 with fewer than two values.
double Spread(const std::vector<double>& values);

// The position from which on the values are higher: where two levels explain them best, with two
// values before it and three behind. 0 where the first of two levels is more than half of the
// second: they were high all along. NaN is a value that is not known.
size_t RiseOf(const std::vector<double>& values);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_ROBUST_H_
