// SPDX-License-Identifier: Apache-2.0
#include "analysis/launch_threads.h"

namespace xlatrace::analysis {

using model::Id;

LaunchThreads::LaunchThreads(const model::RunTables& run, const HostCallOf& call_of,
                             const std::vector<model::HostEvent>& events) {
  std::map<Id, int> devices;
  for (const model::Device& device : run.devices) ++devices[device.process_id];
  std::set<Id> processes;
  for (const auto& [process, count] : devices) {
    if (count > 1) processes.insert(process);
  }
  if (processes.empty()) return;
  if (call_of) ReadCalls(run, call_of, processes);
  for (const auto& [thread, of] : devices_of_) processes.erase(thread.first);
  ReadStreams(run, events, processes);
}

void LaunchThreads::ReadCalls(const model::RunTables& run, const HostCallOf& call_of,
                              const std::set<Id>& processes) {
  std::map<Thread, std::map<Id, int64_t>> launches;
  std::map<Id, int64_t> all;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const Id device = run.LaneOf(i).device_id;
    const Id process = run.devices[static_cast<size_t>(device) - 1].process_id;
    if (!processes.contains(process)) continue;
    const auto call = call_of(i);
    if (!call || call->thread_id == 0) continue;
    ++launches[{process, call->thread_id}][device];
    ++all[device];
  }
  for (const auto& [thread, of] : launches) {
    for (const auto& [device, count] : of) {
      if (2 * count >= all[device]) devices_of_[thread].insert(device);
    }
  }
}

void LaunchThreads::ReadStreams(const model::RunTables& run,
                                const std::vector<model::HostEvent>& events,
                                const std::set<Id>& processes) {
  if (processes.empty()) return;
  std::set<Thread> threads;
  for (const model::HostEvent& event : events) threads.insert({event.process_id, event.thread_id});
  for (const model::Lane& lane : run.lanes) {
    const Id process = run.devices[static_cast<size_t>(lane.device_id) - 1].process_id;
    const Thread thread = {process, lane.stream_id};
    if (processes.contains(process) && threads.contains(thread)) {
      devices_of_[thread].insert(lane.device_id);
    }
  }
}

const std::set<Id>* LaunchThreads::DevicesOf(Id process_id, int64_t thread_id) const {
  const auto known = devices_of_.find({process_id, thread_id});
  return known == devices_of_.end() ? nullptr : &known->second;
}

}  // namespace xlatrace::analysis
