// SPDX-License-Identifier: Apache-2.0

// State that the readers of the different planes share during one import of an XSpace. Internal.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_XPLANE_XPLANE_IMPORT_H_
#define XLATRACE_IMPORTERS_XPLANE_XPLANE_IMPORT_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "importers/common/counters.h"
#include "importers/common/repeated_rows.h"
#include "importers/common/same_process_sink.h"
#include "importers/xplane/xplane_reader.h"
#include "model/event_sink.h"

namespace xlatrace::importers::xplane {

// Role of a stat, from its name. One lookup per stat replaces string compares per event.
enum class Role : uint8_t {
  kNone,
  kHloOp,
  kHloModule,
  kProgramId,
  kRunId,
  kDeviceOrdinal,
  kCorrelationId,
  kKernelDetails,
  kMemcpyDetails,
  kMemsetDetails,
  kMemoryDetails,  // Allocations and residency: no activities.
  kOccupancy,
  kOpNameEnd,     // "name": op_name below the module's common prefix.
  kOpNamePrefix,  // "prefix": that prefix.
  kTfOp,
  kCategory,
  kSource,
  kFlops,
  kBytesAccessed,
  kGraphId,
  kGraphNodeId,
  kStepNumber,
  kModuleOfPass,  // "module" or "name" of compiler events share kOpNameEnd and this.
  kHloProto,
};

// Roles of a plane's stats by XStat.metadata_id.
class Roles {
 public:
  explicit Roles(const Plane& plane);
  Role Of(int64_t stat_id) const {
    const int64_t i = plane_.stat_index.Find(stat_id);
    return i < 0 ? Role::kNone : roles_[static_cast<size_t>(i)];
  }

 private:
  const Plane& plane_;
  std::vector<Role> roles_;
};

// A host call that a profiler recorded with a correlation id. It is passed to the sink when a
// launch refers to it.
struct HostCall {
  std::string_view name;
  int64_t thread_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  model::Id id = 0;
};

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct Import {
  Import(model::EventSink& s, const std::string& path)
      : sink(s), sessions(dynamic_cast<SameProcessSink*>(&s)), counters(path) {}

  model::EventSink& sink;
  SameProcessSink* sessions;  // Null: the file is the only profile of its process.
  Counters counters;
  RepeatedRows repeated;
  std::string host;
  model::Id process = 0;
  std::optional<int64_t> start_unix_ns;  // Zero of relative line times.
  std::optional<int64_t> stop_unix_ns;   // End of the session.
  int64_t shift_ns = 0;                  // From this file's start to the sink's.
  std::optional<int64_t> stop_call_ns;   // Start of the Python call that stops the profiler.
  int64_t last_work_ns = INT64_MIN;      // End of the last activity.

  std::unordered_map<int64_t, HostCall> calls;                            // By correlation id.
  std::map<std::string, std::pair<model::Id, int>, std::less<>> modules;  // Name -> id, how many.
  std::map<std::string, model::Id, std::less<>> plane_devices;            // By name of the plane.
  std::map<int64_t, model::Id> cpu_devices;                               // By ordinal.
  std::map<std::tuple<model::Id, int64_t, int64_t>, int64_t> run_keys;    // device, program, run.
  int64_t next_run = 0;
  int64_t gpu_planes = 0;
  int64_t kernels = 0;
  int64_t ops = 0;
  int64_t host_ranges = 0;
  int64_t step_marks = 0;
  std::vector<std::string> device_names;
  std::set<std::string, std::less<>> call_names;  // Names of calls that were not kept.

  // Line time to nanoseconds of the sink.
  int64_t LineBase(int64_t timestamp_ns) const;
  // Interval of an event; nullopt (counted) when it has no time or an impossible one.
  std::optional<Interval> Time(int64_t line_base_ns, const Event& event);

  void AddActivity(const model::Activity& activity) {
    last_work_ns = std::max(last_work_ns, activity.end_ns);
    sink.AddActivity(activity);
  }
  // The device of a plane, the same for planes of one name.
  model::Id DeviceOf(const Plane& plane, const model::Device& device);
  // A number for one run of a module, unique in the sink.
  int64_t NewRunKey() { return (process << 32) + ++next_run; }
  // The number of run (program, run_id) on a device.
  int64_t RunKey(model::Id device, int64_t program_id, int64_t run_id);
  // Hands the call to the sink on first use; 0 when there is none of that id.
  model::Id ApiCallOf(int64_t correlation_id);
  // Counts a call that is not kept, by name.
  void CountCall(std::string_view name);
  // Counts a line of which part does not parse.
  void CountDamage(const LineHeader& header);
  void CountDamagedEvents(int64_t events);
  // False, counted: the plane does not hold the event's metadata.
  bool HasName(const Plane& plane, const Event& event);
};

void ImportModules(Import& import, const Plane& plane);
void ImportHostPlane(Import& import, const Plane& plane);
// Gives synchronisations to the sink and counts calls that no activity refers to. Must be last.
void FinishHostCalls(Import& import);
void ImportGpuPlane(Import& import, const Plane& plane);
void ImportTpuPlane(Import& import, const Plane& plane);

// Marks of a "Steps" line, used when the host has none.
void ImportStepsLine(Import& import, const Plane& plane, const Line& line);

inline constexpr std::string_view kGpuPrefix = "/device:GPU:";
inline constexpr std::string_view kTpuPrefix = "/device:TPU:";

// Number behind the prefix: "/device:TPU:0 SparseCore 1" -> 0.
int64_t OrdinalOf(std::string_view plane_name, std::string_view prefix);

}  // namespace xlatrace::importers::xplane

#endif  // XLATRACE_IMPORTERS_XPLANE_XPLANE_IMPORT_H_
