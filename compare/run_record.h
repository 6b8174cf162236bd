// SPDX-License-Identifier: Apache-2.0

// Aggregates of a run in a baseline: a few kB, one JSON object on one line.
//
// Thread-safety: plain data.

#ifndef XLATRACE_COMPARE_RUN_RECORD_H_
#define XLATRACE_COMPARE_RUN_RECORD_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "compare/run_rows.h"

namespace xlatrace::compare {

struct RunRecord {
  std::string label;  // Commit, given by the caller; may be empty.
  int64_t unix_seconds = 0;
  std::string content_id;
  std::string devices;  // "1 x NVIDIA H100".
  std::string program;  // Function of the main module.
  std::string inputs;   // Number of inputs of the main program, and a hash of their shapes; empty:
                        // not known.
  bool steady = false;
  bool damaged = false;        // Lost records or partial.
  int64_t device_ns = 0;       // Per step; without steady steps of the whole run.
  int64_t call_ns = 0;         // Device time of a call of the main program, over the whole run; 0:
                               // not known.
  std::vector<int64_t> steps;  // At most 64, evenly chosen. Empty: no steady steps.
  // Device time of executions of the main program, at most 64; only those in steady steps, if the
  // run has steady steps. Empty: not known.
  std::vector<int64_t> calls;
  std::vector<int64_t> call_walls;        // Run::call_walls, at most 64.
  double usual_variation = 0;             // UsualVariation; 0: not known.
  std::map<std::string, int64_t> phases;  // ns per step.
  std::map<std::string, int64_t> ops;     // By name; the largest 100.
  std::map<std::string, double> facts;    // If known; per step, or "call_..." per call.
  std::string accepted;                   // Reason for accepting a regression; empty: none.

  double StepMean() const;
};

// Calls of the main programs, over the whole run and all devices; independent of the length of the
// run.
struct MainCalls {
  int64_t count = 0;    // 0: not known.
  int64_t each_ns = 0;  // Mean device time.
};
MainCalls MainCallsOf(const Run& run);

RunRecord RecordOf(const Run& run);

// One line without the newline.
std::string RecordText(const RunRecord& record);
Result<RunRecord> ParseRecord(std::string_view line);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_RUN_RECORD_H_
