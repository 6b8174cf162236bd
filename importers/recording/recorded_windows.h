// SPDX-License-Identifier: Apache-2.0

// The parts of a process that its recording holds, and the lost parts (model/windows.h).
//
// - Each stretch between "window opened" marks of the collector has one window
//   (recorded_process.h). The window lasts from the start of the first activity launched in the
//   stretch to the end of the last one. Work launched before the window opened, or after it closed,
//   is not in the recording. If such work ran on another stream ("outside" marks), the window is
//   the longest stretch without such work.
// - If a call started device work and has no activity, its work is lost. The work ran after the
//   call began. On the stream of the neighbouring calls, it ran before the work of the next call.
//   If a CUDA graph runs without a node that it otherwise always has, the node is lost, too
//   (graph_losses.h).
// - If CUPTI or the collector counts losses without identifying them, they happened between the
//   flushes before and after the count.
// - A file without an end is complete for work that ended before the begin of its last flush (stat
//   `whole_until_ns`) and before the first call without an activity. Later work may be lost.
//
// Order of calls: OnCall for every call, OnLostCall for calls without activity, OnActivity for all
// activities, Finish. Times are those of the recording. Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_RECORDING_RECORDED_WINDOWS_H_
#define XLATRACE_IMPORTERS_RECORDING_RECORDED_WINDOWS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "importers/recording/graph_losses.h"
#include "importers/recording/recorded_process.h"
#include "importers/recording/step_edges.h"
#include "model/event_sink.h"
#include "recording/reader.h"

namespace xlatrace::importers {

class RecordedWindows {
 public:
  explicit RecordedWindows(const RecordedProcess& process) : process_(process), graphs_(process) {}

  void OnCall(const recording::ApiCallRow& row);
  void OnLostCall(const recording::ApiCallRow& row);
  // Call it after all calls are added. `run`: 1-based index of the module's run, 0: none.
  void OnActivity(const recording::ActivityRow& row, model::Id lane, uint32_t run);

  // On this device a window of steps begins with the first work of the first step. It ends with the
  // first work of the step after the window.
  void Extend(const StepEdges::Interval& steps);

  struct Summary {
    model::ProcessEnding ending;
    int64_t calls_without_activity = 0;
    int64_t graph_nodes_missing = 0;
    // Nodes of graphs with too few launches, or in bodies of branches and loops: they are lost, or
    // the program had disabled them.
    int64_t graph_nodes_doubtful = 0;
    int64_t counted_elsewhere = 0;  // Records that CUPTI dropped and that are among the two above.
  };
  // Adds windows, losses and the ending to the sink. `time_of`: converts times to the sink's clock.
  Summary Finish(const recording::ReadOutcome& outcome, bool live, model::Id process_id,
                 const std::function<int64_t(uint64_t)>& time_of, model::EventSink& sink);

 private:
  struct LostCall {
    uint32_t correlation = 0;
    uint32_t run = 0;
    uint64_t start_ns = 0;
  };
  // Activities whose correlation id lies between those of two lost calls.
  struct Bucket {
    uint32_t first = UINT32_MAX, last = 0;  // Correlations.
    model::Id first_lane = 0, last_lane = 0;
  };
  struct Extent {
    uint64_t start_ns = 0, end_ns = 0;  // 0: nothing yet.
    void Add(uint64_t start, uint64_t end);
  };

  void Prepare();
  size_t BucketOf(uint32_t correlation) const;
  uint64_t EndOf(size_t lost) const;
  Extent WithoutOutside(const Extent& window) const;
  uint64_t FlushPeriodNs() const;
  uint64_t LatestEndNs() const;
  uint64_t StartOfRing(uint64_t first_ns) const;
  void AddWindows(bool finished, const std::function<int64_t(uint64_t)>& time_of,
                  model::Id process_id, model::EventSink& sink) const;
  model::ProcessEnding Ending(bool finished, bool live, uint64_t whole_until,
                              const std::function<int64_t(uint64_t)>& time_of) const;

  const RecordedProcess& process_;
  GraphLosses graphs_;
  bool prepared_ = false;
  uint64_t limit_ns_ = UINT64_MAX;         // The file had no space for later activities.
  std::vector<LostCall> lost_;             // By correlation, once prepared.
  std::vector<uint32_t> first_of_window_;  // Smallest correlation of each but the first window.
  std::vector<Bucket> buckets_;            // One more element than lost calls.
  std::map<std::pair<model::Id, size_t>, uint64_t> first_start_;  // By lane and bucket.
  std::unordered_map<uint32_t, uint64_t> run_end_;                // Runs with a lost call.
  std::vector<Extent> windows_;
  std::map<model::Id, uint64_t> first_of_lane_;  // Start of the first activity; of a ring only.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_RECORDED_WINDOWS_H_
