// SPDX-License-Identifier: Apache-2.0

// What people read for the cause of a gap: one wording for findings, terminal, page and exports, so
// that one sum of idle time has one name wherever it stands.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_MODEL_GAP_WORDS_H_
#define XLATRACE_MODEL_GAP_WORDS_H_

#include <string_view>

#include "model/words.h"

namespace xlatrace::model {

// "the host launches too slowly". Plain words, lower case, as part of a sentence.
std::string_view InWords(GapCause cause);
// How the evidence of a gap begins before whose end, or begin, the host had launched what follows
// (analysis/gap_cause.h, rule 2): the host is not why the device was idle.
inline constexpr std::string_view kLaunchedInTime = "what follows ";
// What that means, and what tells it from the other causes, as one sentence with its full stop: the
// rules of analysis/gap_cause.h in plain words.
std::string_view Meaning(GapCause cause);

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_GAP_WORDS_H_
