// SPDX-License-Identifier: Apache-2.0

// A folder with the aggregates of earlier runs, which several CI jobs may use at once.
//
// One file, baseline.jsonl, with one run per line (compare/run_record.h). Lines are only appended,
// under an exclusive lock (flock) of DIR/lock. A truncated last line (full disk, kill) and
// unreadable lines are skipped and counted.
//
// Thread-safety: safe between processes on file systems that have flock.

#ifndef XLATRACE_TOOLS_BASELINE_FOLDER_H_
#define XLATRACE_TOOLS_BASELINE_FOLDER_H_

#include <string>
#include <vector>

#include "base/error.h"
#include "compare/run_record.h"

namespace xlatrace::tools {

struct Baseline {
  std::vector<compare::RunRecord> records;  // Oldest first.
  size_t skipped_lines = 0;

  // Records since the last accepted change, including that record. Earlier records are not
  // comparable.
  std::vector<compare::RunRecord> Current() const;
};

// A missing folder is an empty baseline.
Result<Baseline> ReadBaseline(const std::string& folder);

// Creates the folder if it does not exist. A run that is already in the current part (by content)
// is not added again, unless it is accepted now.
Status AppendToBaseline(const std::string& folder, const compare::RunRecord& record);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_BASELINE_FOLDER_H_
