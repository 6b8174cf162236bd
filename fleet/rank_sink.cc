// SPDX-License-Identifier: Apache-2.0
#include "fleet/rank_sink.h"

#include <algorithm>
#include <string>

namespace xlatrace::fleet {

using model::Id;

void RankSink::SetRunInfo(std::string_view key, std::string_view value) {
  // Facts of a recording on its own file and time are not facts of the job.
  static constexpr std::string_view kOwn[] = {
      "recording_token", "recording_files", "start_unix_ns", "end_unix_ns", "end",
      "own_cost_ns",     "tool_version",    "part"};
  if (number_ != 0 || std::find(std::begin(kOwn), std::end(kOwn), key) != std::end(kOwn)) return;
  sink_.SetRunInfo(key, value);
}

Id RankSink::AddProcess(const model::Process& process) {
  const Id own = ++seen_processes_;
  const auto chosen = chosen_.find(own);
  if (chosen == chosen_.end()) return own;
  model::Process placed = process;
  placed.rank = chosen->second.rank;
  placed.clock_offset_ns = chosen->second.clock_offset_ns;
  placed.clock_error_ns = chosen->second.clock_error_ns;
  if (placed.recorded_from_ns) placed.recorded_from_ns = clock_(*placed.recorded_from_ns);
  processes_[own] = sink_.AddProcess(placed);
  return own;
}

Id RankSink::AddDevice(const model::Device& device) {
  const Id own = ++seen_devices_;
  if (const Id process = ProcessOf(device.process_id); process != 0) {
    model::Device placed = device;
    placed.process_id = process;
    devices_[own] = sink_.AddDevice(placed);
  }
  return own;
}

Id RankSink::AddLane(const model::Lane& lane) {
  model::Lane placed = lane;
  placed.device_id = Find(devices_, lane.device_id);
  lanes_.push_back(placed.device_id == 0 ? 0 : sink_.AddLane(placed));
  return static_cast<Id>(lanes_.size());
}

Id RankSink::AddLaunchConfig(const model::LaunchConfig& config) {
  configs_.push_back(sink_.AddLaunchConfig(config));
  return static_cast<Id>(configs_.size());
}

Id RankSink::AddHint(const model::Hint& hint) {
  model::Hint placed = hint;
  placed.module_id = At(modules_, hint.module_id);
  hints_.push_back(sink_.AddHint(placed));
  return static_cast<Id>(hints_.size());
}

Id RankSink::AddModule(const model::ModuleBlob& module) {
  model::ModuleBlob placed = module;
  placed.process_id = ProcessOf(module.process_id);
  modules_.push_back(placed.process_id == 0 ? 0 : sink_.AddModule(placed));
  return static_cast<Id>(modules_.size());
}

Id RankSink::AddApiCall(const model::ApiCall& call) {
  model::ApiCall placed = call;
  placed.process_id = ProcessOf(call.process_id);
  if (placed.process_id == 0) return 0;
  placed.start_ns = clock_(call.start_ns);
  placed.end_ns = clock_(call.end_ns);
  return sink_.AddApiCall(placed);
}

Id RankSink::AddActivity(const model::Activity& activity) {
  model::Activity placed = activity;
  placed.lane_id = At(lanes_, activity.lane_id);
  if (placed.lane_id == 0) return 0;
  placed.config_id = At(configs_, activity.config_id);
  placed.hint_id = At(hints_, activity.hint_id);
  placed.start_ns = clock_(activity.start_ns);
  placed.end_ns = clock_(activity.end_ns);
  if (activity.self_ns >= 0) {
    // A drifting clock makes a millisecond some nanoseconds longer. Nested activities keep their
    // duration.
    const int64_t longer =
        (placed.end_ns - placed.start_ns) - (activity.end_ns - activity.start_ns);
    placed.self_ns = std::max<int64_t>(activity.self_ns + longer, 0);
  }
  if (activity.run_key != 0) placed.run_key = activity.run_key + (number_ << 40);
  return sink_.AddActivity(placed);
}

Id RankSink::AddRange(const model::Range& range) {
  model::Range placed = range;
  placed.process_id = ProcessOf(range.process_id);
  if (placed.process_id == 0) return 0;
  placed.start_ns = clock_(range.start_ns);
  placed.end_ns = clock_(range.end_ns);
  return sink_.AddRange(placed);
}

void RankSink::AddThread(const model::Thread& thread) {
  model::Thread placed = thread;
  placed.process_id = ProcessOf(thread.process_id);
  if (placed.process_id != 0) sink_.AddThread(placed);
}

void RankSink::AddStepMark(const model::StepMark& mark) {
  if (const Id process = ProcessOf(mark.process_id); process != 0) {
    sink_.AddStepMark({process, mark.number, clock_(mark.start_ns), clock_(mark.end_ns)});
  }
}

void RankSink::AddCompile(const model::Compile& compile) {
  model::Compile placed = compile;
  placed.process_id = ProcessOf(compile.process_id);
  placed.module_id = At(modules_, compile.module_id);
  placed.start_ns = clock_(compile.start_ns);
  placed.end_ns = clock_(compile.end_ns);
  if (placed.process_id != 0) sink_.AddCompile(placed);
}

void RankSink::AddHostSamples(const model::HostSampleTables& samples) {
  model::HostSampleTables placed = samples;
  const auto place = [&](auto& rows) {
    for (auto& row : rows) {
      row.process_id = ProcessOf(row.process_id);
      row.start_ns = clock_(row.start_ns);
      row.end_ns = clock_(row.end_ns);
    }
    std::erase_if(rows, [](const auto& row) { return row.process_id == 0; });
  };
  for (model::HostSample& sample : placed.samples) {
    sample.process_id = ProcessOf(sample.process_id);
    sample.time_ns = clock_(sample.time_ns);
    sample.last_ns = clock_(sample.last_ns);
    sample.until_ns = clock_(sample.until_ns);
  }
  std::erase_if(placed.samples, [](const auto& sample) { return sample.process_id == 0; });
  place(placed.thread_use);
  place(placed.machine_use);
  place(placed.collections);
  if (!placed.empty()) sink_.AddHostSamples(placed);
}

void RankSink::AddWindow(const model::Window& window) {
  if (const Id process = ProcessOf(window.process_id); process != 0) {
    sink_.AddWindow({process, clock_(window.start_ns), clock_(window.end_ns), window.why_ended});
  }
}

void RankSink::AddLoss(const model::Loss& loss) {
  model::Loss placed = loss;
  placed.process_id = ProcessOf(loss.process_id);
  placed.start_ns = clock_(loss.start_ns);
  placed.end_ns = clock_(loss.end_ns);
  if (placed.process_id != 0) sink_.AddLoss(placed);
}

void RankSink::SetEnding(const model::ProcessEnding& ending) {
  model::ProcessEnding placed = ending;
  placed.process_id = ProcessOf(ending.process_id);
  if (ending.unrecorded_from_ns) placed.unrecorded_from_ns = clock_(*ending.unrecorded_from_ns);
  if (placed.process_id != 0) sink_.SetEnding(placed);
}

}  // namespace xlatrace::fleet
