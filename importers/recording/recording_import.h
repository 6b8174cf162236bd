// SPDX-License-Identifier: Apache-2.0

// Recordings of xlatrace's own collector -> model events.
//
// A recording has the names of all objects (recording/rows.h). The import joins its rows: - An
// activity and its API call have the correlation id in common. The call names the innermost
//   `Thunk:` range and the run of the module (`XlaModule:` range) that were open on its thread: an
//   exact hint (Evidence::kRange). A thunk's title is registered for one executable, so it tells
//   the module even where the range of the module was lost with the process.
// - An activity of a CUDA graph takes its instruction from its node (Evidence::kGraphNode), its run
//   from the graph launch.
// - Modules are rebuilt from registered strings (importers/recording/hlo_rebuild.h); those that
// never ran are
//   counted only.
//
// A file is read three times: dictionaries, ranges and nodes; API calls; activities. Memory: 12
// bytes per correlation id that an activity carries, the strings, the ranges.
// Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_RECORDING_RECORDING_IMPORT_H_
#define XLATRACE_IMPORTERS_RECORDING_RECORDING_IMPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

struct RecordingImport {
  uint64_t bytes = 0;     // Number of read bytes; a growing file may have more by now.
  bool complete = false;  // The process closed the file, and no part of the file is damaged.
  bool damaged = false;
  int64_t activities = 0;
  model::ProcessEnding ending;
  int64_t missing_at_least = 0;  // Lower bound of lost activities.
  int64_t own_cost_ns = 0;  // CPU time of the collector's threads, as reported by the collector.
  std::string command;      // Command line of the process.
  model::Id process_id = 0;
  bool has_modules = false;         // XLA registered their text.
  std::string dump_folder;          // Folder of the XLA dump that the collector requested.
  std::string window;               // Why the window of the recording is empty.
  std::vector<std::string> errors;  // Reasons why the process was not recorded, or only in part.
};

// Imports one process. `live`: the process is still running, so a missing end is no loss.
Result<RecordingImport> ImportRecording(const std::string& path, bool live, model::EventSink& sink);

// All processes of the folder's newest job token.
Status ImportRecordingFolder(const std::string& path, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_RECORDING_IMPORT_H_
