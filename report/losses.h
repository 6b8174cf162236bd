// SPDX-License-Identifier: Apache-2.0

// Lost records of a run and how its processes ended: figures of run.db's views `process` and
// `loss`, and their text on the first screen.
//
// "lost" is 0 only if no record can be lost. Thread-safety: plain data.

#ifndef XLATRACE_REPORT_LOSSES_H_
#define XLATRACE_REPORT_LOSSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::report {

// How one process ended, if its source has this fact.
struct EndFigure {
  int64_t process_id = 0;
  std::string host;  // Empty: unknown.
  std::optional<int64_t> pid;
  std::string ended;  // exit, signal, exec, abort, running; empty: unknown.
  std::optional<int64_t> signal;
  // Work may be missing from this time on; nullopt: no work is missing.
  std::optional<int64_t> from_ns;
  std::optional<int64_t> tail_ns;  // How much of the end, where that is known.
  int64_t at_least = 0;            // Records that are certainly missing.
};

struct LossFigure {
  int64_t lost = 0;     // Known lost records: the sum of all data_loss stats.
  int64_t located = 0;  // Number of lost records with a known time.
  std::vector<EndFigure> ends;
  // Programs that ran while nothing was recorded, between two parts of the recording, and how
  // often.
  std::vector<std::pair<std::string, int64_t>> between_parts;
  std::string one_part;  // For example "a longer --duration makes it one part"; empty: no such hint
                         // is known.

  // Number of lost records without a known time. Such records may lie in idle time.
  int64_t anywhere() const { return lost > located ? lost - located : 0; }
  // True if more records than `lost` may be lost. Causes: a process did not close its recording, or
  // programs ran between two parts of a recording.
  bool more_possible() const;
  bool may_lack() const { return lost > 0 || more_possible(); }
  // The longest possible loss at the end of a process; nullopt: unknown, or no process lost its
  // end.
  std::optional<int64_t> tail_ns() const;

  // "0", "3", "at least 866, and up to 0.50 s of the end", "8 executions between 2 parts".
  std::string Text() const;
  // For example "ended by exit" or "ended: 7 exit, 1 signal 9 (SIGKILL)"; empty: no source records
  // how processes ended.
  std::string EndsText() const;
  // One sentence per process that may have lost records, the largest loss first.
  std::vector<std::string> Sentences() const;
};

// "signal 9 (SIGKILL)", "abort", "exit".
std::string EndText(const EndFigure& end);

// `lost`: the sum of the data_loss stats. Errors are the database's.
Result<LossFigure> LoadLosses(store::RunDb& db, int64_t lost);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_LOSSES_H_
