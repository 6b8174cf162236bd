// Communication between devices, one row per collective activity (RUNDB, collective).

#ifndef XLATRACE_ANALYSIS_COLLECTIVES_H_
#define XLATRACE_ANALYSIS_COLLECTIVES_H_

#include <cstdint>
#include <vector>

#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Collects the segments of all devices, then gives the rows in the order of activities.
//
// `op` is the HLO opcode without -start and -done; of a kernel without an instruction, what its
// name says (ncclDevKernel_AllReduce...: all-reduce). `bytes` is the size of the result in memory
// of one device (of a -start: the result part of its tuple). exposed_ns: time during which it runs
// and no computation does. Bandwidths, group size and skew need the device assignment: NULL here.
class Collectives {
 public:
  Collectives(const model::RunTables& run, const model::AttributionTables& attribution,
              const std::vector<ActivityClass>& classes);

  void Add(const Segment& segment);

  std::vector<model::CollectiveRow> Rows() const;

 private:
  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const std::vector<ActivityClass>& classes_;
  std::vector<int64_t> exposed_ns_;  // Per activity; empty when the run has no collective.
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COLLECTIVES_H_
