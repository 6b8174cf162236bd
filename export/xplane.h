// SPDX-License-Identifier: Apache-2.0

// `--to xplane`: an XSpace for XProf and TensorBoard: a plane per GPU with a line per stream, and
// the HloProtos of the run's modules.
//
// Every activity with an instruction has hlo_op, hlo_module and program_id, also kernels of CUDA
// graphs. XProf's hlo_stats and op_profile therefore show them under their instruction. In the
// HloProtos, instructions without an op_name get the one in run.db (in a fusion's body, that of its
// users or operands). A module that was read from text has the HloProto of its dump if the run has
// one (same_program.h), and otherwise none.
//
// Fields: tsl/profiler/protobuf/xplane.proto; stats: xla/tsl/profiler/utils/xplane_schema.cc.

#ifndef XLATRACE_EXPORT_XPLANE_H_
#define XLATRACE_EXPORT_XPLANE_H_

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WriteXplane(store::RunDb& db, const ExportRequest& request);

// An HloProto whose instructions without an op_name get the op_names in the map, by instruction
// name. Returns bytes that are no HloProto unchanged.
std::string WithOpNames(std::string_view hlo_proto,
                        const std::unordered_map<std::string_view, std::string_view>& op_names);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_XPLANE_H_
