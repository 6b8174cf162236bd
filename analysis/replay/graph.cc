#include "analysis/replay/graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "analysis/replay/joins.h"
#include "analysis/replay/pieces.h"
#include "analysis/replay/producers.h"
#include "analysis/replay/rendezvous.h"
#include "analysis/replay/window.h"

namespace xlatrace::analysis::replay {
namespace {

using model::Id;

// Scheduling takes less than this; what is longer has another cause.
constexpr int64_t kUsualSchedulingNs = 2'000;
constexpr int64_t kLaunchingNs = 30'000;
constexpr int64_t kHostWakeNs = 300'000;  // From the end of work to the return of who waited.
constexpr int64_t kQueueNs = 20'000;      // From a place in the queue to the return of a launch.
constexpr int64_t kUsuallyNs = 20'000;    // Lags above are no usual ones.

class Builder {
 public:
  Builder(const Input& input, const std::vector<ActivityClass>& classes,
          const GraphOptions& options, const ReplayWindow& window)
      : input_(input),
        options_(options),
        window_(window),
        pieces_(CollectPieces(input, window, classes)),
        ran_(RanOf()),
        producers_(input.attribution, ran_),
        joins_(FindJoins(input, pieces_, [this](uint32_t activity) {
          const uint32_t instruction = InstructionOf(activity);
          return instruction != 0 && producers_.Known(instruction);
        })) {}

