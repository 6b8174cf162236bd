// SPDX-License-Identifier: Apache-2.0

// What a baseline keeps of a run: a few kB of aggregates, one JSON object on one line.
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
  std::string label;  // Commit, as the caller says; may be empty.
  int64_t unix_seconds = 0;
  std::string content_id;
  std::string devices;  // "1 x NVIDIA H100".
  std::string program;  // Function of the main module.
  std::string inputs;   // How many the main program takes, and a hash of their shapes; empty:
                        // not known.
  bool steady = false;
  bool damaged = false;        // Lost records or partial.
  int64_t device_ns = 0;       // Per step; without steady steps of the whole run.
  int64_t call_ns = 0;         // Device time of a call of the main program, of the whole
                               // run; 0: not known.
  std::vector<int64_t> steps;  // At most 64, evenly chosen. Empty: no steady steps.
  std::vector<int64_t> calls;  // Device time of executions of the main program, likewise;
                               // of steady steps, where there are. Empty: not known.
  std::map<std::string, int64_t> phases;  // ns per step.
  std::map<std::string, int64_t> ops;     // By what they are called; the largest 100.
  std::map<std::string, double> facts;    // Where known; per step, or "call_..." per call.
  std::string accepted;                   // Why a regression was accepted; empty: none was.

  double StepMean() const;
};

// Of the main programs, over the whole run and all devices: how long it lasts does not matter.
struct MainCalls {
  int64_t count = 0;    // 0: not known.
  int64_t each_ns = 0;  // Device time, the mean.
};
MainCalls MainCallsOf(const Run& run);

RunRecord RecordOf(const Run& run);

// One line without the newline.
std::string RecordText(const RunRecord& record);
Result<RunRecord> ParseRecord(std::string_view line);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_RUN_RECORD_H_
