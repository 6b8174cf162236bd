// SPDX-License-Identifier: Apache-2.0

// What the host of a device did around a gap: the calls and ranges of its process in time, the call
// that makes what follows, and whether a range belongs to work that comes only later.
//
// Thread-safety: const after construction.

#ifndef XLATRACE_ANALYSIS_GAP_HOST_H_
#define XLATRACE_ANALYSIS_GAP_HOST_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "analysis/launch_queue.h"
#include "analysis/launch_threads.h"
#include "model/derived.h"
#include "model/host_event.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// What a call or range does, by its name.
enum class HostAct : uint8_t {
  kNothing = 0,
  kWaits = 1,           // For the device.
  kLaunches = 2,        // A call that puts work into the device's queue.
  kLoadsInput = 4,      // A range of a data loader.
  kNamesExecution = 8,  // A range around the execution of a program.
  kOnlyPlace = 16,      // A Python function or module: says where, not what was done.
};
// Any of them, as bits.
uint8_t ActsOf(const model::HostEvent& event);

// Events of a process by start, and the latest end of any that begins no later.
struct HostTimeline {
  struct Entry {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    const model::HostEvent* event = nullptr;
    const std::set<model::Id>* devices = nullptr;  // That its thread works for; null: any.
    uint8_t acts = 0;

    bool Does(HostAct act) const { return (acts & static_cast<uint8_t>(act)) != 0; }
    // May what its thread does hold the gap's device up?
    bool Concerns(const model::GapRow& gap) const {
      return devices == nullptr || devices->contains(gap.device_id);
    }
  };
  std::vector<Entry> by_start;
  std::vector<int64_t> latest_end;
  std::map<int64_t, std::vector<const model::HostEvent*>> waits;  // API calls; thread, by start.

  // The position of the first event that has not ended at this instant.
  size_t FirstAfter(int64_t time_ns) const;
  // The API call that began at this instant; null: none.
  const model::HostEvent* CallAt(int64_t start_ns) const;
};

// "jit_f" of "XlaModule:#hlo_module=jit_f,program_id=3#" for "hlo_module="; empty: not there.
std::string_view AnnotationValue(std::string_view name, std::string_view key);

// "cudaStreamSynchronize" of "cudaStreamSynchronize_v3020", as CUPTI and Nsight Systems name calls.
std::string_view WithoutVersion(std::string_view name);

class GapHost {
 public:
  // All must outlive this; `call_of` may be empty.
  GapHost(const model::RunTables& run, const model::AttributionTables& attribution,
          const HostCallOf& call_of, const std::vector<model::HostEvent>& events);

  // Events of the process of the gap's device.
  const HostTimeline& TimelineOf(const model::GapRow& gap) const;

  // The host's call that made an activity (a position), or what follows the gap.
  std::optional<model::HostCall> CallOf(size_t activity) const;
  std::optional<model::HostCall> CallOfNext(const model::GapRow& gap) const;

  // Where no call is known: does a range name work that runs only after what follows the gap? Then
  // the host had launched that before, and was not late for it.
  bool IsAhead(const model::HostEvent& event, const model::GapRow& gap) const;

 private:
  std::string_view ModuleOf(size_t activity) const;
  std::string_view InstructionOf(size_t activity) const;

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const HostCallOf& call_of_;
  const LaunchThreads threads_;
  std::map<model::Id, HostTimeline> timelines_;  // By process.
  const HostTimeline nothing_;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GAP_HOST_H_
