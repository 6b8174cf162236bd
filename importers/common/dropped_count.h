// SPDX-License-Identifier: Apache-2.0

// Messages of profilers: how many events they report as dropped, and whether they are about device
// work. Examples are "... 1,204 events dropped because of buffer is full. 3 events dropped ..." of
// XLA and "CUDA: 512 events were lost" of Nsight Systems. "Not all CUDA events might have been
// collected" reports nothing as dropped.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_IMPORTERS_COMMON_DROPPED_COUNT_H_
#define XLATRACE_IMPORTERS_COMMON_DROPPED_COUNT_H_

#include <cstdint>
#include <string_view>

namespace xlatrace::importers {

// Number of dropped events that the text reports; 1 if the text has no number. 0: the text reports
// none.
int64_t DroppedIn(std::string_view text);

// True if the message is about NVTX, OS calls, CPU samples and similar, and does not name CUDA
// before them.
bool IsAboutOtherSource(std::string_view text);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_DROPPED_COUNT_H_
