// SPDX-License-Identifier: Apache-2.0

// Which host calls are kept that no activity refers to: those that a gap of a device may need.
// Others are counted by name.
//
// Thread-safety: pure.

#ifndef XLATRACE_IMPORTERS_COMMON_KEPT_CALLS_H_
#define XLATRACE_IMPORTERS_COMMON_KEPT_CALLS_H_

#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace xlatrace::importers {

// Does a call of this name wait for the device?
constexpr bool IsWait(std::string_view name) { return Has(name, "Synchronize"); }

// A wait as long as the shortest gap, or any call that is as long as a gap which is told in words:
// the first cudaMalloc or cudaFree of a process makes its context, which takes seconds.
constexpr bool MayExplainGap(bool is_wait, int64_t duration_ns) {
  return duration_ns >= (is_wait ? 1'000 : 100'000);
}

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_KEPT_CALLS_H_
