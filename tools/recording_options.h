// SPDX-License-Identifier: Apache-2.0

// The options of `xlatrace record`. They reach the collector as environment variables of the
// command, so that every process of the job has them (docs/explanation/collector.md).
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_RECORDING_OPTIONS_H_
#define XLATRACE_TOOLS_RECORDING_OPTIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
}

namespace xlatrace::tools {

struct RecordingOptions {
  double delay_s = 0;
  double duration_s = 60;       // The framework's profiler always has this limit.
  bool duration_given = false;  // False: the collector has no limit.
  std::string mode = "exact";
  std::string steps;  // "A:B"
  std::string last;   // "30s"
  std::string graphs = "node";
  std::string dump = "auto";
  bool waits = false;
};

// Declares the options on `command`; `options` must outlive it.
void AddRecordingOptions(CLI::App& command, RecordingOptions* options);

// Options that do not go together, with a hint.
Status CheckRecordingOptions(const RecordingOptions& options);

// Variables for the NVIDIA collector. `database`: absolute path of the run.db to be written; dumps
// lie beside it.
std::vector<std::pair<std::string, std::string>> CollectorEnvironment(
    const RecordingOptions& options, const std::string& database);

// Options that the framework's own profiler does not have, as the user typed them; empty: none.
std::string OnlyForCollector(const RecordingOptions& options);

// `run.dump` for `run.db` if XLA dumps are requested; otherwise empty.
std::string DumpFolder(const RecordingOptions& options, const std::string& database);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_RECORDING_OPTIONS_H_
