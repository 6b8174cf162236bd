// SPDX-License-Identifier: Apache-2.0

// Texts for the causes of gaps. Findings, terminal, page and exports use the same words, so that
// one sum of idle time has one name.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_MODEL_GAP_WORDS_H_
#define XLATRACE_MODEL_GAP_WORDS_H_

#include <string_view>

#include "model/words.h"

namespace xlatrace::model {

// "the host launches too slowly". Plain words, lower case, as part of a sentence.
std::string_view InWords(GapCause cause);
// Start of the evidence of a gap whose next activity was launched before the gap began, or in time
// before it ended (analysis/gap_cause.h, rule 2). Then the host is not the cause.
inline constexpr std::string_view kLaunchedInTime = "the next work ";
// Explanation of a cause and of its difference from the other causes (the rules of
// analysis/gap_cause.h), as one sentence with its full stop.
std::string_view Meaning(GapCause cause);

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_GAP_WORDS_H_
