// SPDX-License-Identifier: Apache-2.0

// Any bytes as the table of projected ranges of a capture, Parquet or CSV.

#ifndef XLATRACE_TESTS_IMPORTERS_FUZZ_PARQUET_INPUT_H_
#define XLATRACE_TESTS_IMPORTERS_FUZZ_PARQUET_INPUT_H_

#include <cstddef>
#include <cstdint>

namespace xlatrace::importers {

// Aborts when a promise of the reader is broken.
void RunParquetInput(const uint8_t* data, size_t size);

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_FUZZ_PARQUET_INPUT_H_
