// SPDX-License-Identifier: Apache-2.0

// Several profiles of one process, taken one after another, as one process of the run.
//
// Each profile names its process, devices and modules again. This sink passes facts shared by the
// sessions of one process on once. Windows, and the note that a part has no device activity, wait
// for the facts of the other parts. All other rows pass unchanged. Each profile has its own wall
// clock start, which the importers shift to the run's.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_SAME_PROCESS_SINK_H_
#define XLATRACE_IMPORTERS_COMMON_SAME_PROCESS_SINK_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "importers/common/run_numbers.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// A compilation of a profile; the name of `compile` is in `name`.
struct HeldCompile {
  model::Compile compile;
  std::string name;
};

struct NamedModule {
  model::Id id = 0;
  std::string name;
  std::optional<int64_t> program_id;
};

class SameProcessSink : public model::EventSink {
 public:
  // `recorded_from_unix_ns`: the start of the process, if it was recorded from there on.
  explicit SameProcessSink(model::EventSink& sink,
                           std::optional<int64_t> recorded_from_unix_ns = std::nullopt)
      : sink_(sink), recorded_from_unix_ns_(recorded_from_unix_ns) {}

  // The first one's answer for all.
  model::Id AddProcess(const model::Process& process) override;
  // One per kind, ordinal, name and uuid.
  model::Id AddDevice(const model::Device& device) override;
  // One per name, program id and content.
  model::Id AddModule(const model::ModuleBlob& module) override;

  void SetStart(int64_t start_unix_ns) override { sink_.SetStart(start_unix_ns); }
  std::optional<int64_t> start_unix_ns() const override { return sink_.start_unix_ns(); }
  void SetRunInfo(std::string_view key, std::string_view value) override {
    sink_.SetRunInfo(key, value);
  }
  model::Id AddLane(const model::Lane& lane) override { return sink_.AddLane(lane); }
  model::Id AddLaunchConfig(const model::LaunchConfig& config) override {
    return sink_.AddLaunchConfig(config);
  }
  model::Id AddHint(const model::Hint& hint) override { return sink_.AddHint(hint); }
  model::Id AddApiCall(const model::ApiCall& call) override { return sink_.AddApiCall(call); }
  void AddUnreferredCall(const model::ApiCall& call) override { sink_.AddUnreferredCall(call); }
  // Runs are numbered anew in every session: those of two are never one.
  model::Id AddActivity(const model::Activity& activity) override {
    any_activity_ = true;
    last_end_ns_ = std::max(last_end_ns_, activity.end_ns);
    if (activity.run_key == 0 || session_ == 0) return sink_.AddActivity(activity);
    model::Activity apart = activity;
    apart.run_key += session_ << 48;
    return sink_.AddActivity(apart);
  }
  // The request to stop, after which the profiler only writes the profile. Windows of this profile
  // end there, or with the last activity if that ended later.
  void StopSession(int64_t stop_unix_ns) { stop_unix_ns_ = stop_unix_ns; }
  // The next profile follows; `why`: what ended this one, `full`: its limit of memory.
  void NextSession(model::WindowEnd why = model::WindowEnd::kLimit, bool full = false);
  // No profile follows. Reports the runs of programs that no profile holds.
  void FinishSessions(model::WindowEnd why = model::WindowEnd::kEnd);
  // A run that a profile numbers.
  void OnRun(model::Id device, int64_t program_id, int64_t number) {
    numbers_.OnRun(device, program_id, number);
  }
  // None: no profile has named its process.
  std::optional<model::Id> process() const { return process_; }
  model::Id AddRange(const model::Range& range) override { return sink_.AddRange(range); }
  void AddNvtxRow(const model::NvtxRow& row) override { sink_.AddNvtxRow(row); }
  void AddThread(const model::Thread& thread) override { sink_.AddThread(thread); }
  void AddStepMark(const model::StepMark& mark) override { sink_.AddStepMark(mark); }
  // Held back: another record of the process may hold the same compilations (hook/compile_log.h).
  void AddCompile(const model::Compile& compile) override {
    compiles_.push_back({compile, std::string(compile.name)});
  }
  const std::vector<HeldCompile>& compiles() const { return compiles_; }
  const std::vector<NamedModule>& modules() const { return named_modules_; }
  void AddHostSamples(const model::HostSampleTables& samples) override {
    sink_.AddHostSamples(samples);
  }
  // Held back until it is known why it ended.
  void AddWindow(const model::Window& window) override { windows_.push_back(window); }
  void AddLoss(const model::Loss& loss) override { sink_.AddLoss(loss); }
  void SetEnding(const model::ProcessEnding& ending) override { sink_.SetEnding(ending); }
  // A part in which nothing ran on a device is no loss where another holds device time.
  void AddRunStat(const model::RunStat& stat) override {
    if (stat.name == "no_device_activity") {
      without_activity_ = stat;
    } else {
      sink_.AddRunStat(stat);
    }
  }

 private:
  void GiveWindows(model::WindowEnd why);

  model::EventSink& sink_;
  const std::optional<int64_t> recorded_from_unix_ns_;
  RunNumbers numbers_;
  std::vector<model::Window> windows_;
  std::vector<HeldCompile> compiles_;
  std::vector<NamedModule> named_modules_;
  std::map<int64_t, std::string> names_;  // Names of modules, by program id.
  std::optional<model::Id> process_;
  int64_t session_ = 0;
  std::optional<int64_t> stop_unix_ns_;  // This profile's, like the next.
  int64_t last_end_ns_ = INT64_MIN;
  bool any_activity_ = false;
  bool was_full_ = false;                           // One of the parts.
  std::optional<model::RunStat> without_activity_;  // Held back until the last part.
  std::map<std::tuple<model::DeviceKind, int64_t, std::string, std::string>, model::Id> devices_;
  std::map<std::tuple<std::string, std::optional<int64_t>, uint64_t>, model::Id> modules_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_SAME_PROCESS_SINK_H_
