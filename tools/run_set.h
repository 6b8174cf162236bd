// SPDX-License-Identifier: Apache-2.0

// Several runs of the two sides of a comparison, opened, loaded and compared.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_RUN_SET_H_
#define XLATRACE_TOOLS_RUN_SET_H_

#include <deque>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/changes.h"
#include "compare/comparison.h"
#include "compare/verdict.h"

namespace xlatrace::tools {

struct ComparedRuns {
  // All runs. Each side is represented by the run with the median step.
  std::deque<compare::Run> base_runs, now_runs;
  size_t base_at = 0, now_at = 0;
  compare::Comparison comparison;
  std::vector<compare::Change> changes;
  compare::Verdict verdict;

  const compare::Run& base() const { return base_runs[base_at]; }
  const compare::Run& now() const { return now_runs[now_at]; }
};

// Imports recordings that need it. An error names the unreadable run.
Result<ComparedRuns> CompareRunSets(const std::vector<std::string>& base,
                                    const std::vector<std::string>& now);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_RUN_SET_H_
