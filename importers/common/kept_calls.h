// SPDX-License-Identifier: Apache-2.0

// Decides which host calls are kept without an activity: those that may explain a gap of a device.
// Other calls are counted by name.
//
// Thread-safety: pure.

#ifndef XLATRACE_IMPORTERS_COMMON_KEPT_CALLS_H_
#define XLATRACE_IMPORTERS_COMMON_KEPT_CALLS_H_

#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace xlatrace::importers {

// True if a call of this name waits for the device.
constexpr bool IsWait(std::string_view name) { return Has(name, "Synchronize"); }

// True if a call of this name blocks its thread: it waits, allocates or releases memory, or loads
// code.
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
