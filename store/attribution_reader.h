// SPDX-License-Identifier: Apache-2.0

// Reads attribution and analysis of a finished run back into their structs: the counterpart of
// derived_writer. It is for readers that continue with analysis/ (time_split), or that look up a
// label, an instruction and its facts once for millions of activities.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_STORE_ATTRIBUTION_READER_H_
#define XLATRACE_STORE_ATTRIBUTION_READER_H_

#include "base/error.h"
#include "model/derived.h"
#include "store/run_db.h"

namespace xlatrace::store {

// Reads instructions with phases and layers, shares, labels, shares of labels, executions and the
// facts of modules, including added modules. Leaves label_of and execution_of empty, which have an
// entry per activity. ScanLaunches returns these row by row. run.db does not keep op_type, opcode
// and stack frame of a share. Fails if ids do not count from 1 without holes, as our writer counts
// them.
Result<model::AttributionTables> ReadAttribution(RunDb& db);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_ATTRIBUTION_READER_H_