  Graph Build() {
    Prepare();
    const size_t count = pieces_.pieces.size();
    graph_.nodes.reserve(count);
    graph_.first_edge.reserve(count + 1);
    graph_.edges.reserve(2 * count);
    for (const Piece& piece : pieces_.pieces) {
      graph_.nodes.push_back(piece.node);
      graph_.first_edge.push_back(static_cast<uint32_t>(graph_.edges.size()));
      switch (piece.node.kind) {
        case NodeKind::kActivity:
          AddActivity(piece);
          break;
        case NodeKind::kCall:
          AddCall(piece);
          break;
        case NodeKind::kReturn:
          AddReturn(piece);
          break;
      }
    }
    graph_.first_edge.push_back(static_cast<uint32_t>(graph_.edges.size()));
    SettleLags();
    FindSpans();
    MarkRendezvous(input_, pieces_, graph_);
    // What overlaps a member may begin before all have arrived: it goes by the member's start.
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      for (size_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
        Edge& edge = graph_.edges[e];
        if (edge.lag_ns >= 0 || edge.lag_ns == kNoEdge || graph_.nodes[edge.from].group == 0) {
          continue;
        }
        edge.from_start = true;
        edge.lag_ns = StartOf(static_cast<uint32_t>(node)) - StartOf(edge.from);
      }
    }
    Tell();
    return std::move(graph_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

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

  void Prepare() {
    const size_t devices = input_.run.devices.size();
    on_lane_.assign(pieces_.lanes.size(), kNone);
    streams_.resize(input_.run.lanes.size() + 1);
    on_thread_.assign(pieces_.threads, kNone);
    of_call_.assign(pieces_.calls + 1, kNone);
    last_of_call_.assign(pieces_.calls + 1, kNone);
    lanes_of_.resize(devices);
    for (uint32_t lane = 0; lane < pieces_.lanes.size(); ++lane) {
      lanes_of_[static_cast<size_t>(pieces_.lanes[lane].device_id) - 1].push_back(lane);
      streams_[pieces_.lanes[lane].lane].branches.push_back(lane);
    }
    given_until_.assign(devices, INT64_MIN);
    end_of_call_.assign(pieces_.calls + 1, INT64_MIN);
    FindUsualHost();
    newest_.assign(devices, std::vector<uint32_t>(ran_.size(), kNone));
    // Clocks that do not fit say nothing of launches (analysis/launch_queue.h).
    graph_.host_known = pieces_.calls > 0;
    for (const model::GapRow& gap : input_.gaps) {
      if (gap.cause != model::GapCause::kSynchronisation || gap.next_activity_id <= 0) continue;
      synchronised_.insert(static_cast<uint32_t>(gap.next_activity_id - 1));
    }
  }

  // When what a call launched ended, and how long the host usually is between two calls.
  void FindUsualHost() {
    std::vector<int64_t> returned(pieces_.threads, INT64_MIN), lags;
    for (const Piece& piece : pieces_.pieces) {
      const int64_t end = piece.node.start_ns + piece.node.duration_ns;
      if (piece.node.kind == NodeKind::kActivity) {
        end_of_call_[piece.call] = std::max(end_of_call_[piece.call], end);
        continue;
      }
      int64_t& before = returned[piece.thread];
      if (piece.node.kind == NodeKind::kCall && before != INT64_MIN) {
        lags.push_back(std::max<int64_t>(0, piece.node.start_ns - before));
      }
      before = std::max(before, end);
    }
    if (lags.empty()) return;
    const auto middle = lags.begin() + static_cast<std::ptrdiff_t>(lags.size() / 2);
    std::nth_element(lags.begin(), middle, lags.end());
    usual_host_ns_ = *middle;
  }

  uint32_t Current() const { return static_cast<uint32_t>(graph_.nodes.size() - 1); }
  int64_t StartOf(uint32_t node) const { return graph_.nodes[node].start_ns; }
  int64_t EndOf(uint32_t node) const {
    return graph_.nodes[node].start_ns + graph_.nodes[node].duration_ns;
  }

  // The lag is settled once all edges are there.
  void Add(uint32_t from, EdgeKind kind, bool from_start = false) {
    const int64_t cause = from_start ? StartOf(from) : EndOf(from);
    graph_.edges.push_back({graph_.nodes.back().start_ns - cause, from, kind, from_start, false});
  }

  // The latest end on any of the devices' lanes that is not after `time_ns`.
  uint32_t LatestEnd(const std::vector<uint32_t>& lanes, int64_t time_ns) const {
    uint32_t latest = kNone;
    for (const uint32_t lane : lanes) {
      uint32_t node = on_lane_[lane];
      // What still runs has not ended; what was before it on its lane has.
      while (node != kNone && EndOf(node) > time_ns) node = before_[node];
      if (node != kNone && (latest == kNone || EndOf(node) > EndOf(latest))) latest = node;
    }
    return latest;
  }

  int64_t LatestCause() const {
    int64_t latest = INT64_MIN;
    for (size_t e = graph_.first_edge.back(); e < graph_.edges.size(); ++e) {
      if (graph_.edges[e].lag_ns == kNoEdge) continue;
      latest = std::max(latest, graph_.nodes.back().start_ns - graph_.edges[e].lag_ns);
    }
    return latest;
  }

  void AddActivity(const Piece& piece) {
    const uint32_t node = Current();
    const int64_t start = StartOf(node);
    before_.resize(node + 1, kNone);
    before_[node] = on_lane_[piece.lane];
    AddLane(piece);
    lane_of_.resize(node + 1, kNone);
    lane_of_[node] = piece.lane;
    if (piece.first_piece) {
      if (piece.call != 0 && of_call_[piece.call] != kNone) {
        Add(of_call_[piece.call], EdgeKind::kLaunch, true);
      }
      AddOperands(piece);
      AddJoins();
      AddSeen(piece, start);
    }
    // What lies inside of another on its lane ends before it: what follows waits for the other.
    const uint32_t before = on_lane_[piece.lane];
    if (before == kNone || EndOf(node) >= EndOf(before)) on_lane_[piece.lane] = node;
    if (piece.node.last_piece) {
      if (piece.call != 0) last_of_call_[piece.call] = node;
      newest_[DeviceOf(piece)][InstructionOf(piece.node.what)] = node;
    }
  }

  // What is launched on a stream waits for all that was on it before: of a graph for its branches.
  void AddLane(const Piece& piece) {
    const uint32_t before = on_lane_[piece.lane];
    Stream& stream = streams_[pieces_.lanes[piece.lane].lane];
    if (stream.branches.size() == 1) {
      if (before != kNone) Add(before, EdgeKind::kLane);
      return;
    }
    if (piece.call == 0 || piece.call != stream.call) {
      stream.call = piece.call;
      stream.first = Current();
      stream.last.clear();
      for (const uint32_t branch : stream.branches) {
        if (on_lane_[branch] != kNone) stream.last.push_back(on_lane_[branch]);
      }
    }
    if (before != kNone && before >= stream.first) {
      Add(before, EdgeKind::kLane);
      return;
    }
    for (const uint32_t last : stream.last) Add(last, EdgeKind::kLane);
  }

  void AddOperands(const Piece& piece) {
    const uint32_t instruction = InstructionOf(piece.node.what);
    if (instruction == 0) return;
    const uint32_t execution = input_.attribution.execution_of[piece.node.what];
    for (const uint32_t producer : producers_.Of(instruction)) {
      const uint32_t from = newest_[DeviceOf(piece)][producer];
      if (from == kNone || EndOf(from) > piece.node.start_ns) continue;
      const Node& made = graph_.nodes[from];
      if (execution == 0 || input_.attribution.execution_of[made.what] != execution) continue;
      // What computes on the same lane is before it anyway.
      const bool same_lane = lane_of_[from] == piece.lane;
      if (same_lane && made.work == ActivityClass::kCompute &&
          piece.node.work == ActivityClass::kCompute) {
        continue;
      }
      Add(from, EdgeKind::kData);
      ++data_edges_;
    }
  }

  void AddJoins() {
    for (; next_join_ < joins_.size() && joins_[next_join_].node == Current(); ++next_join_) {
      Add(joins_[next_join_].from, EdgeKind::kSeen);
    }
  }

  void AddSeen(const Piece& piece, int64_t start) {
    const size_t device = DeviceOf(piece);
    if (lanes_of_[device].size() < 2) return;
    const int64_t cause = LatestCause();
    const bool nothing = cause == INT64_MIN;
    bool launched = false;  // By a call that explains it.
    for (size_t e = graph_.first_edge.back(); e < graph_.edges.size(); ++e) {
      launched = launched || (graph_.edges[e].kind == EdgeKind::kLaunch &&
                              graph_.edges[e].lag_ns < kLaunchingNs);
    }
    if (!nothing && !launched && start - cause <= kUsualSchedulingNs) return;
    const uint32_t from = LatestEnd(lanes_of_[device], start);
    if (from == kNone) return;
    if (launched) {
      Add(from, EdgeKind::kBehind);
      graph_.edges.back().lag_ns = kNoEdge;
      return;
    }
    if (!nothing && EndOf(from) <= cause) return;
    Add(from, EdgeKind::kSeen);
    ++seen_edges_;
  }

  void AddThread(const Piece& piece) {
    const uint32_t before = on_thread_[piece.thread];
    if (before == kNone) return;
    // Calls within calls follow each other's start.
    Add(before, EdgeKind::kThread, EndOf(before) > StartOf(Current()));
  }

  void AddCall(const Piece& piece) {
    const uint32_t node = Current();
    before_.resize(node + 1, kNone);
    AddThread(piece);
    if (piece.blocks != Blocks::kWaits && options_.infer_waits) AddWait(piece);
    on_thread_[piece.thread] = node;
    of_call_[piece.call] = node;
    if (piece.blocks == Blocks::kWaits) return;
    int64_t& until =
        given_until_[static_cast<size_t>(input_.run.LaneOf(piece.node.what).device_id) - 1];
    until = std::max(until, end_of_call_[piece.call]);
  }

  // Did the host wait before this call, though no call says so?
  void AddWait(const Piece& piece) {
    const uint32_t before = on_thread_[piece.thread];
    if (before == kNone) return;
    const int64_t start = graph_.nodes.back().start_ns;
    const int64_t returned = EndOf(before);
    if (start - returned < kUsualSchedulingNs) return;
    const auto device = static_cast<size_t>(input_.run.LaneOf(piece.node.what).device_id) - 1;
    const uint32_t from = LatestEnd(lanes_of_[device], start);
    if (from == kNone || EndOf(from) <= returned) return;
    if (given_until_[device] > start) return;  // It had more to do.
    const int64_t lag = start - EndOf(from);
    Add(from, EdgeKind::kWait);
    // Longer than it takes to get to any call, or all but the last moment of it.
    const bool soon = lag <= kHostWakeNs &&
                      (start - returned > 3 * usual_host_ns_ || start - returned > 10 * lag);
    if (synchronised_.contains(piece.node.what) || soon) {
      ++inferred_waits_;
      return;
    }
    graph_.edges.back().lag_ns = kNoEdge;
    graph_.maybe_waits.push_back({Current(), static_cast<uint32_t>(graph_.edges.size() - 1), lag});
  }

  void AddReturn(const Piece& piece) {
    const uint32_t node = Current();
    before_.resize(node + 1, kNone);
    Add(of_call_[piece.call], EdgeKind::kThread, true);
    uint32_t from = piece.blocks == Blocks::kOnOwn ? last_of_call_[piece.call] : kNone;
    if (from == kNone) from = LatestEnd(ProcessLanes(piece.thread), StartOf(node));
    const int64_t most = piece.blocks == Blocks::kLong ? kQueueNs : kHostWakeNs;
    if (from != kNone && EndOf(from) > StartOf(of_call_[piece.call]) &&
        StartOf(node) - EndOf(from) <= most && EndOf(from) <= StartOf(node)) {
      Add(from, EdgeKind::kWait);
      ++waits_;
    }
    on_thread_[piece.thread] = node;
  }

  std::vector<uint32_t> ProcessLanes(uint32_t thread) const {
    std::vector<uint32_t> lanes;
    for (size_t d = 0; d < lanes_of_.size(); ++d) {
      if (input_.run.devices[d].process_id != pieces_.process_of_thread[thread]) continue;
      lanes.insert(lanes.end(), lanes_of_[d].begin(), lanes_of_[d].end());
    }
    return lanes;
  }

  // Which edge bound each node, what is usual, and what the others would have taken.
  void SettleLags() {
    std::vector<int64_t> lags[kEdgeKindCount];
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      Edge* binding = nullptr;
      for (size_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
        Edge& edge = graph_.edges[e];
        if (edge.lag_ns == kNoEdge) continue;
        if (binding == nullptr || edge.lag_ns < binding->lag_ns) binding = &edge;
      }
      if (binding == nullptr) continue;
      binding->binding = true;
      if (binding->lag_ns >= 0 && binding->lag_ns <= kUsuallyNs) {
        lags[static_cast<size_t>(binding->kind)].push_back(binding->lag_ns);
      }
    }
    constexpr int64_t kDefaults[] = {1'000, 5'000, 0, 10'000, 1'000, 1'000, 1'000};
    for (size_t kind = 0; kind < kEdgeKindCount; ++kind) {
      graph_.usual_lag_ns[kind] = kDefaults[kind];
      if (lags[kind].empty()) continue;
      const auto middle = lags[kind].begin() + static_cast<std::ptrdiff_t>(lags[kind].size() / 2);
      std::nth_element(lags[kind].begin(), middle, lags[kind].end());
      graph_.usual_lag_ns[kind] = *middle;
    }
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      for (size_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
        Edge& edge = graph_.edges[e];
        if (edge.binding || edge.lag_ns == kNoEdge) continue;
        const int64_t usual = graph_.usual_lag_ns[static_cast<size_t>(edge.kind)];
        edge.lag_ns = std::min(edge.lag_ns, OtherLag(node, edge, usual));
      }
    }
  }

