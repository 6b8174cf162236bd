// SPDX-License-Identifier: Apache-2.0

// How long each collective waited for its group, and for whom.
//
// `collective.wait_ns` counts where it is known. If only the names of kernels are known (NCCL
// beside PyTorch), collectives are paired here. The k-th run of a name on each device is one
// exchange, if all devices run the name equally often. All leave an exchange together, so the
// shortest run arrived last. The others waited for the difference; no clock is compared.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_WAITS_H_
#define XLATRACE_ANALYSIS_TIME_TREE_WAITS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis::time_tree {

struct Wait {
  int64_t ns = 0;
  uint32_t late = 0;  // The activity that arrived last.
};

// By activity (index); activities whose waiting is not known are not there. `by_device`:
// ActivitiesByDevice.
std::unordered_map<uint32_t, Wait> WaitsOf(const model::RunTables& run,
                                           const std::vector<ActivityClass>& classes,
                                           const std::vector<std::vector<uint32_t>>& by_device,
                                           const std::vector<model::CollectiveRow>& collectives);

// "rank 3" or "device 1": where an activity ran.
std::string PlaceOf(const model::RunTables& run, uint32_t activity);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_WAITS_H_
