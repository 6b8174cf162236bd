// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/host_edges.h"

#include <algorithm>
#include <cstddef>

#include "model/words.h"

namespace xlatrace::analysis::replay {
namespace {

constexpr int64_t kHostWakeNs = 300'000;  // From the end of work to the return of the waiting call.
constexpr int64_t kQueueNs = 20'000;      // From a place in the queue to the return of a launch.

}  // namespace

HostEdges::HostEdges(const Input& input, const Pieces& pieces,
                     const std::vector<std::vector<uint32_t>>& lanes_of, bool infer_waits,
                     GraphSoFar& so_far, Found& found)
    : input_(input),
      pieces_(pieces),
      lanes_of_(lanes_of),
      infer_waits_(infer_waits),
      so_far_(so_far),
      found_(found),
      on_thread_(pieces.threads, kNoNodeIndex),
      of_call_(pieces.calls + 1, kNoNodeIndex),
      last_of_call_(pieces.calls + 1, kNoNodeIndex),
      end_of_call_(pieces.calls + 1, INT64_MIN),
      given_until_(input.run.devices.size(), INT64_MIN) {
  FindUsualHost();
  for (const model::GapRow& gap : input_.gaps) {
    if (gap.cause != model::GapCause::kSynchronisation || gap.next_activity_id <= 0) continue;
    synchronised_.insert(static_cast<uint32_t>(gap.next_activity_id - 1));
  }
}

// Finds when the work of each call ended, and the host's usual time between two calls.
void HostEdges::FindUsualHost() {
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

// Device of the call's first launched activity.
size_t HostEdges::DeviceOf(const Piece& piece) const {
  return static_cast<size_t>(input_.run.LaneOf(piece.node.what).device_id) - 1;
}

void HostEdges::AddThread(const Piece& piece) {
  const uint32_t before = on_thread_[piece.thread];
  if (before == kNoNodeIndex) return;
  // Calls within calls follow each other's start.
  so_far_.AddEdge(before, EdgeKind::kThread,
                  so_far_.EndOf(before) > so_far_.StartOf(so_far_.Current()));
}

void HostEdges::AddCall(const Piece& piece) {
  const uint32_t node = so_far_.Current();
  AddThread(piece);
  if (piece.blocks != Blocks::kWaits && infer_waits_) AddWait(piece);
  on_thread_[piece.thread] = node;
  of_call_[piece.call] = node;
  if (piece.blocks == Blocks::kWaits) return;
  int64_t& until = given_until_[DeviceOf(piece)];
  until = std::max(until, end_of_call_[piece.call]);
}

// Infers whether the host waited before this call, without a recorded wait.
void HostEdges::AddWait(const Piece& piece) {
  const uint32_t before = on_thread_[piece.thread];
  if (before == kNoNodeIndex) return;
  const int64_t start = piece.node.start_ns;
  const int64_t returned = so_far_.EndOf(before);
  if (start - returned < kUsualSchedulingNs) return;
  const auto device = DeviceOf(piece);
  const uint32_t from = so_far_.LatestEnd(lanes_of_[device], start);
  if (from == kNoNodeIndex || so_far_.EndOf(from) <= returned) return;
  if (given_until_[device] > start) return;  // It had more to do.
  const int64_t lag = start - so_far_.EndOf(from);
  Edge& edge = so_far_.AddEdge(from, EdgeKind::kWait);
  // Longer than it takes to get to any call, or all but the last moment of it.
  const bool soon =
      lag <= kHostWakeNs && (start - returned > 3 * usual_host_ns_ || start - returned > 10 * lag);
  if (synchronised_.contains(piece.node.what) || soon) {
    ++found_.inferred_waits;
    return;
  }
  edge.lag_ns = kNoEdgeLagNs;
  Graph& graph = so_far_.graph();
  graph.maybe_waits.push_back(
      {so_far_.Current(), static_cast<uint32_t>(graph.edges.size() - 1), lag});
}

void HostEdges::AddReturn(const Piece& piece) {
  const uint32_t node = so_far_.Current();
  so_far_.AddEdge(of_call_[piece.call], EdgeKind::kThread, true);
  uint32_t from = piece.blocks == Blocks::kOnOwn ? last_of_call_[piece.call] : kNoNodeIndex;
  if (from == kNoNodeIndex)
    from = so_far_.LatestEnd(ProcessLanes(piece.thread), so_far_.StartOf(node));
  const int64_t most = piece.blocks == Blocks::kLong ? kQueueNs : kHostWakeNs;
  if (from != kNoNodeIndex && so_far_.EndOf(from) > so_far_.StartOf(of_call_[piece.call]) &&
      so_far_.StartOf(node) - so_far_.EndOf(from) <= most &&
      so_far_.EndOf(from) <= so_far_.StartOf(node)) {
    so_far_.AddEdge(from, EdgeKind::kWait);
    ++found_.waits;
  }
  on_thread_[piece.thread] = node;
}

std::vector<uint32_t> HostEdges::ProcessLanes(uint32_t thread) const {
  std::vector<uint32_t> lanes;
  for (size_t d = 0; d < lanes_of_.size(); ++d) {
    if (input_.run.devices[d].process_id != pieces_.process_of_thread[thread]) continue;
    lanes.insert(lanes.end(), lanes_of_[d].begin(), lanes_of_[d].end());
  }
  return lanes;
}

}  // namespace xlatrace::analysis::replay
