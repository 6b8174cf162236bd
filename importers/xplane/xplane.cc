// SPDX-License-Identifier: Apache-2.0
#include "importers/xplane/xplane.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "importers/common/dropped_count.h"
#include "importers/common/name_list.h"
#include "importers/common/text_fields.h"
#include "importers/xplane/xplane_import.h"

namespace xlatrace::importers {
namespace xplane {
namespace {

using model::Severity;

// Relative times stay far below (10^17 ns are three years), unix times far above.
constexpr int64_t kAbsoluteNs = 100'000'000'000'000'000;
constexpr int64_t kLatestNs = std::numeric_limits<int64_t>::max() / 4;

struct NamedRole {
  std::string_view name;
  Role role;
};

// xprof/utils/xplane_schema.cc and what XLA's annotations add (xla-kernels, section 2).
constexpr NamedRole kRoles[] = {
    {"hlo_op", Role::kHloOp},
    {"hlo_module", Role::kHloModule},
    {"program_id", Role::kProgramId},
    {"run_id", Role::kRunId},
    {"device_ordinal", Role::kDeviceOrdinal},
    {"correlation_id", Role::kCorrelationId},
    {"kernel_details", Role::kKernelDetails},
    {"memcpy_details", Role::kMemcpyDetails},
    {"memset_details", Role::kMemsetDetails},
    {"Memset_details", Role::kMemsetDetails},  // CUDA writes it so, ROCm in small letters
    {"memalloc_details", Role::kMemoryDetails},
    {"memfree_details", Role::kMemoryDetails},
    {"memory_residency_details", Role::kMemoryDetails},
    {"theoretical_occupancy_pct", Role::kOccupancy},
    {"name", Role::kOpNameEnd},
    {"prefix", Role::kOpNamePrefix},
    {"tf_op", Role::kTfOp},
    {"hlo_category", Role::kCategory},
    {"source", Role::kSource},
    {"flops", Role::kFlops},
    {"bytes_accessed", Role::kBytesAccessed},
    {"cuda_graph_id", Role::kGraphId},
    {"cuda_graph_exec_id", Role::kGraphId},
    {"cuda_graph_node_id", Role::kGraphNodeId},
    {"step_num", Role::kStepNumber},
    {"module", Role::kModuleOfPass},
};

Role RoleOfName(std::string_view name) {
  for (const NamedRole& entry : kRoles) {
    if (entry.name == name) return entry.role;
  }
  return hlo::IsHloProtoStat(name) ? Role::kHloProto : Role::kNone;
}

std::optional<int64_t> FindStart(const Space& space) {
  for (const Plane& plane : space.planes) {
    if (plane.name != "Task Environment") continue;
    if (const auto start = plane.IntStat("profile_start_time"); start && *start > 0) return start;
  }
  // Without it: the earliest absolute line, when lines are absolute.
  std::optional<int64_t> earliest;
  for (const Plane& plane : space.planes) {
    for (const Line& line : plane.lines) {
      const int64_t timestamp = ReadLineHeader(line).timestamp_ns;
      if (timestamp < kAbsoluteNs) continue;
      earliest = std::min(earliest.value_or(timestamp), timestamp);
    }
  }
  return earliest;
}

void SetClock(Import& import, const Space& space) {
  import.start_unix_ns = FindStart(space);
  const std::optional<int64_t> sink_start = import.sink.start_unix_ns();
  if (import.start_unix_ns && sink_start) {
    import.shift_ns = *import.start_unix_ns - *sink_start;
  } else if (import.start_unix_ns) {
    import.sink.SetStart(*import.start_unix_ns);
  } else if (sink_start) {
    import.counters.Add("clock_not_known", Severity::kNotice, 1,
                        "this profile has no wall clock; its times cannot be placed beside the "
                        "other inputs of the run");
  }
}

void AddProcessAndInfo(Import& import, const Space& space) {
  model::Process process;
  if (!space.hostnames.empty()) process.host = std::string(space.hostnames.front());
  for (const Plane& plane : space.planes) {
    if (!process.pid) process.pid = plane.IntStat("process_id");
    if (plane.name == "Task Environment") {
      if (const auto stop = plane.IntStat("profile_stop_time"); stop && *stop > 0) {
        import.sink.SetRunInfo("end_unix_ns", std::to_string(*stop));
        import.stop_unix_ns = *stop;
      }
    }
    if (plane.name != "/host:metadata") continue;
    for (const Stat& stat : plane.stats) {
      const std::string_view name = plane.StatName(stat.id);
      const std::string_view text = plane.TextOf(stat);
      if (name.ends_with("_version") && !text.empty()) import.sink.SetRunInfo(name, text);
    }
  }
  import.host = process.host;
  import.process = import.sink.AddProcess(process);
  import.sink.SetRunInfo("source", "xplane");
  if (!process.host.empty()) import.sink.SetRunInfo("host", process.host);
}

// The session is the window: several of one process are kept apart by it. It ends where the program
// stops the profiler, because from there on only the profile is written.
void AddSessionWindow(Import& import) {
  if (!import.start_unix_ns || !import.stop_unix_ns) return;
  if (*import.stop_unix_ns <= *import.start_unix_ns) return;
  const int64_t start_ns =
      import.shift_ns;  // The sink counts from its start, this file from its own.
  int64_t end_ns = start_ns + (*import.stop_unix_ns - *import.start_unix_ns);
  if (import.stop_call_ns) {
    const int64_t stop_ns = std::max(*import.stop_call_ns, import.last_work_ns);
    end_ns = std::clamp(stop_ns, start_ns, end_ns);
  }
  import.sink.AddWindow({import.process, start_ns, end_ns, model::WindowEnd::kEnd});
}

// Errors and warnings of the profiler itself.
void CountProfilerMessages(Import& import, const Space& space) {
  const auto add = [&](std::string_view name, Severity severity, std::string_view text) {
    const int64_t dropped = DroppedIn(text);
    import.counters.Add(dropped > 0 ? "dropped_by_profiler" : name,
                        dropped > 0 ? Severity::kDataLoss : severity, std::max<int64_t>(dropped, 1),
                        fmt::format("the profiler said: {}", text.substr(0, 400)));
  };
  for (const std::string& text : space.errors) add("profiler_error", Severity::kError, text);
  for (const std::string& text : space.warnings) {
    add("profiler_warning", Severity::kNotice, text);
  }
  for (const Plane& plane : space.planes) {
    for (const Stat& stat : plane.stats) {
      if (stat.kind != Stat::Kind::kInt || stat.integer <= 0) continue;
      if (plane.StatName(stat.id).find("dropped") == std::string_view::npos) continue;
      import.counters.Add("dropped_by_profiler", Severity::kDataLoss, stat.integer,
                          "the profiler dropped events; profile fewer steps");
    }
  }
}

void FinishRunInfo(Import& import) {
  if (import.kernels > 0) {
    import.sink.SetRunInfo("granularity", model::Text(model::Granularity::kKernel));
  } else if (import.ops > 0) {
    import.sink.SetRunInfo("granularity", model::Text(model::Granularity::kOp));
  } else {
    import.counters.Add("no_device_activity", Severity::kNotice, 1,
                        "the profile holds no device time: CPU profiles have it from jaxlib 0.5 "
                        "and TensorFlow 2.20 on; on a GPU another profiler may have held CUPTI");
  }
  std::string names;
  for (const std::string& name : import.device_names) AddName(name, names);
  if (!names.empty()) import.sink.SetRunInfo("gpu", names);
}

// Events of anything, or a program.
bool HasContent(const Plane& plane) {
  const Roles roles(plane);
  const bool has_program =
      std::any_of(plane.events.begin(), plane.events.end(), [&](const EventMetadata& event) {
        return std::any_of(event.stats.begin(), event.stats.end(), [&](std::string_view stat) {
          try {
            return roles.Of(ReadStatId(stat)) == Role::kHloProto;
          } catch (const protozero::exception&) {
            return false;
          }
        });
      });
  return has_program || std::any_of(plane.lines.begin(), plane.lines.end(), [](const Line& line) {
           return ReadLineHeader(line).event_count > 0;
         });
}

std::string MangledHint(const ByteSource& source) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  constexpr size_t kBlock = 1 << 20;
  std::string block(kBlock, '\0');
  uint64_t count = 0;
  // Blocks overlap by what a sign may lack; their starts are not inside of one that was counted.
  for (uint64_t start = 0; start < source.size();) {
    const std::string_view bytes(block.data(), source.ReadAt(start, block.data(), kBlock));
    if (bytes.size() < kReplacement.size()) break;
    size_t done = bytes.size() - (kReplacement.size() - 1);
    for (size_t at = bytes.find(kReplacement); at != std::string_view::npos;
         at = bytes.find(kReplacement, at + kReplacement.size())) {
      ++count;
      done = std::max(done, at + kReplacement.size());
    }
    start += done;
  }
  if (count < 16 || count * 200 < source.size()) return {};
  return fmt::format(
      "the file went through a text conversion: {} times it holds EF BF BD, the UTF-8 sign for "
      "a byte that was lost; copy the original again in binary mode",
      count);
}

}  // namespace

Roles::Roles(const Plane& plane) : plane_(plane) {
  roles_.reserve(plane.stat_names.size());
  for (const std::string_view name : plane.stat_names) roles_.push_back(RoleOfName(name));
}

int64_t Import::LineBase(int64_t timestamp_ns) const {
  const int64_t absolute = timestamp_ns >= kAbsoluteNs ? start_unix_ns.value_or(0) : 0;
  return timestamp_ns - absolute + shift_ns;
}

std::optional<Interval> Import::Time(int64_t line_base_ns, const Event& event) {
  if (event.aggregated) {
    counters.Add("event_without_time", Severity::kNotice);
    return std::nullopt;
  }
  const auto floor_to_ns = [](int64_t ps) { return ps / 1000 - (ps % 1000 < 0 ? 1 : 0); };
  int64_t end_ps = 0;
  Interval time;
  if (event.duration_ps < 0 ||
      __builtin_add_overflow(event.offset_ps, event.duration_ps, &end_ps) ||
      __builtin_add_overflow(line_base_ns, floor_to_ns(event.offset_ps), &time.start_ns) ||
      __builtin_add_overflow(line_base_ns, floor_to_ns(end_ps), &time.end_ns) ||
      time.start_ns < -kLatestNs || time.end_ns > kLatestNs) {
    counters.Add("event_time_invalid", Severity::kDataLoss, 1,
                 "events with impossible times were left out; the file may be damaged");
    return std::nullopt;
  }
  return time;
}

model::Id Import::DeviceOf(const Plane& plane, const model::Device& device) {
  model::Id& id = plane_devices[std::string(plane.name)];
  if (id == 0) {
    device_names.push_back(device.name);
    id = sink.AddDevice(device);
  }
  return id;
}

int64_t Import::RunKey(model::Id device, int64_t program_id, int64_t run_id) {
  int64_t& key = run_keys[{device, program_id, run_id}];
  if (key == 0) {
    key = NewRunKey();
    if (sessions != nullptr) sessions->OnRun(device, program_id, run_id);
  }
  return key;
}

model::Id Import::ApiCallOf(int64_t correlation_id) {
  if (correlation_id == 0) return 0;
  const auto it = calls.find(correlation_id);
  if (it == calls.end()) return 0;
  HostCall& call = it->second;
  if (call.id == 0) {
    call.id = sink.AddApiCall({.process_id = process,
                               .thread_id = call.thread_id,
                               .name = call.name,
                               .correlation_id = correlation_id,
                               .start_ns = call.start_ns,
                               .end_ns = call.end_ns});
  }
  return call.id;
}

void Import::CountDamage(const LineHeader& header) {
  if (!header.damaged) return;
  counters.Add("damaged_line", Severity::kDataLoss, 1,
               "part of these lines does not parse and was left out; copy the file again from its "
               "source");
}

void Import::CountDamagedEvents(int64_t events) {
  counters.Add("damaged_event", Severity::kDataLoss, events,
               "these events do not parse and were left out; copy the file again from its source");
}

bool Import::HasName(const Plane& plane, const Event& event) {
  if (plane.event_index.Find(event.metadata_id) >= 0) return true;
  counters.Add("event_without_name", plane.damaged ? Severity::kDataLoss : Severity::kNotice, 1,
               "the profile does not hold the names of these events; they were left out");
  return false;
}

int64_t OrdinalOf(std::string_view plane_name, std::string_view prefix) {
  const std::string_view rest = plane_name.substr(prefix.size());
  size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
  return ParseInt(rest.substr(0, digits)).value_or(0);
}

}  // namespace xplane

