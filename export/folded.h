// SPDX-License-Identifier: Apache-2.0

// `--to folded`: one line per stack, "forward;jit_f;jit(f);mul;fusion.3 1234", nanoseconds of
// device time, as flamegraph.pl, speedscope and inferno read it. With several ranks each line
// begins with its rank. A ; or a line break in a name becomes a blank.

#ifndef XLATRACE_EXPORT_FOLDED_H_
#define XLATRACE_EXPORT_FOLDED_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WriteFolded(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_FOLDED_H_
