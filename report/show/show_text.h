// SPDX-License-Identifier: Apache-2.0

// Text that several sheets share, and the text of an op's sheet, which is the longest.
// Internal to report/show/.

#ifndef XLATRACE_REPORT_SHOW_SHOW_TEXT_H_
#define XLATRACE_REPORT_SHOW_SHOW_TEXT_H_

#include "report/show/sheet_writer.h"
#include "report/show/show_sheet.h"

namespace xlatrace::report {

// Whole sheets.
void WriteOp(const Json& sheet, SheetWriter& out);
// An instruction without own time.
void WriteInstruction(const Json& sheet, SheetWriter& out);

// Parts; nothing where the value is missing or empty.
void WriteOps(const Json& ops, SheetWriter& out);
void WriteFindings(const Json& findings, SheetWriter& out);
// Time from the calls of the host to the starts on the device.
void WriteHost(const Json& host, SheetWriter& out);
// The compiler passes that made or changed the instruction.
void WriteProvenance(const Json& provenance, SheetWriter& out);
// Launch configurations of a sheet: grid, registers, occupancy. `with_names`: the configurations
// belong to several kernels.
void WriteLaunches(const Json& sheet, bool with_names, SheetWriter& out);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOW_SHOW_TEXT_H_
