// SPDX-License-Identifier: Apache-2.0

// Which part of a run is replayed: the longest row of steady steps of every process.

#ifndef XLATRACE_ANALYSIS_REPLAY_WINDOW_H_
#define XLATRACE_ANALYSIS_REPLAY_WINDOW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/replay/graph.h"

namespace xlatrace::analysis::replay {

struct ReplayWindow {
  struct OfDevice {
    int64_t start_ns = 0;
    int64_t end_ns = -1;  // The activity that starts at this time is still included, because it
                          // ends the last step.
    std::vector<model::StepRow> steps;  // By start; empty: whole run.
  };
  std::vector<OfDevice> devices;  // By device_id - 1; end_ns < start_ns: empty.
  bool whole_run = false;
  bool steady = true;
};

ReplayWindow ChooseWindow(const Input& input, size_t most_activities);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_WINDOW_H_
