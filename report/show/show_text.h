// SPDX-License-Identifier: Apache-2.0

// The text of what several sheets have, and of the op's, which is the longest. Internal to the
// room.

#ifndef XLATRACE_REPORT_SHOW_SHOW_TEXT_H_
#define XLATRACE_REPORT_SHOW_SHOW_TEXT_H_

#include "report/show/sheet_writer.h"
#include "report/show/show_sheet.h"

namespace xlatrace::report {

// Whole sheets.
void WriteOp(const Json& sheet, SheetWriter& out);
// An instruction without time of its own.
void WriteInstruction(const Json& sheet, SheetWriter& out);

// Parts; nothing where the value is missing or empty.
void WriteOps(const Json& ops, SheetWriter& out);
void WriteFindings(const Json& findings, SheetWriter& out);
// How long the device took to begin what the host had called for.
void WriteHost(const Json& host, SheetWriter& out);
// What the passes of the compiler did to it.
void WriteProvenance(const Json& provenance, SheetWriter& out);
// Launch configurations of a sheet: grid, registers, occupancy. `with_names`: of more than one
// kernel.
void WriteLaunches(const Json& sheet, bool with_names, SheetWriter& out);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOW_SHOW_TEXT_H_
