// SPDX-License-Identifier: Apache-2.0

// The pieces of a device's activities and the calls of its host, in order of time, before causes
// are added.

#ifndef XLATRACE_ANALYSIS_REPLAY_PIECES_H_
#define XLATRACE_ANALYSIS_REPLAY_PIECES_H_

#include <cstdint>
#include <vector>

#include "analysis/replay/graph.h"
#include "analysis/replay/window.h"

namespace xlatrace::analysis::replay {

// The object that a call waits for: nothing, its own copy, a full queue (a long call), or the
// device.
enum class Blocks : uint8_t { kNo, kOnOwn, kLong, kWaits };

struct Piece {
  Node node;
  uint32_t lane = 0;         // Activity: index into Pieces::lanes.
  uint32_t thread = 0;       // Call: number of its thread, from 0.
  uint32_t call = 0;         // Activity: number of its call, from 1. Call: its own number.
  bool first_piece = false;  // True for the first piece of an activity.
  Blocks blocks = Blocks::kNo;
};

// A lane whose nodes do not overlap: a lane of the run, or a branch of the CUDA graphs on it. Nodes
// of branches run in parallel, but are recorded on the graph's stream.
struct PieceLane {
  uint32_t lane = 0;  // Lane of the run.
  model::Id device_id = 0;
  model::Id process_id = 0;
};

struct Pieces {
  std::vector<PieceLane> lanes;      // The lanes of the run, at lane id - 1, followed by branches.
  std::vector<Piece> pieces;         // By start; causes come before their effects.
  std::vector<uint32_t> activities;  // Included activities, by lane and start.
  uint32_t threads = 0;
  std::vector<model::Id> process_of_thread;
  uint32_t calls = 0;
  int64_t skewed = 0;  // Number of launches that begin before their call; such calls are left out.
};

Pieces CollectPieces(const Input& input, const ReplayWindow& window,
                     const std::vector<ActivityClass>& classes);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_PIECES_H_
