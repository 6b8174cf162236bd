// SPDX-License-Identifier: Apache-2.0

// Converts numbers in the rows of one recording to ids of the run. The ids are those of process,
// devices, modules, launch configurations, lanes (a stream of a context) and hints for the
// instruction of a launch. It also has the names of API functions. Configurations, lanes and hints
// are added to the sink when a row first refers to them; the others by the Add functions. A device
// without description is added with its first lane.
//
// Order: AddProcess, AddDevices; SeeThunk for thunks that ran; AddModules, because hints need the
// ids; then the others.
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_RECORDING_RECORDED_NAMES_H_
#define XLATRACE_IMPORTERS_RECORDING_RECORDED_NAMES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "importers/common/counters.h"
#include "importers/recording/recorded_process.h"
#include "model/event_sink.h"
#include "recording/reader.h"

namespace xlatrace::importers {

// Later than any clock; sums of two stay in 64 bits.
inline constexpr uint64_t kLatestRecordedNs = uint64_t{1} << 61;

class RecordedNames {
 public:
  // All three arguments must outlive this object. `process` has been read to its end.
  RecordedNames(RecordedProcess& process, model::EventSink& sink, Counters& counters)
      : process_(process), sink_(sink), counters_(counters) {}

  void AddProcess(std::optional<int64_t> recorded_from_ns);
  void AddDevices();
  model::Id process_id() const { return process_id_; }
  const std::string& gpu_names() const { return gpu_names_; }

  // "cuLaunchKernelEx", as recorded by the process.
  const std::string& FunctionName(const recording::ApiCallRow& row);

  // The thunk (string id of its title) was running at that time.
  void SeeThunk(uint32_t thunk, uint64_t time_ns);
  // String id of the title of the module that registered `thunk`; 0: not known.
  uint32_t ModuleTitleOf(uint32_t thunk) const;
  // The modules of which something ran.
  void AddModules();
  // Ops that communicate: no launch of theirs lies in their ranges.
  void AddCollectiveOps();
  bool has_modules() const { return !module_ids_.empty(); }
  // The latest module with that name and id; 0: none.
  model::Id ModuleNamed(std::string_view name, std::optional<int64_t> program_id) const;

  // Call it at each new segment, because numbers of configurations and lanes start again.
  void StartSegment() {
    configs_.clear();
    lanes_.clear();
  }
  model::Id ConfigOf(uint32_t number, const recording::ConfigRow& row);
  model::Id LaneOf(uint32_t number, const recording::LaneRow& row);
  // The hint for a launch. `thunk`, `title`: string ids of its ranges, 0: unknown.
  model::Id HintOf(uint32_t thunk, uint32_t title, model::Evidence evidence);
  // Number of launches under a thunk of another module than the run around them.
  int64_t thunks_in_other_run() const { return thunks_in_other_run_; }

 private:
  struct HintKey {
    uint32_t thunk = 0;
    uint32_t title = 0;
    model::Evidence evidence = model::Evidence::kNone;
    bool operator==(const HintKey&) const = default;
  };
  struct HintKeyHash {
    size_t operator()(const HintKey& key) const {
      return Mix(uint64_t{key.thunk} << 32 | key.title, static_cast<uint64_t>(key.evidence));
    }
  };

  model::Id DeviceOf(uint32_t id);
  model::Id OutsideOps();
  model::Id MakeHint(uint32_t thunk, uint32_t title, model::Evidence evidence);

  RecordedProcess& process_;
  model::EventSink& sink_;
  Counters& counters_;
  model::Id process_id_ = 0;
  std::string gpu_names_;
  std::map<uint32_t, model::Id> devices_;
  std::map<std::pair<recording::ApiDomain, uint32_t>, std::string> functions_;
  std::unordered_map<uint32_t, int64_t> first_seen_;  // By string id of the thunk.
  std::map<std::pair<std::string, std::optional<int64_t>>, model::Id> module_ids_;
  std::vector<model::Id> registered_ids_;  // Ids of process_.modules; 0: not added.
  std::vector<model::Id> configs_;         // By number in the segment.
  std::vector<model::Id> lanes_;           // By number in the segment.
  std::unordered_map<HintKey, model::Id, HintKeyHash> hints_;
  HintKey last_hint_key_;
  model::Id last_hint_ = 0;
  int64_t thunks_in_other_run_ = 0;
  model::Id outside_ops_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_RECORDED_NAMES_H_
