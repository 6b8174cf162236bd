// SPDX-License-Identifier: Apache-2.0

// The recorded parts of a run, the known losses, and the endings of its processes.
//
// Time outside of the recording is not run time (docs/schema.md): no gap, step, rate, cause or
// certainty may cross the end of a window. Sources give windows and losses separately. The sink
// composes them, so that a window in RunTables contains no loss. A window ends at the start of a
// loss (kLoss), and the next one starts at its end. A process with a device has at least one
// window.
//
// Times are those of the device: from the first to the last instant at which all executed work is
// in the run. Nanoseconds (model/events.h). Thread-safety: plain data, pure functions.

#ifndef XLATRACE_MODEL_WINDOWS_H_
#define XLATRACE_MODEL_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/words.h"

namespace xlatrace::model {

// One interval in which the devices of a process were recorded.
struct Window {
  int64_t process_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  WindowEnd why_ended = WindowEnd::kEnd;

  bool operator==(const Window&) const = default;
};

// Records that are lost or may be lost. All of them ran, or would have run, between start and end.
struct Loss {
  int64_t process_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t at_least = 0;      // Number of records that are certainly lost; 0: possibly none.
  uint32_t correlation = 0;  // Correlation of the call whose record is lost; 0: not known.
  std::string cause;         // A word of the source: "dropped", "tail"...

  bool operator==(const Loss&) const = default;
};

// The ending of a process and its possible losses. At most one per process.
struct ProcessEnding {
  int64_t process_id = 0;
  ProcessEnd how = ProcessEnd::kUnknown;
  std::optional<int64_t> signal;              // kSignal, if it is known.
  std::optional<int64_t> unrecorded_from_ns;  // Work may be lost from here on; nullopt: no work is
                                              // lost.
  // Upper bound of the lost work at the end; 0: nothing. nullopt: not known.
  std::optional<int64_t> unrecorded_tail_ns;
};

// Windows by process and start, cut at `losses`. `losses` in any order.
std::vector<Window> CutByLosses(std::vector<Window> windows, const std::vector<Loss>& losses);

// Queries composed windows (RunTables::windows). Logarithmic in the windows of a process. A process
// without windows counts as recorded all the time.
class Recorded {
 public:
  explicit Recorded(const std::vector<Window>& windows);

  // True if the whole interval was recorded.
  bool Whole(int64_t process_id, int64_t start_ns, int64_t end_ns) const;
  // Number of the last window that began at or before the instant. Windows of a process count from
  // 1. 0: none.
  size_t WindowAt(int64_t process_id, int64_t time_ns) const;
  // The windows of a process, by start.
  const std::vector<Window>& Of(int64_t process_id) const;

 private:
  std::vector<std::vector<Window>> by_process_;  // Index: process_id.
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_WINDOWS_H_
