// SPDX-License-Identifier: Apache-2.0

// Stores only the HLO modules of a profile, for a trace without modules.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_MODULES_ONLY_SINK_H_
#define XLATRACE_IMPORTERS_COMMON_MODULES_ONLY_SINK_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "model/event_sink.h"

namespace xlatrace::importers {

class ModulesOnlySink : public model::EventSink {
 public:
  // Modules go to that process of `sink`, as a dump's do.
  ModulesOnlySink(model::EventSink& sink, model::Id process_id)
      : sink_(sink), process_id_(process_id) {}

  size_t modules() const { return modules_; }

  model::Id AddModule(const model::ModuleBlob& module) override {
    ++modules_;
    model::ModuleBlob of_process = module;
    of_process.process_id = process_id_;
    of_process.source = model::ModuleSource::kDump;
    return sink_.AddModule(of_process);
  }

  void SetStart(int64_t start_unix_ns) override { start_unix_ns_ = start_unix_ns; }
  std::optional<int64_t> start_unix_ns() const override { return start_unix_ns_; }
  void SetRunInfo(std::string_view, std::string_view) override {}
  model::Id AddProcess(const model::Process&) override { return ++last_id_; }
  model::Id AddDevice(const model::Device&) override { return ++last_id_; }
  model::Id AddLane(const model::Lane&) override { return ++last_id_; }
  model::Id AddLaunchConfig(const model::LaunchConfig&) override { return ++last_id_; }
  model::Id AddHint(const model::Hint&) override { return ++last_id_; }
  model::Id AddApiCall(const model::ApiCall&) override { return ++last_id_; }
  model::Id AddActivity(const model::Activity&) override { return ++last_id_; }
  model::Id AddRange(const model::Range&) override { return ++last_id_; }
  void AddStepMark(const model::StepMark&) override {}
  void AddCompile(const model::Compile&) override {}
  void AddRunStat(const model::RunStat&) override {}

 private:
  model::EventSink& sink_;
  const model::Id process_id_;
  size_t modules_ = 0;
  model::Id last_id_ = 0;
  std::optional<int64_t> start_unix_ns_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_MODULES_ONLY_SINK_H_
