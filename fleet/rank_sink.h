// SPDX-License-Identifier: Apache-2.0

// Copies one recording into the run of the job: chosen processes only, times on the common clock,
// ids of the job. It translates ids row by row. Memory: a few bytes per dictionary entry.
//
// Thread-safety: one thread.

#ifndef XLATRACE_FLEET_RANK_SINK_H_
#define XLATRACE_FLEET_RANK_SINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "model/event_sink.h"

namespace xlatrace::fleet {

// Facts of the job that replace those of a process.
struct RankPlace {
  int64_t rank = 0;
  std::optional<int64_t> clock_offset_ns, clock_error_ns;
};

class RankSink : public model::EventSink {
 public:
  // `clock` maps a time since the start of the recording to a time since the start of the job. It
  // must keep the order of times. `number`: a different one for each recording of the job.
  RankSink(model::EventSink& sink, std::map<model::Id, RankPlace> chosen,
           std::function<int64_t(int64_t)> clock, int64_t number)
      : sink_(sink), chosen_(std::move(chosen)), clock_(std::move(clock)), number_(number) {}

  // Ids in the job of the chosen processes and devices.
  const std::map<model::Id, model::Id>& processes() const { return processes_; }
  const std::map<model::Id, model::Id>& devices() const { return devices_; }

  void SetStart(int64_t) override {}  // The job has its own start.
  std::optional<int64_t> start_unix_ns() const override { return sink_.start_unix_ns(); }
  // The facts of the first recording are those of the job.
  void SetRunInfo(std::string_view key, std::string_view value) override;
  model::Id AddProcess(const model::Process& process) override;
  model::Id AddDevice(const model::Device& device) override;
  model::Id AddLane(const model::Lane& lane) override;
  model::Id AddLaunchConfig(const model::LaunchConfig& config) override;
  model::Id AddHint(const model::Hint& hint) override;
  model::Id AddModule(const model::ModuleBlob& module) override;
  model::Id AddApiCall(const model::ApiCall& call) override;
  model::Id AddActivity(const model::Activity& activity) override;
  model::Id AddRange(const model::Range& range) override;
  void AddThread(const model::Thread& thread) override;
  void AddStepMark(const model::StepMark& mark) override;
  void AddCompile(const model::Compile& compile) override;
  void AddHostSamples(const model::HostSampleTables& samples) override;
  void AddWindow(const model::Window& window) override;
  void AddLoss(const model::Loss& loss) override;
  void SetEnding(const model::ProcessEnding& ending) override;
  void AddRunStat(const model::RunStat& stat) override { sink_.AddRunStat(stat); }

 private:
  // 0: the process is not chosen.
  model::Id ProcessOf(model::Id id) const { return Find(processes_, id); }
  static model::Id Find(const std::map<model::Id, model::Id>& ids, model::Id id) {
    const auto at = ids.find(id);
    return at == ids.end() ? 0 : at->second;
  }
  static model::Id At(const std::vector<model::Id>& ids, model::Id id) {
    return id > 0 && static_cast<size_t>(id) <= ids.size() ? ids[static_cast<size_t>(id) - 1] : 0;
  }

  model::EventSink& sink_;
  std::map<model::Id, RankPlace> chosen_;
  std::function<int64_t(int64_t)> clock_;
  int64_t number_;
  model::Id seen_processes_ = 0, seen_devices_ = 0;
  std::map<model::Id, model::Id> processes_, devices_;
  std::vector<model::Id> lanes_, configs_, hints_, modules_;  // By the recording's id - 1.
};

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_RANK_SINK_H_
