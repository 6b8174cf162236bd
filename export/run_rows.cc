// SPDX-License-Identifier: Apache-2.0
#include "export/run_rows.h"

#include <algorithm>
#include <charconv>
#include <queue>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/shell_word.h"
#include "export/by_start.h"
#include "store/activity_scan.h"
#include "store/attribution_reader.h"

namespace xlatrace::exporter {
namespace {

using store::Table;

constexpr int64_t kRowsPerProgress = 1 << 16;

template <typename AnyTable>
std::optional<int64_t> OptionalInt(const AnyTable& table, size_t row, std::string_view column) {
  if (table.IsNull(row, column)) return std::nullopt;
  return table.Int(row, column);
}

// Puts `entry` at place `id` of a dictionary that counts from 1. Ids of a file may be anything;
// none of ours is beyond this.
constexpr int64_t kMaxEntryCount = 1 << 26;
template <typename Entry>
void Put(std::vector<Entry>& entries, int64_t id, Entry entry) {
  if (id < 1 || id > kMaxEntryCount) return;
  if (static_cast<size_t>(id) > entries.size()) entries.resize(static_cast<size_t>(id));
  entries[static_cast<size_t>(id) - 1] = std::move(entry);
}

}  // namespace

Result<int64_t> WholeSecondsBeforeZero(store::RunDb& db) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  XLATRACE_ASSIGN(const auto first, store::FirstTime(db));
  return first && *first < 0 ? (-*first + kSecondNs - 1) / kSecondNs * kSecondNs : int64_t{0};
}

Result<RunRows> RunRows::Load(store::RunDb& db, Progress progress, Selection selection) {
  RunRows rows(db);
  rows.progress_ = std::move(progress);
  rows.selection_ = selection;
  XLATRACE_ASSIGN(rows.launch_count_, store::CountLaunches(db));
  if (rows.launch_count_ == 0) {
    return MakeError(fmt::format("'{}' holds no launches: there is nothing to export", db.path()),
                     fmt::format("xlatrace summary {}", ShellWord(db.path())));
  }
  XLATRACE_ASSIGN(const Table info, db.Select("SELECT key, value FROM run_info"));
  for (size_t i = 0; i < info.rows.size(); ++i) {
    rows.info_[info.Text(i, "key")] = info.Text(i, "value");
  }
  const std::string start = rows.Info("start_unix_ns");
  std::from_chars(start.data(), start.data() + start.size(), rows.start_unix_ns_);
  XLATRACE_TRY(rows.LoadDevices());
  XLATRACE_TRY(rows.LoadConfigs());
  XLATRACE_ASSIGN(rows.attribution_, store::ReadAttribution(db));
  XLATRACE_TRY(rows.Select());
  return rows;
}

Status RunRows::Select() {
  if (selection_.all()) return {};
  if (selection_.device_id && At(devices_, *selection_.device_id).device_id == 0) {
    std::string there;
    for (const DeviceFacts& device : devices_) {
      if (device.device_id == 0) continue;
      there += fmt::format("{}{} ({} of {})", there.empty() ? "" : ", ", device.device_id,
                           DeviceTitle(device), ProcessTitle(At(processes_, device.process_id)));
    }
    return MakeError(fmt::format("'{}' has no device {}", db_->path(), *selection_.device_id),
                     fmt::format("device ids: {}", there), ErrorCode::kUsage);
  }
  const std::vector<StepFacts> all_steps = std::exchange(steps_, {});
  for (const StepFacts& step : all_steps) {
    if (!selection_.HasStep(step.step) || !selection_.HasDevice(step.device_id)) continue;
    steps_.push_back(step);
    if (!selection_.steps) continue;
    if (!window_) window_ = {step.start_ns, step.end_ns};
    window_->first = std::min(window_->first, step.start_ns);
    window_->second = std::max(window_->second, step.end_ns);
  }
  if (selection_.steps && steps_.empty()) {
    int64_t first = 0, last = -1;
    for (const StepFacts& step : all_steps) {
      if (last < first) first = last = step.step;
      first = std::min(first, step.step);
      last = std::max(last, step.step);
    }
    return MakeError(fmt::format("'{}' has no step from {} to {}", db_->path(),
                                 selection_.steps->first, selection_.steps->second),
                     last < first ? "this run has no steps: leave out --steps"
                                  : fmt::format("its steps are {} to {}", first, last),
                     ErrorCode::kUsage);
  }
  for (DeviceFacts& device : devices_) {
    if (!selection_.HasDevice(device.device_id)) device = {};
  }
  for (model::Execution& execution : attribution_.executions) {
    const bool inside =
        !window_ || (execution.start_ns < window_->second && execution.end_ns > window_->first);
    if (!inside || !selection_.HasDevice(execution.device_id)) execution = {};
  }
  return {};
}

