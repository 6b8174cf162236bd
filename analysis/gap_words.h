// SPDX-License-Identifier: Apache-2.0

// Describes the host's activity in a gap in a few words. The parts are the innermost range over
// most of the gap, the place between the ranges inside it, and long calls.
//
// Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_GAP_WORDS_H_
#define XLATRACE_ANALYSIS_GAP_WORDS_H_

#include <string>
#include <string_view>

#include "analysis/gap_host.h"
#include "model/derived.h"

namespace xlatrace::analysis {

// The printed text of a range or call: without folder and version, and cut to 48 characters.
std::string ShortHostName(std::string_view name);

// Example: "step: 199 us between a and b (cudaMemcpyAsync 80 us)". Empty if nothing is recorded.
// The gap must already have its cause.
std::string WordsOfGap(const GapHost& host, const model::GapRow& gap);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GAP_WORDS_H_
