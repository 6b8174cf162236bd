// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/step_edges.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "importers/common/text_fields.h"
#include "recording/reader.h"

namespace xlatrace::importers {
// Reads the runs of calls, and where each activity began.
struct StepEdges::WorkPass final : recording::RowSink {
  struct Work {
    uint32_t correlation;
    uint32_t device;
    uint64_t start_ns;
  };
  std::unordered_map<uint64_t, std::vector<uint32_t>> calls_of_run;  // By marked run.
  std::unordered_map<uint32_t, uint64_t> run_of_call;
  std::vector<Work> works;

  bool Accepts(recording::BlockType type) const override {
    return type == recording::BlockType::kApiCalls || type == recording::BlockType::kActivities;
  }
  void OnApiCall(const recording::ApiCallRow& row) override {
    if (row.module_run == 0) return;
    run_of_call.emplace(row.correlation, row.module_run);
    const auto run = calls_of_run.find(row.module_run);
    if (run != calls_of_run.end()) run->second.push_back(row.correlation);
  }
  void OnActivity(const recording::ActivityRow& row, const recording::ConfigRow&,
                  const recording::LaneRow& lane) override {
    works.push_back({row.correlation, lane.device, row.start_ns});
  }

  // The first work of each call of a marked run; 0: none.
  std::unordered_map<uint32_t, Work> first_of_call;
  void FindFirstWork() {
    for (const auto& [run, calls] : calls_of_run) {
      for (const uint32_t call : calls) first_of_call.try_emplace(call, Work{});
    }
    for (const Work& work : works) {
      const auto known = first_of_call.find(work.correlation);
      if (known == first_of_call.end() || work.start_ns == 0) continue;
      Work& first = known->second;
      if (first.start_ns == 0 || work.start_ns < first.start_ns) first = work;
    }
  }
  std::optional<Work> FirstWork(uint64_t run) const {
    std::optional<Work> first;
    for (const uint32_t call : calls_of_run.at(run)) {
      const Work& work = first_of_call.at(call);
      if (work.start_ns != 0 && (!first || work.start_ns < first->start_ns)) first = work;
    }
    return first;
  }
};

Status StepEdges::Read(const std::string& path, uint64_t bytes, RecordedProcess& process) {
  if (process.first_runs.empty()) SetBegin(process);
  if (process.first_runs.empty() && process.next_runs.empty()) return {};
  WorkPass pass;
  for (const auto* runs : {&process.first_runs, &process.next_runs}) {
    for (const auto& [time, run] : *runs) pass.calls_of_run[run];
  }
  XLATRACE_TRY(recording::ReadRecording(path, pass, bytes));
  pass.FindFirstWork();
  std::optional<uint64_t> earliest;
  for (const auto& [time, run] : process.first_runs) {
    const auto first = pass.FirstWork(run);
    if (!first) continue;
    Interval& interval = devices_[first->device];
    if (interval.from_ns == 0 || first->start_ns < interval.from_ns) {
      interval.from_ns = first->start_ns;
      interval.first_correlation = first->correlation;
    }
    earliest = std::min(earliest.value_or(UINT64_MAX), first->start_ns);
    host_.from_ns = host_.from_ns == 0 ? time : std::min(host_.from_ns, time);
  }
  // First work of the next step, by device. If a device has several contexts, the latest counts.
  std::map<uint32_t, WorkPass::Work> ends;
  uint64_t host_end = 0;
  for (const auto& [time, run] : process.next_runs) {
    const auto next = pass.FirstWork(run);
    if (!next) continue;
    WorkPass::Work& end = ends[next->device];
    if (end.start_ns < next->start_ns) end = *next;
    host_end = std::max(host_end, time);
  }
  for (const auto& [device, end] : ends) {
    devices_[device].until_ns = end.start_ns;
    devices_[device].next_correlation = end.correlation;
    if (all_.until_ns == UINT64_MAX || all_.until_ns < end.start_ns) all_.until_ns = end.start_ns;
  }
  // A device that did not come to the next step was in the window until its end.
  for (const auto& [device, interval] : devices_) {
    if (interval.until_ns == UINT64_MAX) all_.until_ns = UINT64_MAX;
  }
  if (all_.until_ns != UINT64_MAX) host_.until_ns = host_end;
  all_.from_ns = earliest.value_or(0);
  cut_ = !devices_.empty();
  if (cut_) MarkLaunches(pass, process);
  return {};
}

// Launches of the main module belong to the step of their run; all others belong to the time on
// the device.
void StepEdges::MarkLaunches(const WorkPass& pass, RecordedProcess& process) const {
  std::unordered_set<uint64_t> outside;
  for (const auto* runs : {&process.next_runs, &process.outside_runs}) {
    for (const auto& [time, run] : *runs) outside.insert(run);
  }
  const auto title_of = [&](uint64_t run) -> std::string_view {
    const uint32_t index = process.KnownRun(run);
    return index == 0 ? std::string_view() : process.strings.Text(process.runs[index - 1]);
  };
  const auto& marked = process.first_runs.empty() ? process.next_runs : process.first_runs;
  const std::string_view main_title = title_of(marked.front().second);
  const auto inside = [&](const WorkPass::Work& work) {
    const auto run = pass.run_of_call.find(work.correlation);
    if (run == pass.run_of_call.end()) return Inside(work.device, work.start_ns);
    if (outside.contains(run->second)) return false;
    const bool is_main = !main_title.empty() && title_of(run->second) == main_title;
    return is_main || Inside(work.device, work.start_ns);
  };
  const auto mark = [&](const WorkPass::Work& work, uint32_t call) {
    RecordedLaunch* launch =
        work.correlation == 0 ? nullptr : process.launches.Find(work.correlation);
    if (launch != nullptr) launch->call = call;
  };
  for (const WorkPass::Work& work : pass.works) mark(work, RecordedLaunch::kLeftOutIndex);
  // One activity in the window is enough.
  for (const WorkPass::Work& work : pass.works) {
    if (inside(work)) mark(work, 0);
  }
}

// The step before the window may be in a recording that holds no step of the window.
void StepEdges::SetBegin(const RecordedProcess& process) {
  const std::string_view asked = process.Fact("steps");
  const auto first = ParseInt(asked.substr(0, asked.find(':')));
  if (!first || *first <= 0) return;
  begin_call_ns_ = UINT64_MAX;
  for (const auto& [time, number] : process.steps) {
    if (number >= *first) begin_call_ns_ = std::min(begin_call_ns_, time);
  }
}

bool StepEdges::Inside(uint32_t device, uint64_t start_ns) const {
  if (!cut_ || start_ns == 0) return true;
  const auto known = devices_.find(device);
  const Interval& interval = known == devices_.end() ? all_ : known->second;
  return interval.from_ns <= start_ns && start_ns < interval.until_ns;
}

}  // namespace xlatrace::importers
