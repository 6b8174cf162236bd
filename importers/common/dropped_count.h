// SPDX-License-Identifier: Apache-2.0

// How many events a profiler says it dropped, in words of its own: "... 1,204 events dropped
// because of buffer is full. 3 events dropped ..." (XLA), "CUDA: 512 events were lost" (Nsight
// Systems).
//
// Thread-safety: pure functions.

#ifndef XLATRACE_IMPORTERS_COMMON_DROPPED_COUNT_H_
#define XLATRACE_IMPORTERS_COMMON_DROPPED_COUNT_H_

#include <cstdint>
#include <string_view>

namespace xlatrace::importers {

// 0: the text says nothing of dropped events. Where it names no number: 1.
int64_t DroppedIn(std::string_view text);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_DROPPED_COUNT_H_