Status RunRows::LoadDevices() {
  XLATRACE_ASSIGN(const Table processes,
                  db_->Select("SELECT process_id, pid, rank, host, name, command FROM process"));
  for (size_t i = 0; i < processes.rows.size(); ++i) {
    Put(processes_, processes.Int(i, "process_id"),
        ProcessFacts{processes.Int(i, "process_id"), OptionalInt(processes, i, "pid"),
                     OptionalInt(processes, i, "rank"), processes.Text(i, "host"),
                     processes.Text(i, "name"), processes.Text(i, "command")});
  }
  XLATRACE_ASSIGN(const Table devices, db_->Select("SELECT * FROM device"));
  for (size_t i = 0; i < devices.rows.size(); ++i) {
    DeviceFacts device;
    device.device_id = devices.Int(i, "device_id");
    device.process_id = devices.Int(i, "process_id");
    device.ordinal = OptionalInt(devices, i, "ordinal");
    device.sm_count = OptionalInt(devices, i, "sm_count");
    device.memory_bytes = OptionalInt(devices, i, "memory_bytes");
    device.clock_hz = OptionalInt(devices, i, "clock_hz");
    device.memory_bandwidth = OptionalInt(devices, i, "memory_bandwidth_bytes_per_s");
    device.name = devices.Text(i, "name");
    device.kind = devices.Text(i, "kind");
    device.uuid = devices.Text(i, "uuid");
    device.compute_capability = devices.Text(i, "compute_capability");
    device.peak_flops = devices.Text(i, "peak_flops");
    Put(devices_, devices.Int(i, "device_id"), std::move(device));
  }
  XLATRACE_ASSIGN(const Table names, db_->Select("SELECT device_id, stream_id, name FROM stream"));
  std::unordered_map<int64_t, std::unordered_map<int64_t, std::string>> name_of;
  for (size_t i = 0; i < names.rows.size(); ++i) {
    name_of[names.Int(i, "device_id")][names.Int(i, "stream_id", -1)] = names.Text(i, "name");
  }
  XLATRACE_ASSIGN(const Table lanes, store::ScanLanes(*db_));
  for (size_t i = 0; i < lanes.rows.size(); ++i) {
    const int64_t device = lanes.Int(i, "device_id");
    Put(lanes_, lanes.Int(i, "lane_id"),
        LaneFacts{device, OptionalInt(lanes, i, "stream_id"),
                  name_of[device][lanes.Int(i, "stream_id", -1)]});
  }
  XLATRACE_ASSIGN(const Table modules,
                  db_->Select("SELECT module_id, process_id, program_id, peak_memory_bytes, name,"
                              " fingerprint, role FROM module"));
  for (size_t i = 0; i < modules.rows.size(); ++i) {
    Put(modules_, modules.Int(i, "module_id"),
        ModuleFacts{modules.Int(i, "process_id"), OptionalInt(modules, i, "program_id"),
                    OptionalInt(modules, i, "peak_memory_bytes"), modules.Text(i, "name"),
                    modules.Text(i, "fingerprint"), modules.Text(i, "role")});
  }
  XLATRACE_ASSIGN(
      const Table steps,
      db_->Select("SELECT step, device_id, start_ns, end_ns, busy_ns, steady, typical FROM step"
                  " ORDER BY device_id, start_ns"));
  for (size_t i = 0; i < steps.rows.size(); ++i) {
    steps_.push_back({steps.Int(i, "step"), steps.Int(i, "device_id"), steps.Int(i, "start_ns"),
                      steps.Int(i, "end_ns"), steps.Int(i, "busy_ns"), steps.Int(i, "steady") != 0,
                      steps.Int(i, "typical") != 0});
  }
  return {};
}

Status RunRows::LoadConfigs() {
  XLATRACE_ASSIGN(const store::PackedTable table, store::ScanConfigs(*db_));
  for (size_t i = 0; i < table.row_count(); ++i) {
    ConfigFacts config;
    config.kind = table.Text(i, "kind");
    config.copy_kind = table.Text(i, "copy_kind");
    config.name = table.Text(i, "name");
    config.kernel_symbol = table.Text(i, "kernel_symbol");
    config.occupancy_limiter = table.Text(i, "occupancy_limiter");
    const char* const kGrid[] = {"grid_x", "grid_y", "grid_z"};
    const char* const kBlock[] = {"block_x", "block_y", "block_z"};
    for (int axis = 0; axis < 3; ++axis) {
      config.grid[axis] = OptionalInt(table, i, kGrid[axis]);
      config.block[axis] = OptionalInt(table, i, kBlock[axis]);
    }
    config.registers = OptionalInt(table, i, "registers_per_thread");
    config.shared_static = OptionalInt(table, i, "shared_memory_static_bytes");
    config.shared_dynamic = OptionalInt(table, i, "shared_memory_dynamic_bytes");
    if (!table.IsNull(i, "theoretical_occupancy_pct")) {
      config.occupancy_pct = table.Real(i, "theoretical_occupancy_pct");
    }
    Put(configs_, table.Int(i, "config_id"), std::move(config));
  }
  return {};
}