Status ImportXplane(std::string_view bytes, const std::string& path, model::EventSink& sink) {
  return ImportXplane(ByteSource::OfBytes(bytes), path, sink);
}

Status ImportXplane(const ByteSource& source, const std::string& path, model::EventSink& sink) {
  using namespace xplane;  // NOLINT: the parts of this importer.
  const Space space = ReadSpace(source);
  if (space.first_damage) {
    // After a text conversion no byte of a file is certain.
    const std::string mangled = MangledHint(source);
    const bool has_part = std::any_of(space.planes.begin(), space.planes.end(), HasContent);
    if (!mangled.empty() || !has_part) {
      return MakeError(
          fmt::format("reading '{}' as an XSpace profile: {} at byte {} of {}", path,
                      space.first_damage->reason, space.first_damage->offset, source.size()),
          mangled.empty() ? "the file is cut off or damaged; copy it again from its source"
                          : mangled);
    }
  }
  if (space.planes.empty()) {
    return MakeError(fmt::format("reading '{}': an XSpace profile without planes", path),
                     "the profiler wrote nothing; check that something ran between start_trace "
                     "and stop_trace");
  }

  if (std::none_of(space.planes.begin(), space.planes.end(), HasContent)) {
    return MakeError(fmt::format("reading '{}': an XSpace profile without any event", path),
                     space.errors.empty() ? "the profiler recorded nothing; check that something "
                                            "ran between start_trace and stop_trace"
                                          : "the profiler reported: " + space.errors.front());
  }

  Import import(sink, path);
  if (space.first_damage) {
    import.counters.Add(
        "damaged_plane", Severity::kDataLoss, space.damaged_messages,
        fmt::format("parts of the profile do not parse and were left out, the first at byte {} of "
                    "{}; copy the file again from its source",
                    space.first_damage->offset, source.size()));
  }
  SetClock(import, space);
  AddProcessAndInfo(import, space);
  CountProfilerMessages(import, space);
  for (const Plane& plane : space.planes) {
    if (plane.name.starts_with(kGpuPrefix)) ++import.gpu_planes;
    ImportModules(import, plane);
  }
  for (const Plane& plane : space.planes) {
    if (plane.name.starts_with("/host:") && plane.name != "/host:metadata") {
      ImportHostPlane(import, plane);
    }
  }
  const Plane* steps = nullptr;
  for (const Plane& plane : space.planes) {
    if (plane.name.starts_with(kGpuPrefix)) {
      ImportGpuPlane(import, plane);
    } else if (plane.name.starts_with(kTpuPrefix)) {
      ImportTpuPlane(import, plane);
    } else if (!plane.name.starts_with("/host:") && plane.name != "Task Environment" &&
               !plane.lines.empty()) {
      int64_t events = 0;
      for (const Line& line : plane.lines) events += ReadLineHeader(line).event_count;
      import.counters.Add(fmt::format("plane_not_imported: {}", plane.name.substr(0, 60)),
                          model::Severity::kNotice, events,
                          "events of a plane that xlatrace does not read");
    } else {
      continue;
    }
    if (steps == nullptr && plane.name.starts_with("/device:")) steps = &plane;
  }
  if (import.step_marks == 0 && steps != nullptr) {
    for (const Line& line : steps->lines) {
      if (ReadLineHeader(line).name == "Steps") ImportStepsLine(import, *steps, line);
    }
  }
  FinishHostCalls(import);
  AddSessionWindow(import);
  FinishRunInfo(import);
  import.repeated.Count(import.counters);
  import.counters.Flush(sink);
  return {};
}

}  // namespace xlatrace::importers
