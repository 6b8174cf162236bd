// SPDX-License-Identifier: Apache-2.0

// What of a process its recording holds, and what is missing from it (model/windows.h).
//
// - A window per stretch between "window opened" marks of the collector (recorded_process.h): from
//   the start of the first activity that was launched in it to the end of the last. What was
//   launched before it opened, or after it closed, is not in the recording; where that ran on
//   another stream meanwhile ("outside" marks), the window is the longest stretch without.
// - A call that started device work and has no activity is a loss: its work ran after the call
//   began and, on the stream of its neighbours, before the next one's. A CUDA graph that runs
//   without one of the nodes it always has is a loss, too (graph_losses.h).
// - What CUPTI or the collector counted as lost, and cannot name, lies between the flushes around
//   the count.
// - A file without an end has all work that ended before the begin of its last flush (stat
//   `whole_until_ns`) and before the first call without an activity. Later work may be missing.
//
// Use: OnCall for every call, OnLostCall for those without activity; then OnActivity for all; then
// Tell. Times are the recording's. Thread-safety: one thread.

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
  // Calls are all there; `run`: 1-based index of the module's run, 0: none.
  void OnActivity(const recording::ActivityRow& row, model::Id lane, uint32_t run);

  // On this device a window of steps begins with the first work of the first step. It ends with the
  // first work of the step after the window.
  void Extend(const StepEdges::Interval& steps);

  struct Told {
    model::ProcessEnding ending;
    int64_t calls_without_activity = 0;
    int64_t graph_nodes_missing = 0;
    // Of graphs that have run too seldom to know, or in bodies of branches and loops: they are
    // missing, or the program had disabled them.
    int64_t graph_nodes_doubtful = 0;
    int64_t counted_elsewhere = 0;  // Of what CUPTI dropped: those that are among the two above.
  };
  // Gives windows, losses and the ending to the sink. `time_of`: to the sink's clock.
  Told Tell(const recording::ReadOutcome& outcome, bool live, model::Id process_id,
            const std::function<int64_t(uint64_t)>& time_of, model::EventSink& sink);

 private:
  struct LostCall {
    uint32_t correlation = 0;
    uint32_t run = 0;
    uint64_t start_ns = 0;
  };
  // Activities whose correlation lies between those of two lost calls.
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
  void TellWindows(bool finished, const std::function<int64_t(uint64_t)>& time_of,
                   model::Id process_id, model::EventSink& sink) const;
  model::ProcessEnding Ending(bool finished, bool live, uint64_t whole_until,
                              const std::function<int64_t(uint64_t)>& time_of) const;

  const RecordedProcess& process_;
  GraphLosses graphs_;
  bool prepared_ = false;
  uint64_t limit_ns_ = UINT64_MAX;         // From here on activities had no room in the file.
  std::vector<LostCall> lost_;             // By correlation, once prepared.
  std::vector<uint32_t> first_of_window_;  // Smallest correlation of each but the first window.
  std::vector<Bucket> buckets_;            // One more than lost calls.
  std::map<std::pair<model::Id, size_t>, uint64_t> first_start_;  // By lane and bucket.
  std::unordered_map<uint32_t, uint64_t> run_end_;                // Of runs with a lost call.
  std::vector<Extent> windows_;
  std::map<model::Id, uint64_t> first_of_lane_;  // Start of the first activity; of a ring only.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_RECORDED_WINDOWS_H_
