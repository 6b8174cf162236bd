// SPDX-License-Identifier: Apache-2.0

// Builds an attributed run.db from files, for `import` and `record`: importers -> store ->
// correlator -> analysis -> store.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_PIPELINE_H_
#define XLATRACE_TOOLS_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "importers/recording/recording_import.h"
#include "model/events.h"
#include "recording/folder.h"
#include "tools/hook_recording.h"

namespace xlatrace::tools {

// A process that `record` started and waited for.
struct ChildEnd {
  int64_t pid = 0;
  int64_t signal = 0;         // 0: none.
  int64_t ended_unix_ns = 0;  // Time at which the process had ended.
};

struct BuildRequest {
  std::vector<std::string> inputs;    // Traces, any kind the importers know.
  std::vector<HookProcess> sessions;  // Processes with profiles; those in order of time.
  std::vector<recording::FolderEntry> recordings;  // Our own, one per process.
  std::vector<std::string> module_paths;           // Dump folders and HLO files (--modules).
  // A finished run that takes the inputs' place: what was recorded comes from it, and only modules
  // that it does not hold are added (attach).
  std::string run;
  std::string output;   // run.db
  bool replace = true;  // Replaces a file that appears at `output` during the work.
  // Named inputs that are not read (path, reason); the run lists them.
  std::vector<std::pair<std::string, std::string>> left_out;
  // Facts that replace those of the inputs (command, source...).
  std::vector<std::pair<std::string, std::string>> run_info;
  // Processes of the job that reported a recording (pid, launches) but have no file.
  std::vector<std::pair<int64_t, int64_t>> without_file;
  std::optional<ChildEnd> child;  // The end of the process of one of `recordings`.
};

struct BuildOutcome {
  struct Recording {
    recording::FolderEntry entry;
    importers::RecordingImport import;
  };
  size_t inputs_read = 0;             // Recordings included.
  std::vector<Recording> recordings;  // Those that could be read.
  size_t activities = 0;
  size_t processes = 0;
  size_t modules = 0;
  size_t new_modules = 0;  // Modules that were added to a finished run (BuildRequest::run).
  int64_t device_ns = 0;
  int64_t exact_ns = 0;
  int64_t inferred_ns = 0;
  std::vector<model::RunStat> losses;  // Statistics of severity data_loss and error.
  std::vector<Error> skipped;          // Inputs that could not be read.
};

// Fails when no input could be read (with the error of the first) or the output cannot be written;
// then nothing is left at `output`.
Result<BuildOutcome> BuildRun(const BuildRequest& request);

// Which bytes of which recording file the run holds: a line "NAME VALID_BYTES FILE_BYTES STATE" per
// process, STATE live, ended or complete. Stored as run_info.recording_files.
std::string FoldedFiles(const BuildOutcome& outcome);

// "1,203,441 launches, 2 processes, 99.5% exact -> run.db"
std::string BuildSentence(const BuildOutcome& outcome, const std::string& output);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PIPELINE_H_
