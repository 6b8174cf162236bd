// SPDX-License-Identifier: Apache-2.0

// Why the order of launches says no more of them than it does: a finished run is attributed once
// more to hear it, since run.db keeps answers and their evidence, not what stood against them.
//
// Costs an attribution of the whole run and its memory (RunBuilder's).
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_TOOLS_ORDER_DOUBTS_H_
#define XLATRACE_TOOLS_ORDER_DOUBTS_H_

#include <vector>

#include "base/error.h"
#include "correlator/thunk_order/doubt.h"
#include "store/run_db.h"

namespace xlatrace::tools {

// By activity_id - 1; empty where order was not asked of anything.
Result<std::vector<correlator::Doubt>> OrderDoubts(store::RunDb& db);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_ORDER_DOUBTS_H_
