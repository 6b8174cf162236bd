// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/graph.h"

#include <utility>
#include <vector>

#include "analysis/replay/assumptions.h"
#include "analysis/replay/edge_lags.h"
#include "analysis/replay/graph_so_far.h"
#include "analysis/replay/host_edges.h"
#include "analysis/replay/joins.h"
#include "analysis/replay/pieces.h"
#include "analysis/replay/producers.h"
#include "analysis/replay/rendezvous.h"
#include "analysis/replay/spans.h"
#include "analysis/replay/window.h"

namespace xlatrace::analysis::replay {
namespace {

constexpr int64_t kLaunchingNs = 30'000;  // From a launch call to its work.

class Builder {
 public:
  Builder(const Input& input, const std::vector<ActivityClass>& classes,
          const GraphOptions& options, const ReplayWindow& window)
      : input_(input),
        window_(window),
        pieces_(CollectPieces(input, window, classes)),
        lanes_of_(LanesOf()),
        so_far_(pieces_.pieces.size(), pieces_.lanes.size(), graph_),
        host_(input, pieces_, lanes_of_, options.infer_waits, so_far_, found_),
        ran_(RanOf()),
        producers_(input.attribution, ran_),
        joins_(FindJoins(input, pieces_, [this](uint32_t activity) {
          const uint32_t instruction = InstructionOf(activity);
          return instruction != 0 && producers_.Known(instruction);
        })) {}

  Graph Build() {
    Prepare();
    for (const Piece& piece : pieces_.pieces) {
      so_far_.AddNode(piece.node);
      switch (piece.node.kind) {
        case NodeKind::kActivity:
          AddActivity(piece);
          break;
        case NodeKind::kCall:
          host_.AddCall(piece);
          break;
        case NodeKind::kReturn:
          host_.AddReturn(piece);
          break;
      }
    }
    so_far_.End();
    SettleLags(graph_);
    FindSpans(input_, window_, pieces_, graph_);
    MarkRendezvous(input_, pieces_, graph_);
    FollowStartsOfMembers(graph_);
    found_.joins = joins_.size();
    found_.skewed = pieces_.skewed;
    ListAssumptions(found_, window_.steady, graph_);
    return std::move(graph_);
  }

 private:
  std::vector<bool> RanOf() const {
    std::vector<bool> ran(input_.attribution.instructions.size() + 1, false);
    for (const uint32_t i : pieces_.activities) ran[InstructionOf(i)] = true;
    ran[0] = false;
    return ran;
  }

  uint32_t InstructionOf(uint32_t activity) const {
    const uint32_t label = input_.attribution.label_of[activity];
    if (label == 0) return 0;
    return static_cast<uint32_t>(input_.attribution.labels[label - 1].instruction_id);
  }

  size_t DeviceOf(const Piece& piece) const {
    return static_cast<size_t>(pieces_.lanes[piece.lane].device_id) - 1;
  }

  std::vector<std::vector<uint32_t>> LanesOf() const {
    std::vector<std::vector<uint32_t>> lanes_of(input_.run.devices.size());
    for (uint32_t lane = 0; lane < pieces_.lanes.size(); ++lane) {
      lanes_of[static_cast<size_t>(pieces_.lanes[lane].device_id) - 1].push_back(lane);
    }
    return lanes_of;
  }

  void Prepare() {
    streams_.resize(input_.run.lanes.size() + 1);
    for (uint32_t lane = 0; lane < pieces_.lanes.size(); ++lane) {
      streams_[pieces_.lanes[lane].lane].branches.push_back(lane);
    }
    newest_.assign(input_.run.devices.size(), std::vector<uint32_t>(ran_.size(), kNoNodeIndex));
    // Misaligned clocks give no valid launches (analysis/launch_queue.h).
    graph_.host_known = pieces_.calls > 0;
  }

  void AddActivity(const Piece& piece) {
    const uint32_t node = so_far_.Current();
    const int64_t start = so_far_.StartOf(node);
    AddLane(piece);
    if (piece.first_piece) {
      if (piece.call != 0 && host_.NodeOf(piece.call) != kNoNodeIndex) {
        so_far_.AddEdge(host_.NodeOf(piece.call), EdgeKind::kLaunch, true);
      }
      AddOperands(piece);
      AddJoins();
      AddSeen(piece, start);
    }
    so_far_.PutOn(piece.lane);
    if (piece.node.last_piece) {
      if (piece.call != 0) host_.EndActivityOf(piece.call);
      newest_[DeviceOf(piece)][InstructionOf(piece.node.what)] = node;
    }
  }

