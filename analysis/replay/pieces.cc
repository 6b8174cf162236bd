// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/pieces.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace xlatrace::analysis::replay {
namespace {

constexpr int64_t kMinLongCallNs = 20'000;  // A launch takes 2 to 10 us unless its queue is full.

struct OfCall {
  uint32_t number = 0;  // From 1.
  int64_t start_ns = 0, end_ns = 0;
  uint32_t thread = 0;
  uint32_t first_activity = 0;
};

class Collector {
 public:
  Collector(const Input& input, const ReplayWindow& window,
            const std::vector<ActivityClass>& classes)
      : input_(input), window_(window), classes_(classes) {}

  Pieces Collect() {
    std::vector<std::vector<uint32_t>> lanes = ByLane();
    for (const model::Lane& lane : input_.run.lanes) {
      const auto number = static_cast<uint32_t>(out_.lanes.size() + 1);
      out_.lanes.push_back(
          {number, lane.device_id,
           input_.run.devices[static_cast<size_t>(lane.device_id) - 1].process_id});
    }
    // Each activity and its call; few have more pieces.
    size_t count = 0;
    for (const std::vector<uint32_t>& lane : lanes) count += lane.size();
    out_.pieces.reserve(input_.call_of ? 2 * count : count);
    out_.activities.reserve(count);
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      AddLane(static_cast<uint32_t>(lane + 1), lanes[lane]);
      out_.activities.insert(out_.activities.end(), lanes[lane].begin(), lanes[lane].end());
    }
    AddCalls();
    out_.threads = static_cast<uint32_t>(threads_.size());
    Sort();
    return std::move(out_);
  }

