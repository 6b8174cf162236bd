// SPDX-License-Identifier: Apache-2.0

// Contention of threads that run the ops of a CPU device.
//
// While the caller waits for the device and no op runs, the thread of the next op should run. If
// that thread waits for a CPU, the recording has only its run-queue delay per second, and no op
// names its thread. Therefore the delay of all threads of the process counts, up to the CPU time
// that other programs used in that second. It is spread over the idle time of that second.
//
// Thread-safety: immutable once made.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_WORKER_DELAY_H_
#define XLATRACE_ANALYSIS_TIME_TREE_WORKER_DELAY_H_

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/intervals.h"
#include "model/host_sample.h"

namespace xlatrace::analysis::time_tree {

class WorkerDelay {
 public:
  WorkerDelay() = default;
  // `idle`: idle time of the CPU devices, by process.
  WorkerDelay(const model::HostSampleTables& samples, const std::map<model::Id, Intervals>& idle);

  // The part of an idle interval in which a thread of the process waited for a CPU.
  int64_t Within(model::Id process_id, int64_t start_ns, int64_t end_ns) const;

 private:
  struct Second {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    double share = 0;  // Part of the idle time.
  };
  std::map<model::Id, std::vector<Second>> seconds_;  // By start.
};

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_WORKER_DELAY_H_
