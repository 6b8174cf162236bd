// SPDX-License-Identifier: Apache-2.0

// A part of a finished run as a run of its own: `export --to db` and `--to nsys` with --steps or
// --device.
//
// What was worked out stays as it was (labels, executions, phases, layers, the numbers and times of
// steps), whether or not a part alone would have shown it; what sums over launches (ops, scopes,
// gaps, busy time, findings) is worked out anew from those that are left. Processes, devices,
// streams and modules are all there and keep their ids; launches are numbered anew.
//
// Memory: that of an import of the part, and 9 bytes per launch of the whole.
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_RUN_PART_H_
#define XLATRACE_TOOLS_RUN_PART_H_

#include <string>

#include "base/error.h"
#include "export/run_rows.h"
#include "store/run_db.h"

namespace xlatrace::tools {

// Launches of `selection`, the calls that made them, and what the hosts did meanwhile, into a new
// file `output`. Fails, and leaves nothing, where the run holds none of it.
Status WriteRunPart(store::RunDb& run, const exporter::Selection& selection,
                    const exporter::Progress& progress, const std::string& output);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_RUN_PART_H_
