// SPDX-License-Identifier: Apache-2.0

// The graph of dependences of a run, which replay walks.
//
// Nodes are pieces of device activities and host calls. An activity is cut where other activities
// are nested in it. A call that waits is two nodes: its start and its return. An edge leads from a
// cause to the node that waited for it. Its lag is the time from the cause to the start of the
// node. Kinds:
//   lane     the piece before it on its stream or thread
//   launch   the start of the host call that launched it
//   thread   the call before it on its host thread: the lag is the host's work in between
//   wait     the cause of a host call's wait: a synchronisation, a blocking copy, a full queue
//   data     an operand of its HLO instruction that another lane computed, or any collective or
//            copy
//   seen     none of the above explains its start: the activity that ended last before it on
//            another lane of its device. An unrecorded event, or a host without recorded calls,
//            would have this effect
//   behind   as `seen`, for a launch that its call explains: counts only if a change removes the
//            call
// Joins of streams are also derived from the order of launches (analysis/replay/joins.h), as
// `seen`.
//
// Host calls that wait for the device need not be recorded. A wait is inferred if the device had
// finished all its work, and the host called within 300 us after that, without calls in between.
// The time since its last call must be unusually long, or at least ten times the time after the
// device's end. A wait is also inferred if the gap's cause is a wait. If the host called later, it
// is unknown whether it waited; replay can assume either (`maybe_waits`).
//
// Kernels of one collective on several devices are a group. Each of them ends a fixed time after
// the last of them has begun.
//
// The binding edge of a node is the one whose cause came last. It has the recorded lag, so that
// replay reproduces the recorded times. Other edges have the usual lag of their kind, at most the
// recorded one. All assumptions are listed in `assumptions`.
//
// Contents: the longest row of steady steps of every process, at most `most_activities`. Without
// steady steps: all steps. Without steps: the whole run.
// Memory: about 150 bytes per launch. Thread-safety: pure functions.

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

// A run in the form that both the analysis and a reader of run.db have. All must outlive the call.
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
inline constexpr int64_t kNoEdgeLagNs = INT64_MIN;  // As a lag: the edge is ignored.
inline constexpr uint32_t kNoNodeIndex = UINT32_MAX;

struct Node {
  int64_t start_ns = 0;     // As recorded.
  int64_t duration_ns = 0;  // For a member of a group: from the last arrival on.
  uint32_t what = 0;   // Index of the activity; for a call, the first activity that it launched.
  uint32_t group = 0;  // Into Graph::groups, from 1; 0: none.
  NodeKind kind = NodeKind::kActivity;
  ActivityClass work = ActivityClass::kCompute;
  bool last_piece = true;   // True for the last piece of its activity.
  bool by_copying = false;  // Recorded as a copy or a memset, for any purpose.
};

struct Edge {
  int64_t lag_ns = 0;
  uint32_t from = 0;
  EdgeKind kind = EdgeKind::kLane;
  bool from_start = false;  // True: the edge leaves the start of `from`; false: its end.
  bool binding = false;     // In the recorded run.
};

// A step of a device: from the start of node `first` to the start of node `end`. If no step
// follows, to the end of the device's last node in the step.
struct Span {
  model::Id device_id = 0;
  int64_t step = 0;
  int64_t start_ns = 0, end_ns = 0;  // As recorded.
  uint32_t first = 0;
  uint32_t end = 0;
  bool to_end = false;  // Until all of `ends` have ended; `end` is the last as recorded.
  std::vector<uint32_t> ends = {};  // The last node of each lane.
  bool typical = false;             // StepRow::typical.
};

// A possible wait. If the wait is assumed, the edge gets this lag, and the edge of the thread is
// ignored.
struct MaybeWait {
  uint32_t node = 0;
  uint32_t edge = 0;
  int64_t lag_ns = 0;
};

struct Graph {
  std::vector<Node> nodes;           // Causes come before their effects.
  std::vector<uint32_t> first_edge;  // First edge per node, with one additional element at the end.
  std::vector<Edge> edges;
  std::vector<uint32_t> groups;  // Members of each, from 1.
  std::vector<Span> spans;       // By step, device.
  std::vector<MaybeWait> maybe_waits;
  bool whole_run = false;                     // The run has no steps: one span per device.
  bool host_known = false;                    // Launches have host calls.
  bool on_cpu = false;                        // A device of the spans is a CPU.
  int64_t usual_lag_ns[kEdgeKindCount] = {};  // Binding edges, by kind.
  std::vector<std::string> assumptions;
};

struct GraphOptions {
  size_t most_activities = 4'000'000;
  bool infer_waits = true;  // Waits are inferred from gaps of cause synchronisation.
};

// Empty if nothing has a time.
Graph BuildGraph(const Input& input, const std::vector<ActivityClass>& classes,
                 const GraphOptions& options = {});

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_GRAPH_H_
