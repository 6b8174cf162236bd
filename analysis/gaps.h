// SPDX-License-Identifier: Apache-2.0

// Idle intervals of a device (docs/schema.md, gap).

#ifndef XLATRACE_ANALYSIS_GAPS_H_
#define XLATRACE_ANALYSIS_GAPS_H_

#include <cstdint>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"
#include "model/windows.h"

namespace xlatrace::analysis {

inline constexpr int64_t kMinGapNs = 1000;

// Takes the segments of one device, in order. A gap is idle time between two activities. Time
// before the first and after the last activity is no gap.
class GapFinder {
 public:
  // `compiles`: times in which the device's process compiled. If they cover more than half of a
  // gap, its cause is `compile`. All other gaps are `unknown` here, because their cause needs host
  // events. Gaps are appended to `rows`: at most one per activity. Idle time that contains a pause
  // or a loss (`recorded`) is not a gap.
  GapFinder(const model::RunTables& run, model::Id device_id, const Intervals& compiles,
            const model::Recorded& recorded, std::vector<model::GapRow>& rows)
      : run_(run),
        device_id_(device_id),
        process_id_(run.devices[static_cast<size_t>(device_id) - 1].process_id),
        compiles_(compiles),
        recorded_(recorded),
        rows_(rows) {}

  void Add(const Segment& segment);

  int64_t interrupted_ns() const { return interrupted_ns_; }
  int64_t small_gaps() const { return small_gaps_; }
  int64_t small_gaps_ns() const { return small_gaps_ns_; }

 private:
  const model::RunTables& run_;
  model::Id device_id_;
  model::Id process_id_;
  const Intervals& compiles_;
  const model::Recorded& recorded_;
  std::vector<model::GapRow>& rows_;
  int64_t small_gaps_ = 0;
  int64_t small_gaps_ns_ = 0;
  int64_t interrupted_ns_ = 0;
  int64_t last_end_ns_ = 0;
  model::Id last_activity_id_ = 0;  // The first of the activities that ended last. 0: none yet.
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GAPS_H_
