// SPDX-License-Identifier: Apache-2.0

// Finds a dump of a module's program in the same run, in addition to the recorded module.
//
// XLA's HLO for a profiler is text, and lacks attributes of the module. After `attach --modules
// DUMP`, the run has the HloProto of the same program as another module. This module has the same
// name, and the same instructions with the same shapes.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_SAME_PROGRAM_H_
#define XLATRACE_EXPORT_SAME_PROGRAM_H_

#include <cstdint>
#include <string>

#include "export/run_rows.h"

namespace xlatrace::exporter {

// The bytes of a module's HloProto, or else of its dump; empty if the run has neither.
std::string HloProtoOf(const RunRows& run, int64_t module_id);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_SAME_PROGRAM_H_
