// SPDX-License-Identifier: Apache-2.0

// The gate for printed shares: no part is larger than its whole, none is negative or not a number.
//
// Thread-safety: thread-safe.

#ifndef XLATRACE_BASE_SHARE_TEXT_H_
#define XLATRACE_BASE_SHARE_TEXT_H_

#include <cstdint>
#include <string>

namespace xlatrace {

// A share in percent, as Percent() has it: "40.8". If the figures contradict each other, "-", and
// the share is counted.
std::string ShareText(double part, double whole);

// Shares of this process that were printed as "-". Tests expect 0.
int64_t ImpossibleShares();

}  // namespace xlatrace

#endif  // XLATRACE_BASE_SHARE_TEXT_H_
