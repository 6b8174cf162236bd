// SPDX-License-Identifier: Apache-2.0

// A run for exports: launches one by one, and the small dictionaries for the numbers in them.
//
// Rows are those of run.db's views (docs/schema.md), read through the store's fast scans. Memory
// holds only rows that exist once per module, label or configuration, never rows per launch.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_RUN_ROWS_H_
#define XLATRACE_EXPORT_RUN_ROWS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/time_split.h"
#include "base/error.h"
#include "model/derived.h"
#include "store/launch_scan.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

// Called regularly with the numbers of launches read and in all.
using Progress = std::function<void(int64_t done, int64_t all)>;

// The selected part of a run.
struct Selection {
  std::optional<std::pair<int64_t, int64_t>> steps;  // First and last, both included.
  std::optional<int64_t> device_id;

  bool all() const { return !steps && !device_id; }
  bool HasStep(const std::optional<int64_t>& step) const {
    return !steps || (step && *step >= steps->first && *step <= steps->second);
  }
  bool HasDevice(int64_t id) const { return !device_id || id == *device_id; }
};

struct ProcessFacts {
  int64_t process_id = 0;
  std::optional<int64_t> pid, rank;
  std::string host, name, command;
};
struct DeviceFacts {
  int64_t device_id = 0;
  int64_t process_id = 0;
  std::optional<int64_t> ordinal, sm_count, memory_bytes, clock_hz, memory_bandwidth;
  std::string name, kind, compute_capability, uuid, peak_flops;
};
struct LaneFacts {
  int64_t device_id = 0;
  std::optional<int64_t> stream_id;
  std::string name;
};
struct ConfigFacts {
  std::string kind;  // kernel, memcpy, memset, graph, op, range.
  std::string copy_kind, name, kernel_symbol, occupancy_limiter;
  std::optional<int64_t> grid[3], block[3], registers, shared_static, shared_dynamic;
  std::optional<double> occupancy_pct;
};
struct ModuleFacts {
  int64_t process_id = 0;
  std::optional<int64_t> program_id, peak_memory_bytes;
  std::string name, fingerprint, role;
};
struct StepFacts {
  int64_t step = 0, device_id = 0, start_ns = 0, end_ns = 0, busy_ns = 0;
  bool steady = false;
  bool typical = false;
};
struct CallKindFacts {
  int64_t process_id = 0, thread_id = 0;
  std::string name;
};
struct RangeKindFacts {
  int64_t process_id = 0, thread_id = 0;
  std::string domain, text;
};

// Entry of a dictionary whose ids count from 1; empty if there is no such id.
template <typename Entry>
const Entry& At(const std::vector<Entry>& entries, int64_t id) {
  static const Entry none{};
  const bool known = id >= 1 && static_cast<uint64_t>(id) <= entries.size();
  return known ? entries[static_cast<size_t>(id) - 1] : none;
}

// Offset for a format of unsigned times: the whole seconds by which the trace must begin earlier.
// It is 0 if no time is negative. Whole seconds keep the fractions, for a comparison with another
// clock's times.
Result<int64_t> WholeSecondsBeforeZero(store::RunDb& db);

class RunRows {
 public:
  // Fails if the run, or the selection, has no launch, because there is nothing to export.
  // Launches, steps and devices outside of the selection are left out. Ranges outside of the
  // selected steps are, too.
  static Result<RunRows> Load(store::RunDb& db, Progress progress, Selection selection = {});

  const Selection& selection() const { return selection_; }
  // From the start of the first selected step to the end of the last one; nullopt if all steps are
  // selected.
  const std::optional<std::pair<int64_t, int64_t>>& window() const { return window_; }

  store::RunDb& db() const { return *db_; }
  const std::vector<ProcessFacts>& processes() const { return processes_; }
  const std::vector<DeviceFacts>& devices() const { return devices_; }
  const std::vector<LaneFacts>& lanes() const { return lanes_; }
  const std::vector<ConfigFacts>& configs() const { return configs_; }
  const std::vector<ModuleFacts>& modules() const { return modules_; }
  const std::vector<StepFacts>& steps() const { return steps_; }
  const model::AttributionTables& attribution() const { return attribution_; }

  const model::Label& LabelOf(int64_t label_id) const { return At(attribution_.labels, label_id); }
  // Null where the label has none.
  const model::InstructionRow* InstructionOf(const model::Label& label) const {
    return label.instruction_id == 0 ? nullptr
                                     : &At(attribution_.instructions, label.instruction_id);
  }
  // Values of the views, also for activities without an instruction.
  model::Phase PhaseOf(const model::Label& label) const;
  std::string_view OpKindOf(const model::Label& label, const ConfigFacts& config) const;
  const ProcessFacts& ProcessOfDevice(int64_t device_id) const;
  // "rank 0", or else "process 1234", with the host if there are several hosts.
  std::string ProcessTitle(const ProcessFacts& process) const;
  std::string DeviceTitle(const DeviceFacts& device) const;  // "GPU 0: NVIDIA H100".

  // All launches in the order in which they were recorded (about the order of time).
  Status ForEachLaunch(const std::function<Status(const store::ScannedLaunch&)>& row) const;
  // Launches with known times, by start, then the longer one first. A buffer has 65,536 rows. If
  // more later launches were recorded before a launch, it comes late.
  Status ForEachByStart(const std::function<Status(const store::ScannedLaunch&)>& row) const;
  // The same for ranges of host threads.
  Status ForEachRangeByStart(const std::function<Status(const store::ScannedRange&)>& row) const;

  Result<std::vector<CallKindFacts>> LoadCallKinds() const;
  Result<std::vector<RangeKindFacts>> LoadRangeKinds() const;
  // Value of run_info; empty if the key is missing.
  std::string Info(std::string_view key) const;
  // Nanoseconds since 1970 at time 0; 0 if not known.
  int64_t start_unix_ns() const { return start_unix_ns_; }
  int64_t launch_count() const { return launch_count_; }

 private:
  explicit RunRows(store::RunDb& db) : db_(&db) {}
  Status LoadDevices();
  Status LoadConfigs();
  Status Select();

  store::RunDb* db_;
  Selection selection_;
  std::optional<std::pair<int64_t, int64_t>> window_;
  Progress progress_;
  int64_t launch_count_ = 0;
  int64_t start_unix_ns_ = 0;
  std::unordered_map<std::string, std::string> info_;
  std::vector<ProcessFacts> processes_;
  std::vector<DeviceFacts> devices_;
  std::vector<LaneFacts> lanes_;
  std::vector<ConfigFacts> configs_;
  std::vector<ModuleFacts> modules_;
  std::vector<StepFacts> steps_;
  model::AttributionTables attribution_;
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_RUN_ROWS_H_
