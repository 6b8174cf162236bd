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

// Does a call of this name block its thread: does it wait, allocate or release memory, or load
// code?
constexpr bool MayBlock(std::string_view name) {
  return IsWait(name) ||
         HasAny(name, {"Malloc", "Alloc", "Free", "Register", "Load", "Instantiate", "nvrtc"});
}

// A call that blocks and is as long as the shortest gap, or any call of 100 us.
constexpr bool MayExplainGap(bool may_block, int64_t duration_ns) {
  return duration_ns >= (may_block ? 1'000 : 100'000);
}

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_KEPT_CALLS_H_