model::Phase RunRows::PhaseOf(const model::Label& label) const {
  const model::InstructionRow* instruction = InstructionOf(label);
  return instruction != nullptr ? instruction->phase : analysis::PhaseOfUnattributed(label.reason);
}

std::string_view RunRows::OpKindOf(const model::Label& label, const ConfigFacts& config) const {
  if (const model::InstructionRow* instruction = InstructionOf(label)) {
    return model::Text(instruction->op_kind);
  }
  if (config.kind == "memcpy") return model::Text(model::OpKind::kCopy);
  if (config.kind == "memset") return model::Text(model::OpKind::kMemset);
  return model::Text(model::OpKind::kOther);
}

const ProcessFacts& RunRows::ProcessOfDevice(int64_t device_id) const {
  return At(processes_, At(devices_, device_id).process_id);
}

std::string RunRows::ProcessTitle(const ProcessFacts& process) const {
  std::string title = process.rank  ? fmt::format("rank {}", *process.rank)
                      : process.pid ? fmt::format("process {}", *process.pid)
                                    : fmt::format("process {}", process.process_id);
  std::set<std::string_view> hosts;
  for (const ProcessFacts& other : processes_) hosts.insert(other.host);
  if (hosts.size() > 1 && !process.host.empty()) title += " on " + process.host;
  return title;
}

std::string RunRows::DeviceTitle(const DeviceFacts& device) const {
  std::string kind = device.kind;
  for (char& c : kind) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  std::string title = fmt::format("{} {}", kind, device.ordinal.value_or(device.device_id - 1));
  if (!device.name.empty()) title += ": " + device.name;
  return title;
}

Status RunRows::ForEachLaunch(const std::function<Status(const store::ScannedLaunch&)>& row) const {
  Status status;
  int64_t done = 0;
  XLATRACE_TRY(store::ScanLaunches(*db_, [&](const store::ScannedLaunch& launch) {
    if (done++ % kRowsPerProgress == 0 && progress_) progress_(done, launch_count_);
    if (!selection_.HasStep(launch.step) ||
        !selection_.HasDevice(At(lanes_, launch.lane_id).device_id)) {
      return true;
    }
    status = row(launch);
    return static_cast<bool>(status);
  }));
  return status;
}

Status RunRows::ForEachByStart(
    const std::function<Status(const store::ScannedLaunch&)>& row) const {
  ByStart<store::ScannedLaunch> waiting(row);
  XLATRACE_TRY(ForEachLaunch([&](const store::ScannedLaunch& launch) -> Status {
    return launch.timed ? waiting.Add(launch) : Status();
  }));
  return waiting.Finish();
}

Status RunRows::ForEachRangeByStart(
    const std::function<Status(const store::ScannedRange&)>& row) const {
  ByStart<store::ScannedRange> waiting(row);
  Status status;
  XLATRACE_TRY(store::ScanRanges(*db_, [&](const store::ScannedRange& range) {
    // A mark without a duration may be at the very beginning.
    const int64_t end_ns = range.start_ns + range.duration_ns;
    if (window_ && (range.start_ns >= window_->second || end_ns < window_->first ||
                    (end_ns == window_->first && range.duration_ns > 0))) {
      return true;
    }
    status = waiting.Add(range);
    return static_cast<bool>(status);
  }));
  XLATRACE_TRY(std::move(status));
  return waiting.Finish();
}

Result<std::vector<CallKindFacts>> RunRows::LoadCallKinds() const {
  XLATRACE_ASSIGN(const Table table, store::ScanCallKinds(*db_));
  std::vector<CallKindFacts> kinds;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    Put(kinds, table.Int(i, "call_kind"),
        CallKindFacts{table.Int(i, "process_id"), table.Int(i, "thread_id"),
                      table.Text(i, "name")});
  }
  return kinds;
}

Result<std::vector<RangeKindFacts>> RunRows::LoadRangeKinds() const {
  XLATRACE_ASSIGN(const Table table, store::ScanRangeKinds(*db_));
  std::vector<RangeKindFacts> kinds;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    Put(kinds, table.Int(i, "range_kind"),
        RangeKindFacts{table.Int(i, "process_id"), table.Int(i, "thread_id"),
                       table.Text(i, "domain"), table.Text(i, "text")});
  }
  return kinds;
}

std::string RunRows::Info(std::string_view key) const {
  const auto found = info_.find(std::string(key));
  return found == info_.end() ? std::string() : found->second;
}

}  // namespace xlatrace::exporter
