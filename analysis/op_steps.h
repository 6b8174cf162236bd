// SPDX-License-Identifier: Apache-2.0

// Steps of a device that runs a framework's ops outside of XLA: the graph of a step runs again and
// again, so that its ops recur.
//
// A step begins where the op that runs first of those that run once in each of them does; before it
// belongs what has come in the same order before all of them. Ops that train (backward, optimizer)
// say how many steps there are, where there are any: an evaluation runs the forward ones, too.
// Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_OP_STEPS_H_
#define XLATRACE_ANALYSIS_OP_STEPS_H_

#include <cstdint>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

struct OpSteps {
  std::vector<int64_t> starts_ns;  // In order; empty: nothing recurs, or little of what ran is ops.
  int64_t end_ns = 0;              // Of the last one.
  bool trains = false;
};

OpSteps FindOpSteps(const model::RunTables& run, const model::AttributionTables& attribution,
                    model::Id device_id);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OP_STEPS_H_
