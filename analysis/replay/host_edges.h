// SPDX-License-Identifier: Apache-2.0

// Causes of host calls: the previous call on the thread, and the device. A wait for the device is
// either recorded or inferred. It is inferred if nothing else explains a late call
// (replay/graph.h).
//
// Calls and returns are added in the order of the graph's nodes. Thread-safety: one thread.

#ifndef XLATRACE_ANALYSIS_REPLAY_HOST_EDGES_H_
#define XLATRACE_ANALYSIS_REPLAY_HOST_EDGES_H_

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "analysis/replay/assumptions.h"
#include "analysis/replay/graph.h"
#include "analysis/replay/graph_so_far.h"
#include "analysis/replay/pieces.h"

namespace xlatrace::analysis::replay {

// Scheduling takes less time than this. A longer delay has another cause.
inline constexpr int64_t kUsualSchedulingNs = 2'000;

class HostEdges {
 public:
  // All must outlive this object. `lanes_of`: lanes of the pieces by device. Counts waits in
  // `found`.
  HostEdges(const Input& input, const Pieces& pieces,
            const std::vector<std::vector<uint32_t>>& lanes_of, bool infer_waits,
            GraphSoFar& so_far, Found& found);

  // The current node must be this call, or its return.
  void AddCall(const Piece& piece);
  void AddReturn(const Piece& piece);

  // Node of a call by its number; kNoNodeIndex: not added yet.
  uint32_t NodeOf(uint32_t call) const { return of_call_[call]; }
  // Call if the current node ends an activity that the call launched.
  void EndActivityOf(uint32_t call) { last_of_call_[call] = so_far_.Current(); }

 private:
  void FindUsualHost();
  void AddThread(const Piece& piece);
  void AddWait(const Piece& piece);
  std::vector<uint32_t> ProcessLanes(uint32_t thread) const;
  size_t DeviceOf(const Piece& piece) const;

  const Input& input_;
  const Pieces& pieces_;
  const std::vector<std::vector<uint32_t>>& lanes_of_;
  bool infer_waits_;
  GraphSoFar& so_far_;
  Found& found_;
  std::vector<uint32_t> on_thread_;            // The last node of each thread.
  std::vector<uint32_t> of_call_;              // By number of the call, as the next two:
  std::vector<uint32_t> last_of_call_;         // Per call: its last launched activity.
  std::vector<int64_t> end_of_call_;           // and the end of that activity.
  std::vector<int64_t> given_until_;           // By device: the latest end of all calls so far.
  int64_t usual_host_ns_ = 0;                  // Usual time between two calls.
  std::unordered_set<uint32_t> synchronised_;  // Activities after a gap of cause synchronisation.
};

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_HOST_EDGES_H_
