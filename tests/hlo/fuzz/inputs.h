// SPDX-License-Identifier: Apache-2.0

// The function of each fuzz target; the replay test runs the same functions over the
// corpus.

#ifndef XLATRACE_TESTS_HLO_FUZZ_INPUTS_H_
#define XLATRACE_TESTS_HLO_FUZZ_INPUTS_H_

#include <string_view>

namespace xlatrace::hlo {

// `input`: "text", "proto", "thunks", "dump_name", "text_proto", "reports", "wire" or "archive".
// Aborts when a reader breaks its promise.
void RunFuzzInput(std::string_view input, std::string_view bytes);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_TESTS_HLO_FUZZ_INPUTS_H_
