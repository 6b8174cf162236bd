// Communication between devices, one row per collective activity (docs/schema.md, collective).

#ifndef XLATRACE_ANALYSIS_COLLECTIVES_H_
#define XLATRACE_ANALYSIS_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/instruction_facts.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Collects the segments of all devices, then gives the rows in the order of activities.
//
// `op` is the HLO opcode without -start and -done; of a kernel without an instruction, what its
// name says (ncclDevKernel_AllReduce...: all-reduce). `bytes` is the size of the result in memory
// of one device (of a -start: the result part of its tuple). exposed_ns: time during which it runs
// and no computation does.
//
// arrival_skew_ns: how long it ran before the last device of its group arrived, that is, waited.
// Known where all devices that run the instruction are one group of one process (one clock) and
// ran it equally often; the k-th run on each is then the same collective.
// Bandwidths (analysis/collective_model.h) are over the time that is left without the waiting;
// NULL where bytes or group are not known, and of -done, which only waits.
class Collectives {
 public:
  // `facts` must outlive this.
  Collectives(const model::RunTables& run, const model::AttributionTables& attribution,
              const std::vector<ActivityClass>& classes, const RunFacts& facts);

  void Add(const Segment& segment);

  std::vector<model::CollectiveRow> Rows() const;

 private:
  // Of each row: how many devices run its instruction, and how long it waited.
  struct Arrival {
    int64_t devices = 0;
    std::optional<int64_t> skew_ns;
  };
  std::unordered_map<size_t, Arrival> FindArrivals() const;
  void FillBandwidth(size_t activity, const Arrival& arrival, model::CollectiveRow& row) const;

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const std::vector<ActivityClass>& classes_;
  const RunFacts& facts_;
  std::vector<int64_t> exposed_ns_;  // Per activity; empty when the run has no collective.
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COLLECTIVES_H_
