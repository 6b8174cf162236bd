// SPDX-License-Identifier: Apache-2.0

// Results of replay (analysis/replay/): critical paths, and the replay error. Rows of the views
// `critical_path` and `replay`.

#ifndef XLATRACE_MODEL_REPLAY_ROWS_H_
#define XLATRACE_MODEL_REPLAY_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/words.h"

namespace xlatrace::model {

// Kind of a part of a critical path. `gap`: the device waited, but not for a host call.
enum class PathKind : uint8_t { kKernel, kCopy, kCollective, kHost, kGap };

std::string_view Text(PathKind v);
template <>
std::span<const std::string_view> Texts<PathKind>();

// Parts of one step and device follow each other without a hole, and sum to the step.
struct CriticalPathRow {
  int64_t step = 0;
  int64_t device_id = 0;
  int64_t activity_id = 0;  // For host and gap: the activity that started after it, possibly on
                            // another device.
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  PathKind kind = PathKind::kGap;
};

// One row per run that can be replayed, by steps or as a whole.
struct ReplayRow {
  int64_t steps = 0;  // Number of replayed steps; 0: the whole run was replayed.
  int64_t step_ns = 0;
  std::optional<int64_t> error_milli_pct;
  std::optional<int64_t> largest_error_milli_pct;
  std::string withheld;  // Reason why nothing is predicted; empty: predictions exist.
  // With the changes of all findings that can be replayed.
  std::optional<int64_t> all_findings_step_ns;
  std::string assumptions_json;  // Array of sentences.
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_REPLAY_ROWS_H_
