// SPDX-License-Identifier: Apache-2.0

// Explains why a recording has no device activity although the process used the device: its window
// was never reached.
//
// Thread-safety: pure.

#ifndef XLATRACE_IMPORTERS_RECORDING_WINDOW_NOT_REACHED_H_
#define XLATRACE_IMPORTERS_RECORDING_WINDOW_NOT_REACHED_H_

#include <string>

#include "importers/recording/recorded_process.h"

namespace xlatrace::importers {

// A sentence without capital and full stop, for a recording without activities. Empty: the window
// is not the reason.
std::string WindowNotReached(const RecordedProcess& process);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_WINDOW_NOT_REACHED_H_
