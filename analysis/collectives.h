// SPDX-License-Identifier: Apache-2.0

// Communication between devices, one row per collective activity (docs/schema.md, collective).

#ifndef XLATRACE_ANALYSIS_COLLECTIVES_H_
#define XLATRACE_ANALYSIS_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/exchanges.h"
#include "analysis/instruction_facts.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Collects the segments of all devices, then returns the rows in the order of activities.
//
// `op` is the HLO opcode without -start and -done. For a kernel without instruction, `op` comes
// from the kernel's name (ncclDevKernel_AllReduce...: all-reduce). `bytes` is the result's size in
// memory of one device (for a -start: the result part of its tuple). `exposed_ns` is the time in
// which the collective runs and no computation does. For `group_id`, `wait_ns` and
// `arrival_skew_ns` see exchanges.h. Bandwidths (analysis/collective_model.h) are over the time
// without waiting. They are NULL if bytes or group are unknown, and for -done, which only waits.
class Collectives {
 public:
  // `facts` must outlive this.
  Collectives(const model::RunTables& run, const model::AttributionTables& attribution,
              const std::vector<ActivityClass>& classes, const RunFacts& facts);

  void Add(const Segment& segment);

  // `step_of`: per activity.
  std::vector<model::CollectiveRow> Rows(const std::vector<std::optional<int32_t>>& step_of) const;

 private:
  void FillExchange(size_t activity, const Exchange& exchange, model::CollectiveRow& row) const;

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const std::vector<ActivityClass>& classes_;
  const RunFacts& facts_;
  std::vector<int64_t> exposed_ns_;  // Per activity; empty when the run has no collective.
};

// Sets bound_by to `waiting` for each network op that spends most of its time waiting.
void MarkWaiting(const model::RunTables& run, const model::AttributionTables& attribution,
                 model::AnalysisTables& tables);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COLLECTIVES_H_
