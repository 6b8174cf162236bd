// SPDX-License-Identifier: Apache-2.0

// Device time of a run in one pass over its activities: by label and launch configuration, and by
// execution.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_COMPARE_ACTIVITY_SUMS_H_
#define XLATRACE_REPORT_COMPARE_ACTIVITY_SUMS_H_

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "report/label_shares.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct ActivitySums {
  struct Sum {
    int64_t ns = 0;
    int64_t calls = 0;
  };
  // Times at which launches of one device began.
  struct Recurrence {
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, count = 0;
    void Add(int64_t start_ns);
  };
  std::unordered_map<uint64_t, Sum> by_label_and_config;  // Label in the high half.
  // The same keys, then the device. Filled only if all activities are summed.
  std::unordered_map<uint64_t, std::map<int64_t, Recurrence>> recurrences;
  // For labels with several owners: the time of each owner, in the order of the owners.
  std::unordered_map<uint64_t, std::vector<int64_t>> shares_ns;
  std::unordered_map<int64_t, int64_t> calls_of_run;  // By label; always of the whole run.
  std::vector<int64_t> execution_ns;                  // By execution_id.
  // All activities of the run, also if `only_steady`.
  int64_t activities = 0;
  uint64_t checksum = 0;  // Hash of start times and durations.
};

// `only_steady`: sum only activities in steady steps.
Result<ActivitySums> SumActivities(store::RunDb& db, bool only_steady, LabelShares& shares);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPARE_ACTIVITY_SUMS_H_
