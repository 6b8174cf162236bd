// SPDX-License-Identifier: Apache-2.0

// Any bytes as an Nsight Systems export.

#ifndef XLATRACE_TESTS_IMPORTERS_FUZZ_NSYS_INPUT_H_
#define XLATRACE_TESTS_IMPORTERS_FUZZ_NSYS_INPUT_H_

#include <cstddef>
#include <cstdint>

namespace xlatrace::importers {

// Aborts when a promise of the importer is broken.
void RunNsysInput(const uint8_t* data, size_t size);

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_FUZZ_NSYS_INPUT_H_