  // A host that waited did the work that followed afterwards: the call before does not bind later
  // than that.
  int64_t OtherLag(size_t node, const Edge& edge, int64_t usual) const {
    if (edge.kind != EdgeKind::kThread || graph_.nodes[node].kind != NodeKind::kCall) return usual;
    for (size_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
      if (graph_.edges[e].binding) return std::max(usual, graph_.edges[e].lag_ns);
    }
    return usual;
  }

  void FindSpans() {
    // Of each device its nodes in order.
    std::vector<std::vector<uint32_t>> nodes(window_.devices.size());
    for (size_t p = 0; p < pieces_.pieces.size(); ++p) {
      if (pieces_.pieces[p].node.kind != NodeKind::kActivity) continue;
      nodes[DeviceOf(pieces_.pieces[p])].push_back(static_cast<uint32_t>(p));
    }
    for (size_t d = 0; d < nodes.size(); ++d) {
      if (nodes[d].empty()) continue;
      const auto device_id = static_cast<Id>(d + 1);
      if (window_.whole_run) {
        Span span{device_id, -1, StartOf(nodes[d].front()), 0, nodes[d].front(), 0, true};
        EndWith(nodes[d].begin(), nodes[d].end(), span);
        graph_.spans.push_back(span);
        continue;
      }
      for (const model::StepRow& step : window_.devices[d].steps) {
        const auto at = [&](int64_t time_ns) {
          return std::lower_bound(nodes[d].begin(), nodes[d].end(), time_ns,
                                  [&](uint32_t node, int64_t t) { return StartOf(node) < t; });
        };
        const auto first = at(step.start_ns);
        const auto end = at(step.end_ns);
        if (first == end) continue;
        Span span{device_id, step.step, step.start_ns, step.end_ns, *first, 0, false};
        if (end == nodes[d].end() || StartOf(*end) != step.end_ns) {
          EndWith(first, end, span);
        } else {
          span.end = *end;
        }
        graph_.spans.push_back(span);
      }
    }
    std::stable_sort(graph_.spans.begin(), graph_.spans.end(),
                     [](const Span& a, const Span& b) { return a.step < b.step; });
    graph_.whole_run = window_.whole_run;
    graph_.on_cpu = std::any_of(graph_.spans.begin(), graph_.spans.end(), [&](const Span& span) {
      return input_.run.devices[static_cast<size_t>(span.device_id) - 1].kind ==
             model::DeviceKind::kCpu;
    });
  }

