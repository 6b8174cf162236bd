// SPDX-License-Identifier: Apache-2.0

// `--to pgle`: XLA's profile for its latency-hiding scheduler (tensorflow.profiler.
// ProfiledInstructionsProto, costs only), a folder with FINGERPRINT.pbtxt and FINGERPRINT.pb per
// module: what --xla_gpu_pgle_profile_file_or_directory_path takes. CUDA graphs may be on while
// the run is recorded.
//
// An instruction is called by the name that it had when it was scheduled
// (metadata.scheduling_name). Its cost is that of one occurrence: the mean of each of its kernels
// over typical steps (over the run where there are none), summed; over devices the largest for
// communication, which waits for the slowest, and the smallest else. The fingerprint is the
// module's frontend attribute fingerprint_before_lhs; a module without one (another back end, an
// old XLA) goes under its name, and so does one whose HLO is what XLA told the profiler, which
// leaves the attribute out, unless the run holds a dump of the same program too (same_program.h).

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
