// SPDX-License-Identifier: Apache-2.0

// A dump of a program that a run holds beside the module that its recording brought.
//
// XLA's HLO for a profiler is text, and lacks attributes of the module. After `attach --modules
// DUMP` the run has the HloProto of the same program as a module of its own. It has the same name,
// and the same instructions with the same shapes.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_SAME_PROGRAM_H_
#define XLATRACE_EXPORT_SAME_PROGRAM_H_

#include <cstdint>
#include <string>

#include "export/run_rows.h"

namespace xlatrace::exporter {

// The bytes of a module's HloProto, else of its dump; empty where the run holds neither.
std::string HloProtoOf(const RunRows& run, int64_t module_id);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_SAME_PROGRAM_H_
