// SPDX-License-Identifier: Apache-2.0

// A folder with the aggregates of earlier runs, which several CI jobs may use at once.
//
// One file, baseline.jsonl, a run per line (compare/run_record.h), only ever appended to, under an
// exclusive lock (flock) of DIR/lock. A last line that was cut short (full disk, kill) and lines
// that cannot be read are skipped and counted.
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

  // Records since the last accepted change, that one included. Earlier records are not comparable.
  std::vector<compare::RunRecord> Current() const;
};

// A folder that is not there is an empty baseline.
Result<Baseline> ReadBaseline(const std::string& folder);

// Makes the folder where it is not there. A run that is in its current part already (by content) is
// not added again, unless it is accepted now.
Status AppendToBaseline(const std::string& folder, const compare::RunRecord& record);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_BASELINE_FOLDER_H_
