// SPDX-License-Identifier: Apache-2.0

// libFuzzer target: any bytes as an Nsight Systems export.

#include "tests/importers/fuzz/nsys_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xlatrace::importers::RunNsysInput(data, size);
  return 0;
}