 private:
  // Sorts by start. At equal starts: returns, then calls, then activities in the order of their
  // lanes. Moves eight bytes and a number instead of pieces.
  void Sort() {
    std::vector<std::pair<int64_t, uint32_t>> order;
    order.reserve(out_.pieces.size());
    for (const NodeKind kind : {NodeKind::kReturn, NodeKind::kCall, NodeKind::kActivity}) {
      for (size_t p = 0; p < out_.pieces.size(); ++p) {
        if (out_.pieces[p].node.kind != kind) continue;
        order.emplace_back(out_.pieces[p].node.start_ns, static_cast<uint32_t>(p));
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Piece> sorted;
    sorted.reserve(order.size());
    for (const auto& [start, p] : order) sorted.push_back(out_.pieces[p]);
    out_.pieces = std::move(sorted);
  }

  std::vector<std::vector<uint32_t>> ByLane() const {
    const model::ActivityColumns& activities = input_.run.activities;
    std::vector<std::vector<uint32_t>> lanes(input_.run.lanes.size());
    for (size_t i = 0; i < activities.size(); ++i) {
      if (!activities.timed(i)) continue;
      const auto device = static_cast<size_t>(input_.run.LaneOf(i).device_id) - 1;
      const ReplayWindow::OfDevice& within = window_.devices[device];
      const int64_t start = activities.start_ns[i];
      if (start < within.start_ns || start > within.end_ns) continue;
      lanes[activities.lane[i] - 1].push_back(static_cast<uint32_t>(i));
    }
    const auto before = [&](uint32_t a, uint32_t b) {
      if (activities.start_ns[a] != activities.start_ns[b]) {
        return activities.start_ns[a] < activities.start_ns[b];
      }
      if (activities.duration_ns[a] != activities.duration_ns[b]) {
        return activities.duration_ns[a] > activities.duration_ns[b];
      }
      return a < b;
    };
    for (std::vector<uint32_t>& lane : lanes) {
      if (!std::is_sorted(lane.begin(), lane.end(), before)) {
        std::sort(lane.begin(), lane.end(), before);
      }
    }
    return lanes;
  }

  struct Branch {
    uint32_t number = 0;  // In Pieces::lanes, from 1.
    int64_t end_ns = 0;
  };

  struct Open {
    uint32_t activity = 0;
    int64_t done_until_ns = 0;
    bool has_piece = false;
  };

  void Emit(uint32_t lane, Open& open, int64_t until_ns, bool last) {
    Piece piece;
    piece.node.start_ns = open.done_until_ns;
    piece.node.duration_ns = until_ns - open.done_until_ns;
    piece.node.what = open.activity;
    piece.node.work = classes_[open.activity];
    piece.node.last_piece = last;
    const model::ActivityKind kind = input_.run.ConfigOf(open.activity).kind;
    piece.node.by_copying =
        kind == model::ActivityKind::kMemcpy || kind == model::ActivityKind::kMemset;
    piece.lane = lane - 1;
    piece.first_piece = !open.has_piece;
    piece.call = call_of_.empty() ? 0 : call_of_[open.activity];
    open.has_piece = true;
    open.done_until_ns = until_ns;
    out_.pieces.push_back(piece);
  }

  void AddLane(uint32_t lane, const std::vector<uint32_t>& order) {
    const model::ActivityColumns& activities = input_.run.activities;
    std::vector<Open> stack;
    std::vector<Branch> branches;
    const auto pop = [&] {
      Emit(lane, stack.back(), activities.end_ns(stack.back().activity), true);
      const int64_t end = activities.end_ns(stack.back().activity);
      stack.pop_back();
      if (!stack.empty()) stack.back().done_until_ns = std::max(stack.back().done_until_ns, end);
    };
    for (const uint32_t i : order) {
      const int64_t start = activities.start_ns[i];
      while (!stack.empty()) {
        const uint32_t top = stack.back().activity;
        // If the source records no nesting, overlapping activities follow each other.
        const bool nests = activities.self_ns[top] < activities.duration_ns[top] &&
                           activities.end_ns(i) <= activities.end_ns(top);
        if (nests) break;
        pop();
      }
      if (!stack.empty() && (start > stack.back().done_until_ns || !stack.back().has_piece)) {
        Emit(lane, stack.back(), start, false);
      }
      AddCallOf(i);
      if (activities.graph_node_of(i) != 0) {
        Open node{i, start, false};
        Emit(BranchFor(lane, start, activities.end_ns(i), branches), node, activities.end_ns(i),
             true);
        continue;
      }
      stack.push_back({i, start, false});
    }
    while (!stack.empty()) pop();
  }

  // The branch that was free last, so that a chain stays on one; the stream itself where none of
  // the graph's nodes runs.
  uint32_t BranchFor(uint32_t lane, int64_t start, int64_t end, std::vector<Branch>& branches) {
    if (branches.empty()) branches.push_back({lane, INT64_MIN});
    Branch* best = nullptr;
    for (Branch& branch : branches) {
      if (branch.end_ns <= start && (best == nullptr || branch.end_ns > best->end_ns)) {
        best = &branch;
      }
    }
    if (best == nullptr) {
      out_.lanes.push_back(out_.lanes[lane - 1]);
      best = &branches.emplace_back(Branch{static_cast<uint32_t>(out_.lanes.size()), 0});
    }
    best->end_ns = end;
    return best->number;
  }

  void AddCallOf(uint32_t activity) {
    if (!input_.call_of) return;
    const std::optional<model::HostCall> call = input_.call_of(activity);
    if (!call || call->call_id <= 0) return;
    if (call->start_ns > input_.run.activities.start_ns[activity]) {
      ++out_.skewed;
      return;
    }
    if (call_of_.empty()) call_of_.assign(input_.run.activities.size(), 0);
    const auto id = static_cast<size_t>(call->call_id);
    if (id >= number_of_.size()) number_of_.resize(std::max(id + 1, 2 * number_of_.size()), 0);
    uint32_t& number = number_of_[id];
    if (number == 0) {
      const model::Id process = input_.run.DeviceOf(activity).process_id;
      calls_.push_back({static_cast<uint32_t>(calls_.size() + 1), call->start_ns, call->end_ns,
                        ThreadOf(process, call->thread_id), activity});
      number = static_cast<uint32_t>(calls_.size());
    }
    call_of_[activity] = number;
  }

  uint32_t ThreadOf(model::Id process, int64_t thread) {
    return threads_.try_emplace({process, thread}, static_cast<uint32_t>(threads_.size()))
        .first->second;
  }

  // A call that waits is its start and, apart from it, its return.
  void AddCall(const OfCall& call, Blocks blocks) {
    Piece piece;
    const int64_t duration = std::max<int64_t>(0, call.end_ns - call.start_ns);
    piece.node = {call.start_ns, blocks == Blocks::kNo ? duration : 0, call.first_activity, 0,
                  NodeKind::kCall};
    piece.thread = call.thread;
    piece.call = call.number;
    piece.blocks = blocks;
    out_.pieces.push_back(piece);
    if (blocks == Blocks::kNo) return;
    piece.node.start_ns = call.start_ns + duration;
    piece.node.kind = NodeKind::kReturn;
    out_.pieces.push_back(piece);
  }

  int64_t UsualCallNs() const {
    std::vector<int64_t> durations;
    durations.reserve(calls_.size());
    for (const OfCall& call : calls_) durations.push_back(call.end_ns - call.start_ns);
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    return *middle;
  }

  // Calls that launch, and waits of the threads that launch.
  void AddCalls() {
    if (calls_.empty()) return;
    const int64_t long_call_ns = std::max(kMinLongCallNs, 5 * UsualCallNs());
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (const OfCall& call : calls_) {
      first = std::min(first, call.start_ns);
      last = std::max(last, call.end_ns);
      const bool copies =
          input_.run.ConfigOf(call.first_activity).kind == model::ActivityKind::kMemcpy &&
          input_.run.activities.end_ns(call.first_activity) <= call.end_ns;
      const bool is_long = call.end_ns - call.start_ns > long_call_ns;
      AddCall(call, copies ? Blocks::kOnOwn : is_long ? Blocks::kLong : Blocks::kNo);
    }
    out_.calls = static_cast<uint32_t>(calls_.size());
    for (const model::HostEvent& wait : input_.waits) {
      const auto thread = threads_.find({wait.process_id, wait.thread_id});
      if (thread == threads_.end() || wait.start_ns < first || wait.end_ns > last) continue;
      AddCall({++out_.calls, wait.start_ns, wait.end_ns, thread->second, 0}, Blocks::kWaits);
    }
    out_.process_of_thread.resize(threads_.size());
    for (const auto& [key, thread] : threads_) out_.process_of_thread[thread] = key.first;
  }

  const Input& input_;
  const ReplayWindow& window_;
  const std::vector<ActivityClass>& classes_;
  Pieces out_;
  std::vector<OfCall> calls_;
  std::vector<uint32_t> call_of_;    // Per activity; number of its call.
  std::vector<uint32_t> number_of_;  // By call id.
  std::map<std::pair<model::Id, int64_t>, uint32_t> threads_;
};

}  // namespace

Pieces CollectPieces(const Input& input, const ReplayWindow& window,
                     const std::vector<ActivityClass>& classes) {
  return Collector(input, window, classes).Collect();
}

}  // namespace xlatrace::analysis::replay
