// SPDX-License-Identifier: Apache-2.0

#ifndef XLATRACE_TESTS_RECORDING_FUZZ_HOST_SAMPLES_INPUT_H_
#define XLATRACE_TESTS_RECORDING_FUZZ_HOST_SAMPLES_INPUT_H_

#include <cstddef>
#include <cstdint>

namespace xlatrace::recording {

// Aborts if a row of a readable input breaks the contract of its type.
void RunHostSamplesInput(const uint8_t* data, size_t size);

}  // namespace xlatrace::recording

#endif  // XLATRACE_TESTS_RECORDING_FUZZ_HOST_SAMPLES_INPUT_H_
