// SPDX-License-Identifier: Apache-2.0

// The factor by which a change scales each activity, with all activities nested in it.

#ifndef XLATRACE_ANALYSIS_REPLAY_FACTORS_H_
#define XLATRACE_ANALYSIS_REPLAY_FACTORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/replay/graph.h"
#include "analysis/replay/what_if.h"

namespace xlatrace::analysis::replay {

class Factors {
 public:
  Factors(const Graph& graph, const Input& input, const Change& change);

  // Call once per activity, in their order in the graph.
  double Next(uint32_t node);

 private:
  double OfInstruction(size_t instruction_id) const;
  double OfActivity(uint32_t activity, ActivityClass work) const;

  const Graph& graph_;
  const Input& input_;
  const Change& change_;
  std::vector<double> of_label_;   // By label id.
  std::vector<double> of_config_;  // By configuration id.
  std::vector<double> foreign_;    // Factors of activities without an instruction.
  // By lane id: open activities, each with the factor of all activities nested in it.
  std::vector<std::vector<std::pair<uint32_t, double>>> open_;
};

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_FACTORS_H_
