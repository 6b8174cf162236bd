// SPDX-License-Identifier: Apache-2.0

// What of a run was recorded, what is known to be missing, and how its processes ended.
//
// What was not recorded is never time (docs/schema.md): no gap, step, rate, cause or certainty may
// span the end of a window. Sources say windows and losses as they know them; the sink composes
// them, so that in RunTables a window holds no loss: it ends where one begins (kLoss), and the next
// begins where it ends. A process with a device has at least one window.
//
// Times are of the device: from the first instant at which all that ran is in the run to the last.
// Nanoseconds as everywhere (model/events.h). Thread-safety: plain data, pure functions.

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

// Records that are known, or must be feared, to be missing. All that is missing ran, or would have
// run, between start and end.
struct Loss {
  int64_t process_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t at_least = 0;      // Records that are certainly missing; 0: perhaps none.
  uint32_t correlation = 0;  // Of the call whose record is missing; 0: not told.
  std::string cause;         // "dropped", "tail"...: a word of the source.

  bool operator==(const Loss&) const = default;
};

// How a process ended, and what that may have cost. At most one per process.
struct ProcessEnding {
  int64_t process_id = 0;
  ProcessEnd how = ProcessEnd::kUnknown;
  std::optional<int64_t> signal;              // kSignal, where it is known.
  std::optional<int64_t> unrecorded_from_ns;  // From here on work may be missing; none: none is.
  // How much may be missing at the end; 0: nothing. None: not known.
  std::optional<int64_t> unrecorded_tail_ns;
};

// Windows by process and start, cut where `losses` lie. `losses` in any order.
std::vector<Window> CutByLosses(std::vector<Window> windows, const std::vector<Loss>& losses);

// Asks composed windows (RunTables::windows). Logarithmic in the windows of a process. A process
// of which no window is known counts as recorded all the time.
class Recorded {
 public:
  explicit Recorded(const std::vector<Window>& windows);

  // Everything from one instant to the other was recorded.
  bool Whole(int64_t process_id, int64_t start_ns, int64_t end_ns) const;
  // Number of the window that holds the instant, or of the last that began before it; windows of a
  // process count from 1. 0: none.
  size_t WindowAt(int64_t process_id, int64_t time_ns) const;
  // The windows of a process, by start.
  const std::vector<Window>& Of(int64_t process_id) const;

 private:
  std::vector<std::vector<Window>> by_process_;  // Index: process_id.
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_WINDOWS_H_
