// SPDX-License-Identifier: Apache-2.0

// Occupancy of every launch configuration of a run on every device that ran it.

#ifndef XLATRACE_ANALYSIS_LAUNCH_OCCUPANCY_H_
#define XLATRACE_ANALYSIS_LAUNCH_OCCUPANCY_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/device_facts.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Computed if registers and block size are recorded and the capability is known. Otherwise it is
// the figure of the source, if the source has one. Thread-safety: immutable after construction.
class LaunchOccupancies {
 public:
  // `devices`: one per device of the run.
  LaunchOccupancies(const model::RunTables& run, const std::vector<DeviceFacts>& devices);

  // Occupancy of an activity; null if unknown.
  const model::OccupancyRow* Of(size_t activity) const;

  // By configuration, device.
  const std::vector<model::OccupancyRow>& rows() const { return rows_; }
  // Number of launches whose recorded figures do not allow even one block on an SM. Such launches
  // have no occupancy.
  int64_t impossible_launches() const { return impossible_launches_; }

 private:
  uint64_t KeyOf(size_t activity) const;

  const model::RunTables& run_;
  std::unordered_map<uint64_t, uint32_t> row_of_;  // Index + 1; 0: nothing known.
  std::vector<uint32_t> dense_;  // The same map as a vector, used if there are few possible keys.
  std::vector<model::OccupancyRow> rows_;
  int64_t impossible_launches_ = 0;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LAUNCH_OCCUPANCY_H_
