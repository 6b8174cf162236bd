// SPDX-License-Identifier: Apache-2.0

// Which devices a host thread works for. A process that drives several GPUs has a thread for each
// (XLA does). The activity of another GPU's thread does not explain why this GPU was idle.
//
// A thread that makes at least half of a device's launches works for the device. If the source has
// no calls, streams named after a thread (nsys-jax: "launched by thread 8482") are used instead. A
// thread that works for no device in this sense, such as a Python thread, may delay all devices.
//
// Cost: one pass over the activities if a process has several devices; otherwise none.
// Thread-safety: calls of const functions may run in parallel.

#ifndef XLATRACE_ANALYSIS_LAUNCH_THREADS_H_
#define XLATRACE_ANALYSIS_LAUNCH_THREADS_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/launch_queue.h"
#include "model/host_event.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

class LaunchThreads {
 public:
  // `call_of` may be empty.
  LaunchThreads(const model::RunTables& run, const HostCallOf& call_of,
                const std::vector<model::HostEvent>& events);

  // The devices that this thread's activity may delay; null: any. Lives as long as this object.
  const std::set<model::Id>* DevicesOf(model::Id process_id, int64_t thread_id) const;

 private:
  using Thread = std::pair<model::Id, int64_t>;  // Process, thread.

  void ReadCalls(const model::RunTables& run, const HostCallOf& call_of,
                 const std::set<model::Id>& processes);
  void ReadStreams(const model::RunTables& run, const std::vector<model::HostEvent>& events,
                   const std::set<model::Id>& processes);

  std::map<Thread, std::set<model::Id>> devices_of_;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LAUNCH_THREADS_H_
