// SPDX-License-Identifier: Apache-2.0

// Joins the kernels of one collective on several devices.

#ifndef XLATRACE_ANALYSIS_REPLAY_RENDEZVOUS_H_
#define XLATRACE_ANALYSIS_REPLAY_RENDEZVOUS_H_

#include "analysis/replay/graph.h"
#include "analysis/replay/pieces.h"

namespace xlatrace::analysis::replay {

// A group is the k-th run of an instruction within a step, on every device that runs it.
// Instructions are matched by name, in modules of the same name. Without instructions, kernels are
// matched. Devices must run it equally often, and the runs must overlap. Fills Graph::groups, and
// counts the durations of members from the last arrival. Devices of several processes are matched,
// too: if their clocks were not aligned, runs would not overlap.
void MarkRendezvous(const Input& input, const Pieces& pieces, Graph& graph);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_RENDEZVOUS_H_
