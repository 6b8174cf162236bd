// SPDX-License-Identifier: Apache-2.0
#include "correlator/fusion_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "correlator/computation_roles.h"
#include "correlator/op_names.h"
#include "hlo/shape.h"
#include "model/derived.h"

namespace xlatrace::correlator {
namespace {

auto GroupKey(const model::HloModule& module, const Piece& piece) {
  const model::OpMetadata& m = module.instructions[piece.from].metadata;
  return std::tuple(piece.op_name, m.op_type, m.source_file, m.source_line, m.stack_frame);
}

}  // namespace

std::vector<int64_t> LargestRemainder(std::span<const double> weights) {
  std::vector<double> clean(weights.begin(), weights.end());
  for (double& w : clean) {
    if (!std::isfinite(w) || w <= 0) w = 0;
  }
  const double heaviest = clean.empty() ? 0 : *std::max_element(clean.begin(), clean.end());
  if (heaviest == 0) {
    std::fill(clean.begin(), clean.end(), 1.0);
  } else {
    // Scaled, so that the sum cannot overflow.
    for (double& w : clean) w /= heaviest;
  }
  const double total = std::accumulate(clean.begin(), clean.end(), 0.0);
  std::vector<int64_t> parts(clean.size());
  std::vector<std::pair<double, size_t>> remainders(clean.size());
  int64_t rest = model::kWholeSharePpm;
  for (size_t i = 0; i < clean.size(); ++i) {
    const double exact = clean[i] / total * static_cast<double>(model::kWholeSharePpm);
    parts[i] = std::min(static_cast<int64_t>(exact), rest);
    rest -= parts[i];
    remainders[i] = {exact - static_cast<double>(parts[i]), i};
  }
  std::sort(remainders.begin(), remainders.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (size_t i = 0; rest > 0; i = (i + 1) % remainders.size()) {
    if (remainders.empty()) break;
    ++parts[remainders[i].second];
    --rest;
  }
  return parts;
}

std::vector<Share> GroupPieces(const model::HloModule& module, std::vector<Piece> pieces) {
  double total = 0;
  for (Piece& piece : pieces) {
    if (!std::isfinite(piece.weight) || piece.weight < 0) piece.weight = 0;
    total += piece.weight;
  }
  if (total == 0) {
    for (Piece& piece : pieces) piece.weight = 1;
  } else {
    std::erase_if(pieces, [](const Piece& piece) { return piece.weight == 0; });
  }

  // Equal keys adjacent, in the given order within a key, so that the result is deterministic.
  std::stable_sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
    return GroupKey(module, a) < GroupKey(module, b);
  });
  std::vector<Piece> groups;
  double heaviest = 0;
  for (const Piece& piece : pieces) {
    if (groups.empty() || GroupKey(module, groups.back()) != GroupKey(module, piece)) {
      groups.push_back(piece);
      heaviest = piece.weight;
      continue;
    }
    groups.back().weight += piece.weight;
    if (piece.weight > heaviest) {
      heaviest = piece.weight;
      groups.back().from = piece.from;
    }
  }
  std::sort(groups.begin(), groups.end(), [](const Piece& a, const Piece& b) {
    return std::tie(b.weight, a.from, a.op_name) < std::tie(a.weight, b.from, b.op_name);
  });

  std::vector<double> weights(groups.size());
  std::transform(groups.begin(), groups.end(), weights.begin(),
                 [](const Piece& group) { return group.weight; });
  const std::vector<int64_t> parts = LargestRemainder(weights);
  std::vector<Share> shares;
  shares.reserve(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    if (parts[i] == 0) continue;  // Below a millionth.
    shares.push_back({parts[i], groups[i].op_name, groups[i].from});
  }
  return shares;
}

std::vector<Share> ShareSplitter::Split(uint32_t instruction) {
  const model::Instruction& whole = module_.instructions[instruction];
  if (whole.opcode == "fusion" || whole.opcode == "async-start") return SplitBody(instruction);
  if (TakesNoTime(whole.opcode)) return {};
  std::vector<std::string> names = CombinedOpNames(whole.metadata.op_name);
  return names.empty() ? std::vector<Share>() : SplitCombined(instruction, std::move(names));
}

std::vector<Share> ShareSplitter::SplitBody(uint32_t instruction) {
  const std::vector<hlo::FusedOp> ops = work_.OpsOf(instruction);
  std::vector<double> costs(ops.size());
  std::transform(ops.begin(), ops.end(), costs.begin(),
                 [](const hlo::FusedOp& op) { return op.cost; });
  const std::vector<int64_t> parts = LargestRemainder(costs);
  std::vector<Share> shares;
  shares.reserve(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    if (parts[i] == 0) continue;  // Below a millionth.
    const std::string_view name = module_.instructions[ops[i].instruction].metadata.op_name;
    shares.push_back({parts[i], FirstOpName(name), ops[i].instruction});
  }
  return shares;
}

std::vector<Share> ShareSplitter::SplitCombined(uint32_t instruction,
                                                std::vector<std::string> names) {
  const auto operands = module_.Operands(module_.instructions[instruction]);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < names.size(); ++i) {
    double bytes = 1;
    if (operands.size() == names.size()) {
      bytes = static_cast<double>(hlo::ByteSize(module_.instructions[operands[i]].shape));
    }
    pieces.push_back({instruction, names_.emplace_back(std::move(names[i])), bytes});
  }
  return GroupPieces(module_, std::move(pieces));
}

}  // namespace xlatrace::correlator
