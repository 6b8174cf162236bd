// SPDX-License-Identifier: Apache-2.0

// What the host did in a gap, or what is known of it, in a few words: the innermost range that
// covers most of it, where between the ranges within, and the calls that took long.
//
// Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_GAP_WORDS_H_
#define XLATRACE_ANALYSIS_GAP_WORDS_H_

#include <string>

#include "analysis/gap_host.h"
#include "model/derived.h"

namespace xlatrace::analysis {

// Of a gap whose cause is judged: "step: 199 us between a and b (cudaMemcpyAsync 80 us)". Empty:
// nothing is known.
std::string WordsOfGap(const GapHost& host, const model::GapRow& gap);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GAP_WORDS_H_
