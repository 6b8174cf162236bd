// SPDX-License-Identifier: Apache-2.0

// The answer: where the largest part of the time goes, from the view `time_tree` alone.
//
// The run sentence: if steps hold less than half of the recorded time, the largest other part of
// the run. If no step is typical, the largest part of all steps. The step sentence: the duration of
// a typical step, and its largest part. Descent finds both parts (descent.h). answer_text.h makes
// the sentences from this data.
//
// Times are integer nanoseconds. Thread-safety: plain data; one thread per RunDb.

#ifndef XLATRACE_REPORT_ANSWER_ANSWER_H_
#define XLATRACE_REPORT_ANSWER_ANSWER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "report/answer/descent.h"
#include "report/answer/time_nodes.h"
#include "store/run_db.h"

namespace xlatrace::report {

// How close ops run to the limit of the hardware (docs/explanation/roofline.md), or copies to that
// of the link.
struct LimitFigure {
  std::string bound_by;  // The limit of most of its time: "memory", "compute".
  double of_limit = 0;   // 0 to 1: time at the limit by recorded time.
  bool copies = false;
  double bytes_per_s = 0, limit_bytes_per_s = 0;  // Copies only.
};

struct RunAnswer {
  Descent descent;  // `path[0]` is all recorded time.
  std::optional<LimitFigure> limit;
};

struct StepAnswer {
  Descent descent;                  // `path[0]` is the typical step without contention.
  int64_t typical_ns = 0;           // With contention.
  int64_t low_ns = 0, high_ns = 0;  // Quartiles of the steady steps.
  int64_t contention_ns = 0;        // The host waits for a CPU.
  std::optional<LimitFigure> limit;
};

// The rank for which the other ranks of the job wait (view `late_rank`). Times are per step.
struct LateRankAnswer {
  std::string name;  // "rank 3", "process 4711"; "device 1" within one process.
  std::optional<int64_t> rank;
  int64_t process_id = 0, device_id = 0;
  int64_t ranks = 1;  // Number of ranks that are late together; this is the slowest of them.
  std::string work;   // Work that takes longer: "host" or "kernels".
  int64_t cost_ns = 0, excess_ns = 0, step_ns = 0;
};

struct Answer {
  bool has_tree = false;
  TimeNodes visible;  // Visible nodes of the tree (visible_nodes.h).
  std::optional<RunAnswer> run;
  std::optional<StepAnswer> step;
  std::optional<LateRankAnswer> late;
};

Result<Answer> LoadAnswer(store::RunDb& db);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_ANSWER_H_