  // Ends with the nodes from `first` to `end`.
  template <typename Iterator>
  void EndWith(Iterator first, Iterator end, Span& span) const {
    std::map<uint32_t, uint32_t> last;  // By lane.
    for (auto node = first; node != end; ++node) {
      uint32_t& known = last.try_emplace(lane_of_[*node], *node).first->second;
      if (EndOf(*node) >= EndOf(known)) known = *node;
    }
    span.to_end = true;
    span.end = *first;
    for (const auto& [lane, node] : last) {
      span.ends.push_back(node);
      if (EndOf(node) > EndOf(span.end)) span.end = node;
    }
    span.end_ns = EndOf(span.end);
  }

  void Tell() {
    std::vector<std::string>& said = graph_.assumptions;
    if (!graph_.host_known) {
      said.push_back(
          "the host's calls are not recorded: what it did between kernels takes as long as before");
    }
    if (inferred_waits_ > 0) {
      said.push_back(fmt::format(
          "{} waits of the host are inferred from the idle time before what it launched next",
          inferred_waits_));
    }
    if (waits_ > 0) {
      said.push_back(fmt::format(
          "{} host calls wait for the work that ended last before they returned", waits_));
    }
    if (!graph_.maybe_waits.empty()) {
      said.push_back(fmt::format(
          "before {} calls the host may have waited for the device or not: it is taken not to "
          "have, and the range holds both",
          graph_.maybe_waits.size()));
    }
    if (!joins_.empty()) {
      said.push_back(fmt::format(
          "{} waits for another stream are inferred from the order of launches: events are not "
          "recorded",
          joins_.size()));
    }
    if (seen_edges_ > 0) {
      said.push_back(
          fmt::format("{} launches wait for what ended last on another stream: nothing else "
                      "explains their start",
                      seen_edges_));
    }
    if (data_edges_ > 0) {
      said.push_back(
          fmt::format("{} waits between streams follow the operands in the HLO", data_edges_));
    }
    if (pieces_.skewed > 0) {
      said.push_back(
          fmt::format("{} launches begin before their call and have none here", pieces_.skewed));
    }
    if (graph_.on_cpu) {
      said.emplace_back(
          "what stays takes as long as before, on a CPU too: where caches are left to it, it may "
          "take less, which the range holds");
    }
    if (graph_.whole_run) {
      said.emplace_back("no steps were found: what is replayed is the whole run");
    } else if (!window_.steady) {
      said.emplace_back("no step is steady: all steps are replayed");
    }
  }

