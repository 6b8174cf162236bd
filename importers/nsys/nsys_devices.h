// SPDX-License-Identifier: Apache-2.0

// Processes, devices and lanes of an Nsight Systems export. They are added when the first row
// refers to them, with facts from PROCESSES and the TARGET_INFO tables.
//
// Ids: globalPid = ...|pid << 24, globalTid = globalPid | tid (24 bits each).
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_NSYS_NSYS_DEVICES_H_
#define XLATRACE_IMPORTERS_NSYS_NSYS_DEVICES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "importers/common/counters.h"
#include "importers/nsys/nsys_tables.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// The part of a global id that is the thread's.
inline constexpr int64_t kTidMask = 0xffffff;

class NsysDevices {
 public:
  explicit NsysDevices(model::EventSink& sink) : sink_(sink) {}

  // Sets the host name of all processes that are added later.
  void SetHost(std::string_view host) { host_ = std::string(host); }
  // Reads facts per GPU (by its number in the machine), CUDA ordinals per process, priorities of
  // streams, and names of processes and threads. Every table may be missing.
  Status ReadFacts(store::Database& db, const InternedStrings& strings, Counters& counters);

  model::Id ProcessOf(int64_t global_id);
  // `pid_part`: a globalPid. `ordinal`: of CUDA in that process.
  model::Id DeviceOf(int64_t pid_part, int64_t ordinal);

  struct LaneKey {
    int64_t pid_part, ordinal, context, stream;
    auto operator<=>(const LaneKey&) const = default;
  };
  model::Id LaneOf(const LaneKey& key);

  // Names of the added devices without duplicates, for run_info.
  const std::string& gpu_names() const { return gpu_names_; }

 private:
  Status ReadOldFacts(store::Database& db, const InternedStrings& strings, Counters& counters);

  model::EventSink& sink_;
  std::string host_;
  std::string gpu_names_;
  std::unordered_map<int64_t, std::string> process_names_;
  // By the pid part of the global id, then by thread.
  std::unordered_map<int64_t, std::map<int64_t, std::string>> thread_names_;
  std::map<int64_t, model::Id> processes_;      // By pid part of the global id.
  std::map<int64_t, model::Device> gpu_facts_;  // By TARGET_INFO_GPU.id.
  std::map<int64_t, int64_t> gpu_of_ordinal_;
  std::map<std::pair<int64_t, int64_t>, int64_t> gpu_of_process_;  // (pid, ordinal).
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> stream_priority_;
  std::map<std::pair<int64_t, int64_t>, model::Id> devices_;  // (pid part, ordinal).
  std::map<LaneKey, model::Id> lanes_;
  LaneKey last_lane_key_{};
  model::Id last_lane_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_NSYS_DEVICES_H_
