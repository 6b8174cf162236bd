// SPDX-License-Identifier: Apache-2.0
#include "correlator/graph_row_shares.h"

#include <algorithm>
#include <utility>

namespace xlatrace::correlator {
namespace {

// Minimum number of graphs whose rows calibrate the others.
constexpr size_t kMinSteadyGraphCount = 3;
constexpr double kUsualQuantile = 0.5;
constexpr double kHighQuantile = 0.9;

}  // namespace

std::vector<GraphRowShares::Part> GraphRowShares::Costs(const ThunkProgram& program, uint32_t first,
                                                        uint32_t last) {
  const std::span<const ThunkToken> tokens = program.tokens();
  const std::vector<double> repeats = program.Repeats(first, last);
  std::vector<Part> parts;
  for (const uint32_t t : program.Covered(first, last)) {
    if (tokens[t].kind == ThunkKind::kHostCopy || tokens[t].kind == ThunkKind::kGraph) continue;
    // The thunks of one instruction are what it costs, together.
    const bool again =
        !parts.empty() && tokens[parts.back().token].instruction == tokens[t].instruction;
    if (!again) parts.push_back({t, tokens[t].cost_ns * repeats[t]});
  }
  return parts;
}

void GraphRowShares::Add(const ThunkProgram& program, uint32_t first, uint32_t last, int64_t ns) {
  const auto [it, fresh] = rows_.try_emplace({&program, first, last});
  Rows& rows = it->second;
  if (fresh) {
    for (const Part& part : Costs(program, first, last)) {
      (program.tokens()[part.token].unsteady ? rows.unsteady : rows.steady) += part.weight;
    }
  }
  rows.ns += static_cast<double>(ns);
  rows.rows += 1;
}

void GraphRowShares::Settle() {
  std::vector<std::pair<double, double>> ratios;  // Time over cost, time.
  double total = 0;
  for (const auto& [place, rows] : rows_) {
    if (rows.unsteady > 0 || rows.steady <= 0 || rows.ns <= 0) continue;
    ratios.emplace_back(rows.ns / rows.rows / rows.steady, rows.ns);
    total += rows.ns;
  }
  if (ratios.size() < kMinSteadyGraphCount) return;
  std::sort(ratios.begin(), ratios.end());
  double below = 0;
  for (const auto& [ratio, ns] : ratios) {
    if (below < kUsualQuantile * total) usual_ = ratio;
    if (below < kHighQuantile * total) most_ = ratio;
    below += ns;
  }
}

std::vector<GraphRowShares::Part> GraphRowShares::Divide(const ThunkProgram& program,
                                                         uint32_t first, uint32_t last) const {
  std::vector<Part> parts = Costs(program, first, last);
  const auto it = rows_.find({&program, first, last});
  if (it == rows_.end() || usual_ <= 0 || it->second.unsteady <= 0) return parts;
  const Rows& rows = it->second;
  const double beyond = rows.ns / rows.rows - most_ * rows.steady;
  if (beyond <= usual_ * rows.unsteady) return parts;
  for (Part& part : parts) {
    part.weight *= program.tokens()[part.token].unsteady ? beyond / rows.unsteady : most_;
  }
  return parts;
}

}  // namespace xlatrace::correlator
