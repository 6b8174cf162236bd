// SPDX-License-Identifier: Apache-2.0

// `--to pgle`: XLA's profile for its latency-hiding scheduler (tensorflow.profiler.
// ProfiledInstructionsProto, costs only). It is a folder with FINGERPRINT.pbtxt and FINGERPRINT.pb
// per module, for --xla_gpu_pgle_profile_file_or_directory_path. CUDA graphs may be enabled during
// the recording.
//
// An instruction has its name at the time of scheduling (metadata.scheduling_name). Its cost is
// that of one occurrence: the sum over its kernels of their mean over typical steps (or over the
// run). Over devices, communication has the largest cost, because it waits for the slowest device;
// other work has the smallest. The fingerprint is the module's frontend attribute
// fingerprint_before_lhs. A module without the attribute (another back end, an old XLA) is named by
// its module name. XLA's text for the profiler also lacks the attribute, unless the run has a dump
// of the same program (same_program.h).

#ifndef XLATRACE_EXPORT_PGLE_H_
#define XLATRACE_EXPORT_PGLE_H_

#include <string>
#include <string_view>

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WritePgle(store::RunDb& db, const ExportRequest& request);

// Value of fingerprint_before_lhs in an HloProto or in HLO text; empty without one.
std::string FingerprintBeforeScheduling(std::string_view hlo);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PGLE_H_
