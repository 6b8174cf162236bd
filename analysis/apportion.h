// SPDX-License-Identifier: Apache-2.0

// Splits a whole number in proportion to weights so that the parts sum to the number
// (largest-remainder rounding).

#ifndef XLATRACE_ANALYSIS_APPORTION_H_
#define XLATRACE_ANALYSIS_APPORTION_H_

#include <cstdint>
#include <span>

namespace xlatrace::analysis {

// parts[i] = total * weights[i] / sum(weights), rounded down. The remaining units go one by one to
// the largest remainders (the first of equal ones), so sum(parts) == total always. If all weights
// are 0, the first part gets everything (estimates: correlator/fusion_shares.h). Weights and total
// are not negative; sizes are equal, at least 1. Products are computed in 128 bits.
void Apportion(int64_t total, std::span<const int64_t> weights, std::span<int64_t> parts);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_APPORTION_H_
