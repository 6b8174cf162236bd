// SPDX-License-Identifier: Apache-2.0

// The ranks of a job that was merged of many recordings (`xlatrace merge`), as run.db keeps them:
// figures of every rank, and where its launches are.
//
// Thread-safety: plain data.

#ifndef XLATRACE_MODEL_JOB_ROWS_H_
#define XLATRACE_MODEL_JOB_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/events.h"

namespace xlatrace::model {

// One device of one process of the job.
struct RankRow {
  int64_t rank = 0;
  int64_t ordinal = 0;  // The device's, in its process.
  std::string host;     // Empty: unknown.
  std::string source;   // The run.db that holds all of it.
  Id source_process_id = 0;
  Id source_device_id = 0;
  Id process_id = 0;  // In the job's own run.db, where its launches are in there; 0: they are not.
  Id device_id = 0;   // The same.
  std::string program;  // Fingerprints of its main modules.
  // Added to its times; nothing where its clock has nothing in common with that of the first rank.
  std::optional<int64_t> clock_offset_ns, clock_drift_ppb, clock_error_ns;
  int64_t clock_set = 0;  // Ranks of one set can be compared in time.
  int64_t activities = 0;
  int64_t device_ns = 0;
  std::optional<int64_t> excess_ns_per_step;  // Over the median of its like (fleet/culprit.h).
};

struct RankStepRow {
  Id rank_id = 0;  // Position of its RankRow + 1.
  int64_t step = 0;
  std::optional<int64_t> start_ns;  // Of the common clock; nothing: of none.
  int64_t step_ns = 0;
  std::optional<int64_t> wait_ns;      // For other ranks, where nothing else ran.
  std::optional<int64_t> transfer_ns;  // Of the same collectives: what the last to arrive took.
  int64_t gemm_ns = 0, other_ns = 0, idle_ns = 0;
  bool steady = false;
};

// A collective instruction of the whole job (fleet/collectives.h says what each figure is).
struct JobCollectiveRow {
  std::string program;  // Fingerprint of its module.
  std::string instruction;
  std::string op;
  std::optional<int64_t> group_size, bytes;
  int64_t ranks = 0, groups = 0, paired = 0;
  std::optional<int64_t> transfer_ns, arrival_skew_ns, most_skew_ns, bus_bandwidth;
  int64_t exposed_ns_per_step = 0;
  std::optional<int64_t> wait_ns_per_step;
  Id last_rank_id = 0;  // 0: not known.
  int64_t last_times = 0;
};

// A stay of the critical path over ranks on one rank (fleet/job_path.h), in order of time.
struct JobPathRow {
  int64_t step = 0;
  Id rank_id = 0;
  // Which collective let it go (empty: the step's start), and the one from which the path goes on
  // on another rank (empty: the step's end).
  std::string from_program, from_instruction, to_program, to_instruction;
  int64_t own_ns = 0, exchange_ns = 0, lead_ns = 0;
  int64_t collectives = 0;
};

struct JobTables {
  std::vector<RankRow> ranks;
  std::vector<RankStepRow> steps;
  std::vector<JobCollectiveRow> collectives;
  std::vector<JobPathRow> path;
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_JOB_ROWS_H_
