// SPDX-License-Identifier: Apache-2.0

// The waiting time of each collective, and the device that it waited for.
//
// If `collective.wait_ns` is known, it is used. If only the names of kernels are known (NCCL in
// PyTorch), collectives are paired here. The k-th run of a name on each device is one exchange. If
// the recording of a device begins later or ends earlier than those of others, it has fewer runs.
// All devices leave an exchange together, so the device with the shortest run arrived last. The
// others waited for the difference; no clocks are compared.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_WAITS_H_
#define XLATRACE_ANALYSIS_TIME_TREE_WAITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis::time_tree {

struct Wait {
  int64_t ns = 0;
  uint32_t late = 0;  // The activity that arrived last.
};

// By activity (index), without activities of unknown waiting. `by_device`:
// ActivitiesByDevice.
std::unordered_map<uint32_t, Wait> WaitsOf(const model::RunTables& run,
                                           const std::vector<ActivityClass>& classes,
                                           const std::vector<std::vector<uint32_t>>& by_device,
                                           const std::vector<model::CollectiveRow>& collectives);

// A time range in which a device waits for another device.
struct DeviceWait {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  size_t late = 0;  // The other device (index).
};

// A range of a device in which this number of other devices wait.
struct WaitedFor {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t waiting = 0;
};

// By start, disjoint.
std::vector<WaitedFor> WaitedForBy(const std::vector<DeviceWait>& waits);

// The parts of pieces (by start) in these ranges, with their weight.
template <typename Piece>
std::vector<Piece> PiecesDuring(const std::vector<Piece>& pieces,
                                const std::vector<WaitedFor>& stretches) {
  std::vector<Piece> parts;
  size_t first = 0;
  for (const Piece& piece : pieces) {
    while (first < stretches.size() && stretches[first].end_ns <= piece.start_ns) ++first;
    for (size_t k = first; k < stretches.size() && stretches[k].start_ns < piece.end_ns; ++k) {
      Piece part = piece;
      part.start_ns = std::max(piece.start_ns, stretches[k].start_ns);
      part.end_ns = std::min(piece.end_ns, stretches[k].end_ns);
      part.weight = stretches[k].waiting;
      if (part.start_ns < part.end_ns) parts.push_back(part);
    }
  }
  return parts;
}

// "rank 3" or "device 1": where an activity ran.
std::string PlaceOf(const model::RunTables& run, uint32_t activity);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_WAITS_H_
