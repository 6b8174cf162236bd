// SPDX-License-Identifier: Apache-2.0

// The pieces of a device's activities and the calls of its host, in order of time, before anything
// is known of what waited for what.

#ifndef XLATRACE_ANALYSIS_REPLAY_PIECES_H_
#define XLATRACE_ANALYSIS_REPLAY_PIECES_H_

#include <cstdint>
#include <vector>

#include "analysis/replay/graph.h"
#include "analysis/replay/window.h"

namespace xlatrace::analysis::replay {

// What a call waits for: nothing, the copy that it made, a full queue (it took long), the device.
enum class Blocks : uint8_t { kNo, kOnOwn, kLong, kWaits };

struct Piece {
  Node node;
  uint32_t lane = 0;         // Of an activity; into Pieces::lanes.
  uint32_t thread = 0;       // Of a call; threads are numbered from 0.
  uint32_t call = 0;         // Of an activity: number of its call, from 1. Of a call: its own.
  bool first_piece = false;  // Of its activity.
  Blocks blocks = Blocks::kNo;
};

// What does one thing at a time: a lane of the run, or a branch of the CUDA graphs that ran on one,
// whose nodes are recorded on the graph's stream though they run side by side.
struct PieceLane {
  uint32_t lane = 0;  // Of the run.
  model::Id device_id = 0;
  model::Id process_id = 0;
};

struct Pieces {
  std::vector<PieceLane> lanes;      // Those of the run from 0, by lane id - 1; then branches.
  std::vector<Piece> pieces;         // By start; what causes comes before what it causes.
  std::vector<uint32_t> activities;  // Those that are in, by lane and start.
  uint32_t threads = 0;
  std::vector<model::Id> process_of_thread;
  uint32_t calls = 0;
  int64_t skewed = 0;  // Launches that begin before their call did; such calls are left out.
};

Pieces CollectPieces(const Input& input, const ReplayWindow& window,
                     const std::vector<ActivityClass>& classes);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_PIECES_H_
