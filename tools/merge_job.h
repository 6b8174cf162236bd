// SPDX-License-Identifier: Apache-2.0

// Merges recordings into one job.db: figures of every rank, launches of chosen ranks.
//
// Memory: one recording at a time while ranks are read, and the launches of the chosen ranks while
// job.db is written. Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_MERGE_JOB_H_
#define XLATRACE_TOOLS_MERGE_JOB_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/job.h"

namespace xlatrace::tools {

// In jobs of at most this many ranks, the launches of all ranks are kept.
inline constexpr size_t kMaxWholeRanks = 4;

struct MergeRequest {
  std::vector<std::string> run_dbs;
  std::string output;
  bool replace = false;
  std::vector<int64_t> asked;  // Requested ranks, whose launches are kept.
};

struct MergeOutcome {
  fleet::Job job;
  std::vector<int64_t> kept;  // Ranks whose launches are in job.db.
  size_t activities = 0;
};

Result<MergeOutcome> MergeJob(const MergeRequest& request);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MERGE_JOB_H_