  const Input& input_;
  const GraphOptions& options_;
  const ReplayWindow& window_;
  Pieces pieces_;
  std::vector<bool> ran_;
  Producers producers_;
  Graph graph_;
  // A stream of the run, and what ran on it before the launch that is on it now.
  struct Stream {
    std::vector<uint32_t> branches;  // Lanes of the pieces.
    uint32_t call = 0;
    uint32_t first = 0;  // Node of the launch.
    std::vector<uint32_t> last;
  };
  std::vector<Stream> streams_;    // By lane id.
  std::vector<uint32_t> lane_of_;  // Per node.
  std::vector<Join> joins_;
  size_t next_join_ = 0;
  std::vector<uint32_t> on_lane_, on_thread_, of_call_, last_of_call_;
  std::vector<uint32_t> before_;                 // Per node: the one before it on its lane.
  std::vector<std::vector<uint32_t>> lanes_of_;  // By device.
  std::vector<std::vector<uint32_t>> newest_;    // By device and instruction.
  std::vector<int64_t> end_of_call_;             // By number: when the last that it launched ended.
  std::vector<int64_t> given_until_;             // By device: the same of all calls so far.
  int64_t usual_host_ns_ = 0;
  std::unordered_set<uint32_t> synchronised_;  // Activities after a gap of that cause.
  int64_t data_edges_ = 0, seen_edges_ = 0, waits_ = 0, inferred_waits_ = 0;
};

}  // namespace

Graph BuildGraph(const Input& input, const std::vector<ActivityClass>& classes,
                 const GraphOptions& options) {
  const ReplayWindow window = ChooseWindow(input, options.most_activities);
  return Builder(input, classes, options, window).Build();
}

}  // namespace xlatrace::analysis::replay
