// SPDX-License-Identifier: Apache-2.0

// Imports a recording folder into its run.db. A command with the argument `run.db` or `run.rec`
// first imports new parts of the recording.
//
// - run.db remembers which bytes of which file it holds (run_info.recording_files); nothing is done
//   when there is no more.
// - One folds, others wait: `run.rec/lock` (flock).
// - run.db appears whole or not at all. An earlier one of another job becomes run.old.db.
// - Of several jobs in a folder the newest is folded, the others are named.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_FOLD_H_
#define XLATRACE_TOOLS_FOLD_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tools/pipeline.h"

namespace xlatrace::tools {

struct FoldRequest {
  std::string folder;    // run.rec
  std::string database;  // run.db
  std::string token;     // Of the job; empty: the newest in the folder.
  std::vector<std::pair<std::string, std::string>> run_info;  // As BuildRequest.
  std::optional<ChildEnd> child;  // End of the recorded child process, if known.
};

struct FoldOutcome {
  bool folded = false;  // False: run.db already had all parts; then only `notes` is set.
  bool live = false;    // A process is still writing: the run is a part.
  bool whole = false;   // Every process closed its file, and run.db contains all files completely.
  std::string token;
  BuildOutcome build;
  std::vector<std::string> notes;  // Sentences for the person.
};

// Fails if run.db does not exist and the folder has nothing to import; the folder's notes give the
// reason. Fails if run.db cannot be written.
Result<FoldOutcome> Fold(const FoldRequest& request);

// If this variable is set, FoldedRun writes no files: it returns the run.db unchanged, and rejects
// traces and recordings without a run.db.
inline constexpr std::string_view kReadOnlyVariable = "XLATRACE_READ_ONLY";

// The run.db to open for `path` (run.db, run.rec or a trace). New parts of a recording are imported
// first. A trace is imported into a temporary run. Both are reported on standard error. Any other
// path is returned unchanged.
Result<std::string> FoldedRun(const std::string& path);

// Removes the folder's files of one job if run.db contains all of them, and the folder if it is
// empty then. Removes only our own files and follows no links. Returns true if the folder was
// removed.
bool RemoveRecording(const std::string& folder, const std::string& token);

// Renames run.db to run.old.db, run.old.2.db... and returns the new name; empty if there was no
// run.db.
Result<std::string> MoveAside(const std::string& database);

// The reason why the folder contains no recording, from its notes; without notes a general
// sentence. `exit_status`: of the recorded command, if known.
Error NothingInRecording(const std::string& folder, int exit_status = 0);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_FOLD_H_
