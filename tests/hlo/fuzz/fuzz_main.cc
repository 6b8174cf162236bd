// SPDX-License-Identifier: Apache-2.0

// libFuzzer target; XLATRACE_FUZZ_INPUT selects the reader. Run with a corpus folder: hlo_text_fuzz
// tests/hlo/fuzz/corpus/text

#include <cstddef>
#include <cstdint>

#include "tests/hlo/fuzz/inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xlatrace::hlo::RunFuzzInput(XLATRACE_FUZZ_INPUT, {reinterpret_cast<const char*>(data), size});
  return 0;
}
