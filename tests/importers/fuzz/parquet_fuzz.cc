// SPDX-License-Identifier: Apache-2.0

// libFuzzer target: any bytes as the table of a capture.

#include "tests/importers/fuzz/parquet_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xlatrace::importers::RunParquetInput(data, size);
  return 0;
}
