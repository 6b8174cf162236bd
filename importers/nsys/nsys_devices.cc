// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys/nsys_devices.h"

#include <fmt/format.h>

#include "importers/common/name_list.h"
#include "importers/nsys/nsys_tables.h"

namespace xlatrace::importers {
namespace {

int64_t PidOf(int64_t global_id) { return (global_id >> 24) & 0xffffff; }

}  // namespace

// Facts per GPU (by its number in the machine), and which CUDA ordinal of which process it is.
Status NsysDevices::ReadFacts(store::Database& db, const InternedStrings& strings,
                              Counters& counters) {
  XLATRACE_ASSIGN(TableScan gpus,
                  TableScan::Open(db, "TARGET_INFO_GPU",
                                  {"id", "name", "uuid", "computeMajor", "computeMinor", "smCount",
                                   "clockRate", "memoryBandwidth", "totalMemory", "maxWarpsPerSm",
                                   "maxBlocksPerSm", "maxRegistersPerSm", "maxShmemPerSm",
                                   "maxShmemPerBlockOptin", "threadsPerWarp", "cuDevice"},
                                  {"id"}));
  while (gpus.Next(counters)) {
    model::Device device;
    device.name = std::string(strings.Of(gpus, 1));
    device.uuid = std::string(gpus.Text(2));
    if (!gpus.IsNull(3) && !gpus.IsNull(4)) {
      device.compute_capability = fmt::format("{}.{}", gpus.IntOr(3, 0), gpus.IntOr(4, 0));
    }
    device.sm_count = Positive(gpus.Int(5));
    device.clock_hz = Positive(gpus.Int(6));
    device.memory_bandwidth_bytes_per_s = Positive(gpus.Int(7));
    device.memory_bytes = Positive(gpus.Int(8));
    device.warp_size = Positive(gpus.Int(14));
    if (const auto warps = Positive(gpus.Int(9)); warps && *warps < 4096) {
      device.max_threads_per_sm = *warps * device.warp_size.value_or(32);
    }
    device.max_blocks_per_sm = Positive(gpus.Int(10));
    device.registers_per_sm = Positive(gpus.Int(11));
    device.shared_memory_per_sm_bytes = Positive(gpus.Int(12));
    device.shared_memory_per_block_optin_bytes = Positive(gpus.Int(13));
    const int64_t id = gpus.IntOr(0, -1);
    gpu_facts_[id] = device;
    if (const auto ordinal = gpus.Int(15)) gpu_of_ordinal_.emplace(*ordinal, id);
  }
  if (gpu_facts_.empty()) XLATRACE_TRY(ReadOldFacts(db, strings, counters));
  XLATRACE_ASSIGN(TableScan cuda, TableScan::Open(db, "TARGET_INFO_CUDA_DEVICE",
                                                  {"gpuId", "cudaId", "pid"}, {"gpuId", "cudaId"}));
  while (cuda.Next(counters)) {
    gpu_of_process_[{cuda.IntOr(2, -1), cuda.IntOr(1, -1)}] = cuda.IntOr(0, -1);
  }
  XLATRACE_ASSIGN(TableScan streams,
                  TableScan::Open(db, "TARGET_INFO_CUDA_STREAM",
                                  {"streamId", "processId", "contextId", "priority"},
                                  {"streamId", "priority"}));
  while (streams.Next(counters)) {
    if (streams.IsNull(3)) continue;
    stream_priority_[{streams.IntOr(1, -1), streams.IntOr(2, -1), streams.IntOr(0, -1)}] =
        streams.IntOr(3, 0);
  }
  XLATRACE_ASSIGN(TableScan processes,
                  TableScan::Open(db, "PROCESSES", {"globalPid", "name"}, {"globalPid", "name"}));
  while (processes.Next(counters)) {
    process_names_.emplace(processes.IntOr(0, 0) & ~kTidMask, std::string(processes.Text(1)));
  }
  XLATRACE_ASSIGN(TableScan threads, TableScan::Open(db, "ThreadNames", {"globalTid", "nameId"},
                                                     {"globalTid", "nameId"}));
  while (threads.Next(counters)) {
    const int64_t tid = threads.IntOr(0, 0);
    const std::string_view name = strings.Of(threads, 1);
    if (!name.empty()) thread_names_[tid & ~kTidMask][tid & kTidMask] = std::string(name);
  }
  return {};
}

// Exports of 2020 and early 2021 have a row per GPU under CUPTI's names. Only values with a certain
// unit are used.
Status NsysDevices::ReadOldFacts(store::Database& db, const InternedStrings& strings,
                                 Counters& counters) {
  XLATRACE_ASSIGN(TableScan gpus,
                  TableScan::Open(db, "TARGET_INFO_CUDA_GPU",
                                  {"deviceId", "name", "computeCapabilityMajor",
                                   "computeCapabilityMinor", "numMultiprocessors",
                                   "numThreadsPerWarp", "maxWarpsPerMultiprocessor", "uuid"},
                                  {"deviceId"}));
  while (gpus.Next(counters)) {
    model::Device device;
    device.name = std::string(strings.Of(gpus, 1));
    if (gpus.IntOr(2, 0) > 0 && !gpus.IsNull(3)) {
      device.compute_capability = fmt::format("{}.{}", gpus.IntOr(2, 0), gpus.IntOr(3, 0));
    }
    device.sm_count = Positive(gpus.Int(4));
    device.warp_size = Positive(gpus.Int(5));
    if (const auto warps = Positive(gpus.Int(6)); warps && *warps < 4096) {
      device.max_threads_per_sm = *warps * device.warp_size.value_or(32);
    }
    device.uuid = std::string(gpus.Text(7));
    gpu_facts_[gpus.IntOr(0, -1)] = device;
  }
  return {};
}

model::Id NsysDevices::ProcessOf(int64_t global_id) {
  const int64_t pid_part = global_id & ~kTidMask;
  model::Id& id = processes_[pid_part];
  if (id == 0) {
    model::Process process;
    process.host = host_;
    if (pid_part != 0) {
      process.pid = PidOf(pid_part);
      process.source_id = pid_part;
    }
    const auto name = process_names_.find(pid_part);
    if (name != process_names_.end()) process.command = name->second;
    id = sink_.AddProcess(process);
    const auto threads = thread_names_.find(pid_part);
    if (pid_part != 0 && threads != thread_names_.end()) {
      for (const auto& [thread, thread_name] : threads->second) {
        sink_.AddThread({.process_id = id, .thread_id = thread, .name = thread_name});
      }
    }
  }
  return id;
}

model::Id NsysDevices::DeviceOf(int64_t pid_part, int64_t ordinal) {
  model::Id& id = devices_[{pid_part, ordinal}];
  if (id != 0) return id;
  int64_t gpu = ordinal;
  const auto in_process = gpu_of_process_.find({PidOf(pid_part), ordinal});
  if (in_process != gpu_of_process_.end()) {
    gpu = in_process->second;
  } else if (const auto known = gpu_of_ordinal_.find(ordinal); known != gpu_of_ordinal_.end()) {
    gpu = known->second;
  }
  const auto facts = gpu_facts_.find(gpu);
  model::Device device = facts == gpu_facts_.end() ? model::Device{} : facts->second;
  device.process_id = ProcessOf(pid_part);
  device.kind = model::DeviceKind::kGpu;
  device.ordinal = ordinal;
  AddName(device.name, gpu_names_);
  id = sink_.AddDevice(device);
  return id;
}

model::Id NsysDevices::LaneOf(const LaneKey& key) {
  if (last_lane_ != 0 && last_lane_key_ == key) return last_lane_;
  last_lane_key_ = key;
  model::Id& id = lanes_[key];
  last_lane_ = id;
  if (id != 0) return id;
  model::Lane lane;
  lane.device_id = DeviceOf(key.pid_part, key.ordinal);
  lane.stream_id = key.stream;
  if (key.context >= 0) lane.context_id = key.context;
  lane.name = fmt::format("Stream #{}", key.stream);
  const auto priority = stream_priority_.find({PidOf(key.pid_part), key.context, key.stream});
  if (priority != stream_priority_.end()) lane.priority = priority->second;
  id = last_lane_ = sink_.AddLane(lane);
  return id;
}

}  // namespace xlatrace::importers
