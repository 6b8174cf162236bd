// SPDX-License-Identifier: Apache-2.0

// What a merged job says of its steps, over all of its ranks, whatever launches are in the file.
//
// Gets: views `rank` and `rank_step` (docs/how-to/fleet.md). The length of a step is that of the
// slowest rank, median over steps, of the steps that the job's sentence judges
// (fleet/job_answer.cc): the same figure in the sentence, the header and the tiles.
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
  int64_t ranks = 0;       // 0: the run is no merged job.
  int64_t hosts = 0;       // 0: not known.
  int64_t kept = 0;        // Ranks whose launches are in this file.
  int64_t kept_steps = 0;  // Steps of those, each counted once per rank, warm-up included.
  int64_t recorded = 0;    // Different step numbers that any rank has.
  int64_t steps = 0;       // Of them those that `step_ns` is the median of; 0: none is known.
  int64_t first_step = 0, last_step = 0;
  int64_t step_ns = 0, min_ns = 0, max_ns = 0;

  bool HasSteps() const { return steps > 0; }
  // What launches of the kept ranks sum to, per step of one of them.
  int64_t PerStep(int64_t sum) const { return kept_steps > 0 ? sum / kept_steps : sum; }
};

Result<JobFigure> LoadJob(store::RunDb& db);

// "8 ranks on 4 hosts"
std::string RankWords(const JobFigure& job);
// "3 of the 8 ranks", "all 4 ranks": of whom launches are in the file.
std::string KeptWords(const JobFigure& job);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_JOB_FIGURE_H_
