// SPDX-License-Identifier: Apache-2.0
#include "importers/common/same_process_sink.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/number_format.h"

namespace xlatrace::importers {

model::Id SameProcessSink::AddProcess(const model::Process& process) {
  if (process_) return *process_;
  model::Process added = process;
  if (const auto start = sink_.start_unix_ns(); start && recorded_from_unix_ns_) {
    added.recorded_from_ns = *recorded_from_unix_ns_ - *start;
  }
  process_ = sink_.AddProcess(added);
  return *process_;
}

model::Id SameProcessSink::AddDevice(const model::Device& device) {
  const auto [it, fresh] =
      devices_.try_emplace({device.kind, device.ordinal, device.name, device.uuid});
  if (fresh) it->second = sink_.AddDevice(device);
  return it->second;
}

model::Id SameProcessSink::AddModule(const model::ModuleBlob& module) {
  const auto [it, fresh] =
      modules_.try_emplace({std::string(module.name), module.program_id, Hash(module.bytes)});
  if (fresh) {
    it->second = sink_.AddModule(module);
    named_modules_.push_back({it->second, std::string(module.name), module.program_id});
  }
  if (module.program_id) names_[*module.program_id] = std::string(module.name);
  return it->second;
}

void SameProcessSink::GiveWindows(model::WindowEnd why) {
  const std::optional<int64_t> start_unix_ns = sink_.start_unix_ns();
  for (model::Window& window : windows_) {
    window.why_ended = why;
    if (stop_unix_ns_ && start_unix_ns) {
      const int64_t stop_ns = std::max(*stop_unix_ns_ - *start_unix_ns, last_end_ns_);
      window.end_ns = std::clamp(stop_ns, window.start_ns, window.end_ns);
    }
    sink_.AddWindow(window);
  }
  windows_.clear();
  stop_unix_ns_.reset();
  last_end_ns_ = INT64_MIN;
}

void SameProcessSink::NextSession(model::WindowEnd why, bool full) {
  was_full_ = was_full_ || full;
  GiveWindows(why);
  numbers_.NextSession();
  ++session_;
}

void SameProcessSink::FinishSessions(model::WindowEnd why) {
  GiveWindows(why);
  if (without_activity_ && !any_activity_) sink_.AddRunStat(*without_activity_);
  for (const RunNumbers::Missing& missing : numbers_.Find()) {
    const auto name = names_.find(missing.program_id);
    const std::string program =
        name == names_.end() ? fmt::format("program {}", missing.program_id) : name->second;
    if (missing.between > 0) {
      sink_.AddRunStat(
          {.name = "executions_between_parts",
           .severity = model::Severity::kNotice,
           .source = program,
           .value = missing.between,
           .advice =
               fmt::format("ran while nothing was recorded, between two parts of the recording; {}",
                           was_full_ ? "more memory for a part (XLATRACE_HOOK_MEMORY_MB) makes it "
                                       "one part"
                                     : "a longer --duration makes it one part")});
    }
    if (missing.inside > 0) {
      sink_.AddRunStat({.name = "executions_missing",
                        .severity = model::Severity::kDataLoss,
                        .source = program,
                        .value = missing.inside,
                        .advice = "executions of which the profile holds nothing"});
    }
  }
}

}  // namespace xlatrace::importers
