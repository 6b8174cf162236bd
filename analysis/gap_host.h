// SPDX-License-Identifier: Apache-2.0

// Activity of a device's host around a gap: calls and ranges of its process by time, and the call
// that launches the next activity. Also decides whether a range belongs to later work.
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

// Kinds of calls and ranges, detected from their names. Values are bits.
enum class HostAct : uint8_t {
  kNothing = 0,
  kWaits = 1,           // Waits for the device.
  kLaunches = 2,        // A call that puts work into the device's queue.
  kLoadsInput = 4,      // A range of a data loader.
  kNamesExecution = 8,  // A range around the execution of a program.
  kOnlyPlace = 16,      // A Python function or module: a place, not an action.
};
// All kinds that apply, as bits.
uint8_t ActsOf(const model::HostEvent& event);

// Events of a process by start; for each event, the latest end of it and all earlier events.
struct HostTimeline {
  struct Entry {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    const model::HostEvent* event = nullptr;
    // Devices that the thread works for; null: any device.
    const std::set<model::Id>* devices = nullptr;
    uint8_t acts = 0;

    bool Does(HostAct act) const { return (acts & static_cast<uint8_t>(act)) != 0; }
    // Can work of this thread delay the device of the gap?
    bool Concerns(const model::GapRow& gap) const {
      return devices == nullptr || devices->contains(gap.device_id);
    }
  };
  std::vector<Entry> by_start;
  std::vector<int64_t> latest_end;
  std::map<int64_t, std::vector<const model::HostEvent*>> waits;  // API calls; thread, by start.

  // Position of the first event that has not ended at this instant.
  size_t FirstAfter(int64_t time_ns) const;
  // The API call that began at this instant; null: none.
  const model::HostEvent* CallAt(int64_t start_ns) const;
};

// "jit_f" for "XlaModule:#hlo_module=jit_f,program_id=3#" and key "hlo_module="; empty if absent.
std::string_view AnnotationValue(std::string_view name, std::string_view key);

// "cudaStreamSynchronize" for "cudaStreamSynchronize_v3020", a form of CUPTI and Nsight Systems.
std::string_view WithoutVersion(std::string_view name);

class GapHost {
 public:
  // All arguments must outlive this object; `call_of` may be empty.
  GapHost(const model::RunTables& run, const model::AttributionTables& attribution,
          const HostCallOf& call_of, const std::vector<model::HostEvent>& events);

  // Events of the process of the gap's device.
  const HostTimeline& TimelineOf(const model::GapRow& gap) const;

  // The host's call that launched an activity (a position), or the activity after the gap.
  std::optional<model::HostCall> CallOf(size_t activity) const;
  std::optional<model::HostCall> CallOfNext(const model::GapRow& gap) const;

  // For gaps without a known call: true if a range names work that runs only after the next
  // activity. Then the host launched the next activity earlier and was not late.
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
