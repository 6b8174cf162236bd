// SPDX-License-Identifier: Apache-2.0

// Device time by scope and by phase (docs/schema.md, scope_time and phase_time).

#ifndef XLATRACE_ANALYSIS_SCOPE_TIME_H_
#define XLATRACE_ANALYSIS_SCOPE_TIME_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/time_split.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

struct SplitTimes {
  std::vector<model::ScopeTimeRow> scopes;  // By descending self time; only scopes with activities.
  std::vector<model::PhaseTimeRow> phases;  // By device, step (outside steps first), phase.
};

// Both tables are sums of the same pieces, so each sums to device time, per device and per phase.
// Activities without an instruction are the rows with neither op_name nor layer.
SplitTimes BuildSplitTimes(const model::RunTables& run, const model::AttributionTables& attribution,
                           const TimeSplit& split,
                           const std::vector<std::optional<int32_t>>& step_of);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_SCOPE_TIME_H_
