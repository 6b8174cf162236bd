// SPDX-License-Identifier: Apache-2.0
#include "tests/recording/fuzz/host_samples_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xlatrace::recording::RunHostSamplesInput(data, size);
  return 0;
}
