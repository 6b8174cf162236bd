// SPDX-License-Identifier: Apache-2.0

// Rows of the view `gap_stack`: idle time of a device by the sampled stack of the thread that would
// have given it work.

#ifndef XLATRACE_MODEL_GAP_STACK_H_
#define XLATRACE_MODEL_GAP_STACK_H_

#include <cstdint>

#include "model/events.h"
#include "model/time_tree.h"

namespace xlatrace::model {

struct GapStackRow {
  Id device_id = 0;
  TreeKind part = TreeKind::kRoot;  // The level of the time tree: step, startup, between_steps...
  TreeKind kind = TreeKind::kHost;
  Id stack_id = 0;  // Stack of HostSampleTables.
  int64_t ns = 0;
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_GAP_STACK_H_
