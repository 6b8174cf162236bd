// SPDX-License-Identifier: Apache-2.0

// Noun phrases for the parts of a time tree, for use in sentences.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_REPORT_ANSWER_PART_WORDS_H_
#define XLATRACE_REPORT_ANSWER_PART_WORDS_H_

#include <string_view>

#include "report/answer/descent.h"
#include "report/sentence.h"

namespace xlatrace::report {

struct PartPhrase {
  Sentence words;  // Begins with a lower-case letter or a name.
  bool plural = false;
};

// For example "compilation (`jit_step`, train.py:75)", "`dot.5` (gemm in mlp, train.py:52)" or
// "matrix products of the backward pass in `layer_*/mlp`". `has_steps`: the run has a typical step.
// Otherwise the main work of the run is used instead of steps.
PartPhrase PhraseOf(const TimePart& part, bool has_steps);

// For example "Before the first step". Empty for kinds without a fixed position in the run.
std::string_view PlaceInRun(std::string_view kind, bool has_steps);

// A kind below which the device does nothing.
bool IsIdleKind(std::string_view kind);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_PART_WORDS_H_
