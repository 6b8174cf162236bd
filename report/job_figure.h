// SPDX-License-Identifier: Apache-2.0

// Figures of the steps of a merged job, over all of its ranks. Ranks without launches in the file
// are included.
//
// Input: views `rank` and `rank_step` (docs/how-to/fleet.md). A step takes as long as its slowest
// rank. `step_ns` is the median over the steps of the job's sentence (fleet/job_answer.cc). The
// sentence, the header and the tiles show this figure.
//
// Thread-safety: plain data.

#ifndef XLATRACE_REPORT_JOB_FIGURE_H_
#define XLATRACE_REPORT_JOB_FIGURE_H_

#include <cstdint>
#include <string>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct JobFigure {
  int64_t ranks = 0;       // 0: the run is not a merged job.
  int64_t hosts = 0;       // 0: unknown.
  int64_t kept = 0;        // Ranks with launches in this file.
  int64_t kept_steps = 0;  // Steps of the kept ranks, one per rank and step, including warm-up.
  int64_t recorded = 0;    // Distinct step numbers of all ranks.
  int64_t steps = 0;       // Number of steps that `step_ns` is the median of; 0: unknown.
  int64_t first_step = 0, last_step = 0;
  int64_t step_ns = 0, min_ns = 0, max_ns = 0;

  bool HasSteps() const { return steps > 0; }
  // `sum`: a sum over launches of the kept ranks. Returns the sum per step of one rank.
  int64_t PerStep(int64_t sum) const { return kept_steps > 0 ? sum / kept_steps : sum; }
};

Result<JobFigure> LoadJob(store::RunDb& db);

// "8 ranks on 4 hosts"
std::string RankWords(const JobFigure& job);
// For example "3 of the 8 ranks" or "all 4 ranks": the ranks whose launches are in the file.
std::string KeptWords(const JobFigure& job);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_JOB_FIGURE_H_
