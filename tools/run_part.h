// SPDX-License-Identifier: Apache-2.0

// A part of a finished run as a separate run: `export --to db` and `--to nsys` with --steps or
// --device.
//
// Labels, executions, phases, layers, and the numbers and times of steps stay as they were. Sums
// over launches (ops, scopes, gaps, busy time, findings) are computed again from the selected
// launches. Processes, devices, streams and modules are all present and keep their ids. Launches
// get new ids.
//
// Memory: that of an import of the part, plus 9 bytes per launch of the whole run. Thread-safety:
// one thread.

#ifndef XLATRACE_TOOLS_RUN_PART_H_
#define XLATRACE_TOOLS_RUN_PART_H_

#include <string>

#include "base/error.h"
#include "export/run_rows.h"
#include "store/run_db.h"

namespace xlatrace::tools {

// Writes the launches of `selection`, the calls that made them, and the host's work in that time
// into a new file `output`. Fails, and leaves no file, if the selection is empty.
Status WriteRunPart(store::RunDb& run, const exporter::Selection& selection,
                    const exporter::Progress& progress, const std::string& output);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_RUN_PART_H_
