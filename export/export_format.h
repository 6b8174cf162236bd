// SPDX-License-Identifier: Apache-2.0

// Exports a run in the formats of other tools: the list of formats, and one entry point.
//
// Input: an open run.db. Output: a file or a folder for another program. docs/how-to/export.md
// lists the contents and the readers of each format.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_EXPORT_FORMAT_H_
#define XLATRACE_EXPORT_EXPORT_FORMAT_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "export/output.h"
#include "export/run_rows.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest {
  std::string output;  // A file or a folder, depending on the format.
  bool force = false;
  std::vector<std::string> views;  // For csv and parquet: only these views; empty: all.
  Selection selection;             // Not for db and nsys.
  Progress progress;               // May be empty.
};

struct ExportFormat {
  std::string_view name;    // "perfetto"
  std::string_view suffix;  // Of the default output: "run" + ".pftrace".
  std::string_view reader;  // The program that opens the output, for the message of the command.
  bool is_folder = false;
  Result<ExportCount> (*write)(store::RunDb& db, const ExportRequest& request) = nullptr;
  std::string_view lacks;  // Content of a run.db for which the format has no place; empty: none.
};

std::span<const ExportFormat> ExportFormats();
// nullptr: no such format.
const ExportFormat* FindFormat(std::string_view name);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_EXPORT_FORMAT_H_
