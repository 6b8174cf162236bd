// SPDX-License-Identifier: Apache-2.0

// Any bytes as a JSON trace; aborts when a promise of the importer is broken.

#ifndef XLATRACE_TESTS_IMPORTERS_FUZZ_CHROME_TRACE_INPUT_H_
#define XLATRACE_TESTS_IMPORTERS_FUZZ_CHROME_TRACE_INPUT_H_

#include <cstddef>
#include <cstdint>

namespace xlatrace::importers {

void RunChromeTraceInput(const uint8_t* data, size_t size);

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_FUZZ_CHROME_TRACE_INPUT_H_
