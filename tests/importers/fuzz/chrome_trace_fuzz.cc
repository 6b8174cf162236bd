// SPDX-License-Identifier: Apache-2.0
#include "tests/importers/fuzz/chrome_trace_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xlatrace::importers::RunChromeTraceInput(data, size);
  return 0;
}
