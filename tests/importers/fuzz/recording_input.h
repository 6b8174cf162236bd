// SPDX-License-Identifier: Apache-2.0

// One input of the recording importer's fuzz target: any bytes as a recording file.

#ifndef XLATRACE_TESTS_IMPORTERS_FUZZ_RECORDING_INPUT_H_
#define XLATRACE_TESTS_IMPORTERS_FUZZ_RECORDING_INPUT_H_

#include <cstddef>
#include <cstdint>

namespace xlatrace::importers {

// The first byte selects whether checksums are repaired, so that code behind the checks is reached.
// The other bytes are the file. Ends the process if an invariant is broken.
void RunRecordingInput(const uint8_t* data, size_t size);

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_FUZZ_RECORDING_INPUT_H_
