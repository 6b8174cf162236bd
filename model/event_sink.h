// SPDX-License-Identifier: Apache-2.0

// Interface through which importers add a run. The store implements it; tests implement it in
// memory.
//
// Order of calls: SetStart first (or never, if the source has no wall clock). Then rows in any
// order, but each after the rows it refers to. AddActivity and AddApiCall may be called millions of
// times, the other functions thousands of times.
//
// Errors: a sink keeps the first write error and ignores later rows. The importer's caller gets the
// error when it closes the sink, so importers need not check every Add.
// Thread-safety: one thread at a time.

#ifndef XLATRACE_MODEL_EVENT_SINK_H_
#define XLATRACE_MODEL_EVENT_SINK_H_

#include <optional>
#include <string_view>

#include "model/events.h"
#include "model/host_sample.h"
#include "model/windows.h"

namespace xlatrace::model {

class EventSink {
 public:
  virtual ~EventSink() = default;

  // Declares the wall-clock time that the importer's times count from. The first source of a run
  // wins; a later one reads start_unix_ns() and shifts its own times.
  virtual void SetStart(int64_t start_unix_ns) = 0;
  virtual std::optional<int64_t> start_unix_ns() const = 0;

  // Facts about the run: keys of the view run_info. A later value for a key replaces the earlier.
  virtual void SetRunInfo(std::string_view key, std::string_view value) = 0;

  virtual Id AddProcess(const Process& process) = 0;
  virtual Id AddDevice(const Device& device) = 0;
  virtual Id AddLane(const Lane& lane) = 0;                    // Deduplicates.
  virtual Id AddLaunchConfig(const LaunchConfig& config) = 0;  // Deduplicates.
  virtual Id AddHint(const Hint& hint) = 0;                    // Deduplicates.
  virtual Id AddModule(const ModuleBlob& module) = 0;
  virtual Id AddApiCall(const ApiCall& call) = 0;
  // A call without an activity (process_id 0, thread_id is the export's global id). It is stored
  // for the view CUPTI_ACTIVITY_KIND_RUNTIME, which shows all calls of an Nsight Systems export,
  // and is in no sum.
  virtual void AddUnreferredCall(const ApiCall&) {}
  virtual Id AddActivity(const Activity& activity) = 0;
  virtual Id AddRange(const Range& range) = 0;
  // For the view NVTX_EVENTS only.
  virtual void AddNvtxRow(const NvtxRow&) {}
  // Called again for the same thread, it replaces the name.
  virtual void AddThread(const Thread&) {}
  virtual void AddStepMark(const StepMark& mark) = 0;
  virtual void AddCompile(const Compile& compile) = 0;

  // Stacks of the tables have numbers of their own.
  virtual void AddHostSamples(const HostSampleTables&) {}

  // Recorded intervals (model/windows.h). Windows of a process do not overlap. Without any, the
  // process was recorded from its first activity to its last.
  virtual void AddWindow(const Window&) {}
  virtual void AddLoss(const Loss&) {}
  // Called again for the same process, it replaces the ending.
  virtual void SetEnding(const ProcessEnding&) {}

  // Counters of the same name, severity and source are summed.
  virtual void AddRunStat(const RunStat& stat) = 0;
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_EVENT_SINK_H_
