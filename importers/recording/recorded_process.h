// SPDX-License-Identifier: Apache-2.0

// Facts of one recording about its process, collected in the first reading, without API calls and
// activities.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_RECORDING_RECORDED_PROCESS_H_
#define XLATRACE_IMPORTERS_RECORDING_RECORDED_PROCESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/common/correlation_table.h"
#include "importers/recording/graph_node_ranges.h"
#include "importers/recording/recorded_strings.h"
#include "importers/recording/registered_modules.h"
#include "recording/reader.h"

namespace xlatrace::importers {

// The host's side of the activities with one correlation id.
struct RecordedLaunch {
  // Value of `call` for work that is left out.
  static constexpr uint32_t kLeftOutIndex = UINT32_MAX;

  uint32_t call = 0;   // Id of the API call in the sink, 0: not seen.
  uint32_t thunk = 0;  // String id.
  uint32_t run = 0;    // 1-based index into RecordedProcess::runs, 0: none.
};

class RecordedProcess final : public recording::RowSink {
 public:
  struct Device : recording::DeviceRow {
    std::string name_text;
    std::string uuid_text;
  };

  bool Accepts(recording::BlockType type) const override {
    return type != recording::BlockType::kApiCalls;
  }
  void OnSegment(uint64_t, std::string_view identity) override {
    if (identity_.empty()) identity_ = std::string(identity);
  }
  void OnActivity(const recording::ActivityRow& row, const recording::ConfigRow&,
                  const recording::LaneRow&) override;
  void OnRange(const recording::RangeRow& row) override;
  void OnGraphNode(const recording::GraphNodeRow& row) override {
    nodes.Add(row);
    conditional_graphs |= row.type == kConditionalNodeType;
  }
  void OnString(const recording::StringRow& row) override { strings.Add(row); }
  void OnSchema(const recording::SchemaRow& row) override { modules.AddSchema(row); }
  void OnPayload(const recording::PayloadRow& row) override { modules.AddPayload(row); }
  void OnDevice(const recording::DeviceRow& row) override;
  void OnContext(const recording::ContextRow& row) override {
    // The first callback of a context does not have the stream yet. Streams count from 1.
    if (row.null_stream != 0) null_streams[row.context] = row.null_stream;
  }
  void OnStream(const recording::StreamRow& row) override {
    priorities[{row.context, row.stream}] = row.priority;
  }
  void OnThread(const recording::ThreadRow& row) override {
    thread_names[row.thread] = std::string(row.name);
  }
  void OnStreamName(const recording::StreamNameRow& row) override {
    stream_names[{row.context, row.stream}] = std::string(row.name);
  }
  void OnCubin(const recording::CubinRow&) override { ++cubins; }
  void OnClock(const recording::ClockRow& row) override;
  void OnOverhead(const recording::OverheadRow& row) override;
  void OnStat(const recording::StatRow& row) override;
  void OnFact(const recording::FactRow& row) override;

  // After the reading.
  void Finish();

  // 1-based index of a run in `runs`. A run whose range's row was lost is added.
  uint32_t RunIndex(uint64_t module_run);
  // 1-based index of a known run; 0: the run is unknown.
  uint32_t KnownRun(uint64_t module_run) const;
  // Empty when there is none.
  std::string_view Fact(std::string_view key) const;
  std::optional<int64_t> IntFact(std::string_view key) const;

  RecordedStrings strings;
  RegisteredModules modules;
  GraphNodes nodes;
  CorrelationTable<RecordedLaunch> launches;
  std::unordered_map<uint32_t, uint64_t> graph_launch_ns;  // Start of the calls of graph launches.
  std::vector<uint32_t> runs;  // String id of the `XlaModule:` range, 0: not known.
  std::map<uint32_t, Device> devices;
  std::map<uint32_t, uint32_t> null_streams;  // By context.
  std::map<std::pair<uint32_t, uint32_t>, int32_t> priorities;
  std::map<std::pair<uint32_t, uint32_t>, std::string> stream_names;  // By context and stream.
  std::map<uint32_t, std::string> thread_names;
  std::vector<recording::ClockRow> clocks;
  std::map<std::string, uint64_t> stats;
  std::map<std::string, std::string, std::less<>> facts;
  std::vector<std::string> errors;  // Reasons why the process was not recorded, or only in part.
  std::vector<std::string> notes;   // How the recording differs from the request.
  uint64_t first_ns = 0;            // First activity or range; 0: none.
  uint64_t last_ns = 0;
  bool ring = false;               // True: only the last part of the process was kept.
  uint64_t first_activity_ns = 0;  // The earliest start, 0: none.
  std::vector<std::pair<uint64_t, int64_t>> steps;  // Marks: when, and which step. By time.
  // When the window (collector/steering.h) opened again.
  std::vector<uint64_t> opened_ns;
  uint64_t first_closed_ns = 0;  // Time at which the window first closed; 0: never.
  bool window_closed = false;    // The window was closed at the end.
  // Disjoint intervals, by time, in which device work was left out because the window was closed.
  std::vector<std::pair<uint64_t, uint64_t>> outside_ns;
  uint64_t anew_ns = 0;  // Before this time, the steps were those of a helper module; 0: none.
  // Runs of the main module at which a window of steps begins and ends (collector/steering.h), by
  // time of the mark: numbers of their `XlaModule:` ranges.
  std::vector<std::pair<uint64_t, uint64_t>> first_runs;
  std::vector<std::pair<uint64_t, uint64_t>> next_runs;
  // Runs that were recorded outside of the window.
  std::vector<std::pair<uint64_t, uint64_t>> outside_runs;
  bool conditional_graphs = false;  // Branches or loops on the device.
  // Records that were counted as lost between two moments, as the counters grew.
  struct CountedLoss {
    uint64_t from_ns = 0;
    uint64_t to_ns = 0;
    int64_t records = 0;
    std::string cause;
    // Index of the clocks at the last growth. The recording ends at the second clock after that.
    size_t open_at_clock = 0;
  };
  std::vector<CountedLoss> counted_losses;
  uint64_t overhead_ns = 0;
  int64_t cubins = 0;

 private:
  static constexpr uint32_t kConditionalNodeType = 13;  // CUgraphNodeType.

  void See(uint64_t time_ns) {
    if (time_ns == 0) return;
    if (first_ns == 0 || time_ns < first_ns) first_ns = time_ns;
    if (time_ns > last_ns) last_ns = time_ns;
  }

  struct Mark {
    uint64_t time_ns;
    uint32_t domain;
    uint32_t text;
  };

  void UseIdentity();

  std::string identity_;  // Identity in the file.
  std::unordered_map<uint64_t, uint32_t> run_index_;
  std::vector<Mark> marks_;  // Ranges without a duration; their meaning is known at the end.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_RECORDED_PROCESS_H_
