// SPDX-License-Identifier: Apache-2.0

// The idle time of one gap by kind, from the division of the time tree.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_GAP_PART_H_
#define XLATRACE_ANALYSIS_TIME_TREE_GAP_PART_H_

#include <cstdint>

#include "model/events.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::time_tree {

// A gap has several parts, also several of one kind. The parts of long gaps only
// (kMinExplainedGapNs).
struct GapPart {
  int64_t gap_end_ns = 0;  // With the device, this identifies the gap.
  int64_t ns = 0;
  int32_t device_id = 0;
  model::TreeKind kind = model::TreeKind::kUnknown;
};

// The cause of a shorter gap is not determined. The clocks of host and device differ by about this
// time, and a queue that never runs empty has such gaps between kernels.
inline constexpr int64_t kMinExplainedGapNs = 5'000;

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_GAP_PART_H_
