// SPDX-License-Identifier: Apache-2.0

// The ranks of a merged job (`xlatrace merge`) in run.db: figures of every rank, and the place of
// its launches.
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
  int64_t ordinal = 0;  // Index of the device in its process.
  std::string host;     // Empty: unknown.
  std::string source;   // The run.db with all data of the rank.
  Id source_process_id = 0;
  Id source_device_id = 0;
  Id process_id = 0;    // In the job's own run.db, if it holds the rank's launches; 0: it does not.
  Id device_id = 0;     // The same.
  std::string program;  // Fingerprints of its main modules.
  // Correction of its times; nullopt if its clock has no common event with the first rank's.
  std::optional<int64_t> clock_offset_ns, clock_drift_ppb, clock_error_ns;
  int64_t clock_set = 0;  // Times of ranks in one set can be compared.
  int64_t activities = 0;
  int64_t device_ns = 0;
  std::optional<int64_t> excess_ns_per_step;  // Over the median of similar ranks (fleet/culprit.h).
};

struct RankStepRow {
  Id rank_id = 0;  // Position of its RankRow + 1.
  int64_t step = 0;
  std::optional<int64_t> start_ns;  // On the common clock; nullopt: not aligned.
  int64_t step_ns = 0;
  std::optional<int64_t> wait_ns;      // Exposed waiting for other ranks.
  std::optional<int64_t> transfer_ns;  // Exchange time of the same collectives: the duration on the
                                       // last rank to arrive.
  int64_t gemm_ns = 0, other_ns = 0, idle_ns = 0;
  bool steady = false;
};

// A collective instruction of the whole job (fleet/collectives.h defines the figures).
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

// A part of the critical path over ranks that lies on one rank (fleet/job_path.h), in order of
// time.
struct JobPathRow {
  int64_t step = 0;
  Id rank_id = 0;
  // `from`: the collective after which the part starts (empty: the step's start). `to`: the
  // collective at which the path continues on another rank (empty: the step's end).
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
