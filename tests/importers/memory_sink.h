// SPDX-License-Identifier: Apache-2.0

// An EventSink that keeps every row in memory, for tests. Rows refer to rows by Id = position + 1.

#ifndef XLATRACE_TESTS_IMPORTERS_MEMORY_SINK_H_
#define XLATRACE_TESTS_IMPORTERS_MEMORY_SINK_H_

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "model/event_sink.h"

namespace xlatrace::importers {

class MemorySink final : public model::EventSink {
 public:
  struct Call {
    model::Id process_id;
    int64_t thread_id;
    std::string name;
    int64_t correlation_id;
    int64_t start_ns;
    int64_t end_ns;
  };
  struct HostRange {
    model::Id process_id;
    int64_t thread_id;
    std::string domain;
    std::string text;
    int64_t start_ns;
    int64_t end_ns;
    int32_t depth;
    int64_t domain_number;
  };
  struct Module {
    model::Id process_id;
    std::string name;
    std::optional<int64_t> program_id;
    std::string bytes;
    std::string thunk_sequence;
    std::string thunk_metadata;
  };
  struct CompileRow {
    model::Id module_id;
    std::string name;
    int64_t start_ns;
    int64_t end_ns;
    model::CompileStage stage = model::CompileStage::kCompile;
    std::shared_ptr<const model::CompileFacts> facts = {};
  };

  void SetStart(int64_t start) override {
    if (!start_) start_ = start;
  }
  std::optional<int64_t> start_unix_ns() const override { return start_; }
  void SetRunInfo(std::string_view key, std::string_view value) override {
    info[std::string(key)] = std::string(value);
  }
  model::Id AddProcess(const model::Process& row) override { return Push(processes, row); }
  model::Id AddDevice(const model::Device& row) override { return Push(devices, row); }
  model::Id AddLane(const model::Lane& row) override { return PushOnce(lanes, row); }
  void AddNvtxRow(const model::NvtxRow& row) override {
    nvtx_rows.push_back(fmt::format("{} {} {}-{} '{}' {}", row.global_tid, row.event_type,
                                    row.start_ns.value_or(-1), row.end_ns.value_or(-1), row.text,
                                    row.domain_number));
  }
  void AddUnreferredCall(const model::ApiCall& row) override {
    unreferred_calls.push_back({row.process_id, row.thread_id, std::string(row.name),
                                row.correlation_id, row.start_ns, row.end_ns});
  }
  model::Id AddLaunchConfig(const model::LaunchConfig& row) override {
    return PushOnce(configs, row);
  }
  model::Id AddHint(const model::Hint& row) override { return PushOnce(hints, row); }
  model::Id AddModule(const model::ModuleBlob& row) override {
    return Push(modules, Module{row.process_id, std::string(row.name), row.program_id,
                                std::string(row.bytes), std::string(row.thunk_sequence),
                                std::string(row.thunk_metadata)});
  }
  model::Id AddApiCall(const model::ApiCall& row) override {
    return Push(calls, Call{row.process_id, row.thread_id, std::string(row.name),
                            row.correlation_id, row.start_ns, row.end_ns});
  }
  model::Id AddActivity(const model::Activity& row) override { return Push(activities, row); }
  model::Id AddRange(const model::Range& row) override {
    return Push(ranges, HostRange{row.process_id, row.thread_id, std::string(row.domain),
                                  std::string(row.text), row.start_ns, row.end_ns, row.depth,
                                  row.domain_number});
  }
  void AddStepMark(const model::StepMark& row) override { Push(steps, row); }
  void AddCompile(const model::Compile& row) override {
    Push(compiles, CompileRow{row.module_id, std::string(row.name), row.start_ns, row.end_ns,
                              row.stage, row.facts});
  }
  void AddWindow(const model::Window& row) override { windows.push_back(row); }
  void AddLoss(const model::Loss& row) override { losses.push_back(row); }
  void SetEnding(const model::ProcessEnding& row) override { endings[row.process_id] = row; }
  void AddRunStat(const model::RunStat& row) override {
    auto& stat = stats[row.name];
    const int64_t before = stat.value;
    stat = row;
    stat.value += before;
  }

  // Views used by most tests.
  const model::LaunchConfig& Config(const model::Activity& a) const {
    return configs[static_cast<size_t>(a.config_id - 1)];
  }
  model::Hint HintOf(const model::Activity& a) const {
    return a.hint_id == 0 ? model::Hint{} : hints[static_cast<size_t>(a.hint_id - 1)];
  }
  const model::Device& DeviceOf(const model::Activity& a) const {
    const model::Lane& lane = lanes[static_cast<size_t>(a.lane_id - 1)];
    return devices[static_cast<size_t>(lane.device_id - 1)];
  }
  static int64_t SelfNs(const model::Activity& a) {
    return a.self_ns < 0 ? a.end_ns - a.start_ns : a.self_ns;
  }
  int64_t Stat(const std::string& name) const {
    const auto it = stats.find(name);
    return it == stats.end() ? 0 : it->second.value;
  }

  std::map<std::string, std::string> info;
  std::vector<model::Window> windows;
  std::vector<model::Loss> losses;
  std::map<model::Id, model::ProcessEnding> endings;
  std::vector<model::Process> processes;
  std::vector<model::Device> devices;
  std::vector<model::Lane> lanes;
  std::vector<model::LaunchConfig> configs;
  std::vector<model::Hint> hints;
  std::vector<Module> modules;
  std::vector<Call> calls;
  std::vector<Call> unreferred_calls;
  std::vector<std::string> nvtx_rows;
  std::vector<model::Activity> activities;
  std::vector<HostRange> ranges;
  std::vector<model::StepMark> steps;
  std::vector<CompileRow> compiles;
  std::map<std::string, model::RunStat> stats;

 private:
  template <typename Row, typename Value>
  static model::Id Push(std::vector<Row>& rows, const Value& row) {
    rows.push_back(row);
    return static_cast<model::Id>(rows.size());
  }
  // Tests are small enough for a linear look from the end.
  template <typename Row>
  static model::Id PushOnce(std::vector<Row>& rows, const Row& row) {
    const auto it = std::find(rows.begin(), rows.end(), row);
    if (it != rows.end()) return it - rows.begin() + 1;
    return Push(rows, row);
  }

  std::optional<int64_t> start_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_MEMORY_SINK_H_
