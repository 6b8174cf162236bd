// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/factors.h"

#include <cstddef>

namespace xlatrace::analysis::replay {

Factors::Factors(const Graph& graph, const Input& input, const Change& change)
    : graph_(graph), input_(input), change_(change) {
  open_.resize(input.run.lanes.size() + 1);
  of_label_.assign(input.attribution.labels.size() + 1, 1);
  for (size_t label = 0; label < input.attribution.labels.size(); ++label) {
    const model::Id id = input.attribution.labels[label].instruction_id;
    if (id > 0) of_label_[label + 1] = OfInstruction(static_cast<size_t>(id));
  }
  // A graph-level row has the factors of its instructions.
  std::vector<double> shared(of_label_.size(), -1);
  for (const model::LabelShareRow& share : input.attribution.label_shares) {
    double& sum = shared[static_cast<size_t>(share.label_id)];
    if (sum < 0) sum = 0;
    sum += static_cast<double>(share.share_ppm) / 1e6 *
           OfInstruction(static_cast<size_t>(share.instruction_id));
  }
  for (size_t label = 0; label < shared.size(); ++label) {
    if (shared[label] >= 0) of_label_[label] = shared[label];
  }
  of_config_.assign(input.run.configs.size() + 1, 1);
  foreign_.assign(of_config_.size(), 1);
  for (const auto& [config, factor] : change.foreign_configs) {
    if (config < foreign_.size()) foreign_[config] = factor;
  }
  if (change.kernels.empty()) return;
  for (size_t c = 0; c < input.run.configs.size(); ++c) {
    const auto kernel = change.kernels.find(input.run.configs[c].symbol);
    if (kernel != change.kernels.end()) of_config_[c + 1] = kernel->second;
  }
}

double Factors::OfInstruction(size_t instruction_id) const {
  const auto chosen = change_.instructions.find(static_cast<uint32_t>(instruction_id));
  double factor = chosen == change_.instructions.end() ? 1 : chosen->second;
  const model::InstructionRow& row = input_.attribution.instructions[instruction_id - 1];
  if (const auto phase = change_.phases.find(row.phase); phase != change_.phases.end()) {
    factor *= phase->second;
  }
  if (const auto kind = change_.op_kinds.find(row.op_kind); kind != change_.op_kinds.end()) {
    factor *= kind->second;
  }
  return factor;
}

double Factors::OfActivity(uint32_t activity, ActivityClass work) const {
  if (change_.copies == CopyChange::kGone && work == ActivityClass::kCopy) return 0;
  const uint32_t label = input_.attribution.label_of[activity];
  const uint32_t config = input_.run.activities.config[activity];
  const bool foreign = label == 0 || input_.attribution.labels[label - 1].instruction_id == 0;
  return of_label_[label] * of_config_[config] * (foreign ? foreign_[config] : 1);
}

double Factors::Next(uint32_t node) {
  const Node& piece = graph_.nodes[node];
  auto& stack = open_[input_.run.activities.lane[piece.what]];
  if (stack.empty() || stack.back().first != piece.what) {
    const double around = stack.empty() || change_.own_time ? 1 : stack.back().second;
    const double own = around * OfActivity(piece.what, piece.work);
    if (piece.last_piece) return own;
    stack.emplace_back(piece.what, own);
    return own;
  }
  const double factor = stack.back().second;
  if (piece.last_piece) stack.pop_back();
  return factor;
}

}  // namespace xlatrace::analysis::replay
