// SPDX-License-Identifier: Apache-2.0

// Nouns for the parts of a time tree, as sentences use them.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_REPORT_ANSWER_PART_WORDS_H_
#define XLATRACE_REPORT_ANSWER_PART_WORDS_H_

#include <string_view>

#include "report/answer/descent.h"
#include "report/sentence.h"

namespace xlatrace::report {

struct PartPhrase {
  Sentence words;  // Begins with a small letter or a name.
  bool plural = false;
};

// "compilation (`jit_step`, train.py:75)", "`dot.5` (gemm in mlp, train.py:52)",
// "matrix products of the backward pass in `layer_*/mlp`".
// `has_steps`: the run has a typical step. Otherwise its main work takes the place of the steps.
PartPhrase PhraseOf(const TimePart& part, bool has_steps);

// "Before the first step"; empty: the kind has no place of its own in the run.
std::string_view PlaceInRun(std::string_view kind, bool has_steps);

// A kind below which the device does nothing.
bool IsIdleKind(std::string_view kind);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_PART_WORDS_H_
