// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_split.h"

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "model/derived.h"

namespace xlatrace::analysis {
namespace {

using model::InstructionRow;
using model::Phase;
using model::ShareRow;

using ScopeKey = std::tuple<std::string_view, std::string_view, Phase, std::string_view,
                            std::optional<int64_t>, uint32_t>;

class ScopeNumbers {
 public:
  explicit ScopeNumbers(std::vector<model::ScopeTimeRow>& scopes) : scopes_(scopes) {}

  // Works for InstructionRow and ShareRow alike; the row's strings must outlive this object.
  template <typename Row>
  uint32_t Of(const Row& row) {
    const ScopeKey key(row.op_name, row.layer, row.phase, row.source_file, row.source_line,
                       row.stack_id);
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(scopes_.size()));
    if (is_new) {
      model::ScopeTimeRow scope;
      scope.op_name = row.op_name;
      scope.layer = row.layer;
      scope.layer_group = row.layer_group;
      scope.phase = row.phase;
      scope.source_file = row.source_file;
      scope.source_line = row.source_line;
      scope.stack_id = row.stack_id;
      scopes_.push_back(std::move(scope));
    }
    return at->second;
  }

 private:
  std::vector<model::ScopeTimeRow>& scopes_;
  std::map<ScopeKey, uint32_t> numbers_;
};

}  // namespace

Phase PhaseOfUnattributed(model::Reason reason) {
  return reason == model::Reason::kAutotuning ? Phase::kOther : Phase::kUnknown;
}

TimeSplit::TimeSplit(const model::AttributionTables& attribution) {
  ScopeNumbers numbers(scopes_);
  first_piece_.reserve(attribution.instructions.size() + 1);
  size_t share = 0;
  for (size_t i = 0; i < attribution.instructions.size(); ++i) {
    first_piece_.push_back(static_cast<uint32_t>(pieces_.size()));
    const auto id = static_cast<model::Id>(i + 1);
    while (share < attribution.shares.size() && attribution.shares[share].instruction_id < id) {
      ++share;
    }
    const size_t first_share = share;
    for (; share < attribution.shares.size() && attribution.shares[share].instruction_id == id;
         ++share) {
      const ShareRow& row = attribution.shares[share];
      pieces_.push_back({numbers.Of(row), row.phase, row.share_ppm});
    }
    if (share == first_share) {
      const InstructionRow& row = attribution.instructions[i];
      pieces_.push_back({numbers.Of(row), row.phase, model::kWholeSharePpm});
    }
  }
  first_piece_.push_back(static_cast<uint32_t>(pieces_.size()));
  for (const model::Label& label : attribution.labels) {
    if (label.instruction_id <= 0) {
      of_label_.push_back({static_cast<uint32_t>(PhaseOfUnattributed(label.reason)), 0});
      continue;
    }
    const auto instruction = static_cast<size_t>(label.instruction_id) - 1;
    const uint32_t begin = first_piece_[instruction];
    of_label_.push_back({begin, first_piece_[instruction + 1] - begin});
  }
  AddSharedLabels(attribution);
  for (const Piece& piece : pieces_) weights_.push_back(piece.share_ppm);

  for (size_t phase = 0; phase < kPhaseCount; ++phase) {
    InstructionRow nothing_known;
    nothing_known.phase = static_cast<Phase>(phase);
    unattributed_[phase] = {static_cast<uint32_t>(scopes_.size()), nothing_known.phase,
                            model::kWholeSharePpm};
    model::ScopeTimeRow scope;
    scope.phase = nothing_known.phase;
    scopes_.push_back(std::move(scope));
  }
}

// Parts of parts: an instruction's share of the label, times a scope's share of the instruction.
void TimeSplit::AddSharedLabels(const model::AttributionTables& attribution) {
  const std::vector<model::LabelShareRow>& shares = attribution.label_shares;
  for (size_t from = 0; from < shares.size();) {
    size_t to = from;
    std::vector<Piece> parts;
    std::vector<int64_t> weights;
    for (; to < shares.size() && shares[to].label_id == shares[from].label_id; ++to) {
      const auto instruction = static_cast<size_t>(shares[to].instruction_id) - 1;
      for (uint32_t k = first_piece_[instruction]; k < first_piece_[instruction + 1]; ++k) {
        parts.push_back(pieces_[k]);
        weights.push_back(shares[to].share_ppm * pieces_[k].share_ppm);
      }
    }
    std::vector<int64_t> ppm(parts.size());
    Apportion(model::kWholeSharePpm, weights, ppm);
    const auto begin = static_cast<uint32_t>(pieces_.size());
    for (size_t k = 0; k < parts.size(); ++k) {
      if (ppm[k] > 0) pieces_.push_back({parts[k].scope, parts[k].phase, ppm[k]});
    }
    of_label_[static_cast<size_t>(shares[from].label_id) - 1] = {
        begin, static_cast<uint32_t>(pieces_.size()) - begin};
    from = to;
  }
}

std::span<const Piece> TimeSplit::Of(uint32_t label_id) const {
  const PieceRange range = of_label_[label_id - 1];
  if (range.count == 0) return {&unattributed_[range.begin], 1};
  return std::span(pieces_).subspan(range.begin, range.count);
}

}  // namespace xlatrace::analysis
