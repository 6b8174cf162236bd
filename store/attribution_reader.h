// SPDX-License-Identifier: Apache-2.0

// What attribution and analysis say of a finished run, back in the structs that they filled: the
// counterpart of derived_writer, for readers that go on with analysis/ (time_split) or that look up
// a label, an instruction and its facts once for millions of activities.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_STORE_ATTRIBUTION_READER_H_
#define XLATRACE_STORE_ATTRIBUTION_READER_H_

#include "base/error.h"
#include "model/derived.h"
#include "store/run_db.h"

namespace xlatrace::store {

// Instructions with phases and layers, shares, labels, shares of labels, executions and the facts
// of modules, and those that no file holds. label_of and execution_of, which exist once per
// activity, stay empty: ScanLaunches gives them row by row. Of a share, op_type, opcode and stack
// frame are not kept in run.db. Fails where ids are not as our writer counts them, from 1 without
// holes.
Result<model::AttributionTables> ReadAttribution(RunDb& db);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_ATTRIBUTION_READER_H_
