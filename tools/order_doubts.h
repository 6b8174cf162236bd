// SPDX-License-Identifier: Apache-2.0

// The reason why the launch order did not decide the instruction of a launch. run.db has results
// and their evidence, but not these reasons. The finished run is therefore attributed again.
//
// Cost: an attribution of the whole run, with its memory (RunBuilder). Thread-safety: one thread
// per RunDb.

#ifndef XLATRACE_TOOLS_ORDER_DOUBTS_H_
#define XLATRACE_TOOLS_ORDER_DOUBTS_H_

#include <vector>

#include "base/error.h"
#include "correlator/thunk_order/doubt.h"
#include "store/run_db.h"

namespace xlatrace::tools {

// By activity_id - 1; empty if launch order was not used.
Result<std::vector<correlator::Doubt>> OrderDoubts(store::RunDb& db);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_ORDER_DOUBTS_H_
