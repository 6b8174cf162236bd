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
  std::vector<HookProcess> sessions;  // Processes with profiles; profiles are in order of time.
  std::vector<recording::FolderEntry> recordings;  // Our own recordings, one per process.
  std::vector<std::string> module_paths;           // Dump folders and HLO files (--modules).
  // A finished run that replaces the inputs (attach): recorded data comes from it, and only modules
  // that it lacks are added.
  std::string run;
  std::string output;   // run.db
  bool replace = true;  // Replaces a file that appears at `output` during the work.
  // Given inputs that are not read (path, reason); the run lists them.
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
  std::vector<Recording> recordings;  // Recordings that were read.
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

// Fails if no input can be read (with the error of the first) or the output cannot be written. No
// file is left at `output` then.
Result<BuildOutcome> BuildRun(const BuildRequest& request);

// The parts of recording files that the run contains: one line "NAME VALID_BYTES FILE_BYTES STATE"
// per process, with STATE live, ended or complete. Stored as run_info.recording_files.
std::string FoldedFiles(const BuildOutcome& outcome);

// "1,203,441 launches, 2 processes, 99.5% exact -> run.db"
std::string BuildSentence(const BuildOutcome& outcome, const std::string& output);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PIPELINE_H_
