// Middle and spread that a few wild values do not move.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_FLEET_ROBUST_H_
#define XLATRACE_FLEET_ROBUST_H_

#include <vector>

namespace xlatrace::fleet {

// The lower one of two middles, so that of two values the smaller one is the rule and the larger
// one the exception. 0 without values.
double LowerMedian(std::vector<double> values);

// The value that a quarter of all lie at or below.
double LowerQuartile(std::vector<double> values);

// Standard deviation as the median absolute deviation tells it (1.4826 x MAD, Rousseeuw and Croux
// 1993). 0 with fewer than two values.
double Spread(const std::vector<double>& values);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_ROBUST_H_
