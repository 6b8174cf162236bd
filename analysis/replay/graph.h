// SPDX-License-Identifier: Apache-2.0

// What of a run had to wait for what: the graph that replay walks.
//
// Nodes are pieces of device activities (an activity that others nest in is cut where they lie) and
// host calls (a call that waits is two nodes, its start and its return). Edges say what a node
// waited for, and how long after that it began (the lag):
//   lane     the piece before it on its stream or thread
//   launch   the start of the host call that launched it
//   thread   the call before it on its host thread: the lag is what the host did in between
//   wait     what a host call waited for: a synchronisation, a copy that blocks, a full queue
//   data     an operand of its HLO instruction that another lane computed, or any collective or
//            copy
//   seen     nothing of the above explains its start: what ended last before on another lane of
//            its device, as an event that no source records, or a host that none shows, would have
//            it
//   behind   as `seen`, of a launch that its call explains: counts only where a change takes the
//            call away
// Where streams join is also taken from the order of launches (analysis/replay/joins.h), as `seen`.
//
// Host calls that wait for the device need not be recorded. Where the device had finished all it
// was given, and the host, which had called nothing meanwhile, called within 300 us, after a time
// that it seldom takes between calls, or of which this is the tenth part, it had waited; so it had
// where the gap's cause says so. Where it called later it may have waited or not, and may be asked
// both ways (`maybe_waits`).
//
// Kernels of one collective on several devices are a group: each ends a fixed time after the last
// of them has begun.
//
// The binding edge of a node is the one whose cause came last; its lag is what was recorded, so
// that replay gives the recorded times back. An edge that did not bind takes the usual lag of its
// kind, at most what was there. What was assumed is listed in `assumptions`.
//
// What is in it: the longest stretch of steady steps in a row of every process (all steps where
// none is steady, the whole run where there are none), at most `most_activities`.
// Memory: some 150 bytes per launch. Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_REPLAY_GRAPH_H_
#define XLATRACE_ANALYSIS_REPLAY_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/launch_queue.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/host_event.h"
#include "model/run_tables.h"

namespace xlatrace::analysis::replay {

// A run as both the analysis and a reader of run.db have it. All must outlive the call.
struct Input {
  const model::RunTables& run;
  const model::AttributionTables& attribution;
  const std::vector<model::StepRow>& steps;
  const std::vector<std::optional<int32_t>>& step_of;  // Per activity.
  const std::vector<model::GapRow>& gaps;              // Their causes.
  const HostCallOf& call_of;                           // May be empty.
  // Host calls that wait for a device (synchronisations), in any order.
  const std::vector<model::HostEvent>& waits;
};

enum class NodeKind : uint8_t { kActivity, kCall, kReturn };
enum class EdgeKind : uint8_t { kLane, kLaunch, kThread, kWait, kData, kSeen, kBehind };
inline constexpr size_t kEdgeKindCount = 7;
inline constexpr int64_t kNoEdge = INT64_MIN;  // As a lag: the edge does not count.
inline constexpr uint32_t kNoNode = UINT32_MAX;

struct Node {
  int64_t start_ns = 0;     // As recorded.
  int64_t duration_ns = 0;  // Of a member of a group: from the last arrival on.
  uint32_t what = 0;        // Index of the activity; of a call the first activity it launched.
  uint32_t group = 0;       // Into Graph::groups, from 1; 0: none.
  NodeKind kind = NodeKind::kActivity;
  ActivityClass work = ActivityClass::kCompute;
  bool last_piece = true;   // Of its activity.
  bool by_copying = false;  // Recorded as a copy or a memset, whatever it is for.
};

struct Edge {
  int64_t lag_ns = 0;
  uint32_t from = 0;
  EdgeKind kind = EdgeKind::kLane;
  bool from_start = false;  // The cause is the start of `from`, else its end.
  bool binding = false;     // As recorded.
};

// A step of a device: from the start of node `first` to the start of node `end`, or to the end of
// the last of the device's nodes in it where no step follows.
struct Span {
  model::Id device_id = 0;
  int64_t step = 0;
  int64_t start_ns = 0, end_ns = 0;  // As recorded.
  uint32_t first = 0;
  uint32_t end = 0;
  bool to_end = false;  // Until all of `ends` have ended; `end` is the last as recorded.
  std::vector<uint32_t> ends = {};  // The last of each lane.
  bool typical = false;             // StepRow::typical.
};

// A wait that may have been or not: with it the edge has this lag, and the thread's one no longer.
struct MaybeWait {
  uint32_t node = 0;
  uint32_t edge = 0;
  int64_t lag_ns = 0;
};

struct Graph {
  std::vector<Node> nodes;           // In an order in which causes come before what they cause.
  std::vector<uint32_t> first_edge;  // Per node, and one more.
  std::vector<Edge> edges;
  std::vector<uint32_t> groups;  // Members of each, from 1.
  std::vector<Span> spans;       // By step, device.
  std::vector<MaybeWait> maybe_waits;
  bool whole_run = false;                     // There are no steps: one span per device.
  bool host_known = false;                    // Launches have host calls.
  bool on_cpu = false;                        // A device of the spans is a CPU.
  int64_t usual_lag_ns[kEdgeKindCount] = {};  // Of binding edges of a kind.
  std::vector<std::string> assumptions;
};

struct GraphOptions {
  size_t most_activities = 4'000'000;
  bool infer_waits = true;  // A gap of cause synchronisation makes the host wait for what precedes.
};

// An empty graph where nothing is timed.
Graph BuildGraph(const Input& input, const std::vector<ActivityClass>& classes,
                 const GraphOptions& options = {});

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_GRAPH_H_