  // A launch on a stream waits for all earlier work on it. For a graph this includes its branches.
  void AddLane(const Piece& piece) {
    const uint32_t before = so_far_.LastOn(piece.lane);
    Stream& stream = streams_[pieces_.lanes[piece.lane].lane];
    if (stream.branches.size() == 1) {
      if (before != kNoNodeIndex) so_far_.AddEdge(before, EdgeKind::kLane);
      return;
    }
    if (piece.call == 0 || piece.call != stream.call) {
      stream.call = piece.call;
      stream.first = so_far_.Current();
      stream.last.clear();
      for (const uint32_t branch : stream.branches) {
        const uint32_t last = so_far_.LastOn(branch);
        if (last != kNoNodeIndex) stream.last.push_back(last);
      }
    }
    if (before != kNoNodeIndex && before >= stream.first) {
      so_far_.AddEdge(before, EdgeKind::kLane);
      return;
    }
    for (const uint32_t last : stream.last) so_far_.AddEdge(last, EdgeKind::kLane);
  }

  void AddOperands(const Piece& piece) {
    const uint32_t instruction = InstructionOf(piece.node.what);
    if (instruction == 0) return;
    const uint32_t execution = input_.attribution.execution_of[piece.node.what];
    for (const uint32_t producer : producers_.Of(instruction)) {
      const uint32_t from = newest_[DeviceOf(piece)][producer];
      if (from == kNoNodeIndex || so_far_.EndOf(from) > piece.node.start_ns) continue;
      const Node& made = graph_.nodes[from];
      if (execution == 0 || input_.attribution.execution_of[made.what] != execution) continue;
      // Computation on the same lane comes before it anyway.
      const bool same_lane = pieces_.pieces[from].lane == piece.lane;
      if (same_lane && made.work == ActivityClass::kCompute &&
          piece.node.work == ActivityClass::kCompute) {
        continue;
      }
      so_far_.AddEdge(from, EdgeKind::kData);
      ++found_.data_edges;
    }
  }

  void AddJoins() {
    for (; next_join_ < joins_.size() && joins_[next_join_].node == so_far_.Current();
         ++next_join_) {
      so_far_.AddEdge(joins_[next_join_].from, EdgeKind::kSeen);
    }
  }

  void AddSeen(const Piece& piece, int64_t start) {
    const size_t device = DeviceOf(piece);
    if (lanes_of_[device].size() < 2) return;
    const int64_t cause = so_far_.LatestCause();
    const bool nothing = cause == INT64_MIN;
    bool launched = false;  // By a call that explains it.
    for (const Edge& edge : so_far_.Edges()) {
      launched = launched || (edge.kind == EdgeKind::kLaunch && edge.lag_ns < kLaunchingNs);
    }
    if (!nothing && !launched && start - cause <= kUsualSchedulingNs) return;
    const uint32_t from = so_far_.LatestEnd(lanes_of_[device], start);
    if (from == kNoNodeIndex) return;
    if (launched) {
      so_far_.AddEdge(from, EdgeKind::kBehind).lag_ns = kNoEdgeLagNs;
      return;
    }
    if (!nothing && so_far_.EndOf(from) <= cause) return;
    so_far_.AddEdge(from, EdgeKind::kSeen);
    ++found_.seen_edges;
  }

  const Input& input_;
  const ReplayWindow& window_;
  Graph graph_;
  Found found_;
  Pieces pieces_;
  std::vector<std::vector<uint32_t>> lanes_of_;  // By device.
  GraphSoFar so_far_;
  HostEdges host_;
  std::vector<bool> ran_;
  Producers producers_;
  std::vector<Join> joins_;
  size_t next_join_ = 0;
  // A stream of the run, and its work before the current launch.
  struct Stream {
    std::vector<uint32_t> branches;  // Lanes of the pieces.
    uint32_t call = 0;
    uint32_t first = 0;  // Node of the launch.
    std::vector<uint32_t> last;
  };
  std::vector<Stream> streams_;                // By lane id.
  std::vector<std::vector<uint32_t>> newest_;  // By device and instruction.
};

}  // namespace

Graph BuildGraph(const Input& input, const std::vector<ActivityClass>& classes,
                 const GraphOptions& options) {
  const ReplayWindow window = ChooseWindow(input, options.most_activities);
  return Builder(input, classes, options, window).Build();
}

}  // namespace xlatrace::analysis::replay
