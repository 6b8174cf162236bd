#include "analysis/time_split.h"

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace xlatrace::analysis {
namespace {

using model::InstructionRow;
using model::Phase;
using model::ShareRow;

constexpr int64_t kWhole = 1'000'000;

using ScopeKey =
    std::tuple<std::string_view, std::string_view, Phase, std::string_view, std::optional<int64_t>>;

class ScopeNumbers {
 public:
  explicit ScopeNumbers(std::vector<model::ScopeTimeRow>& scopes) : scopes_(scopes) {}

  // Works for InstructionRow and ShareRow alike; the row's strings must outlive this object.
  template <typename Row>
  uint32_t Of(const Row& row) {
    const ScopeKey key(row.op_name, row.layer, row.phase, row.source_file, row.source_line);
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(scopes_.size()));
    if (is_new) {
      model::ScopeTimeRow scope;
      scope.op_name = row.op_name;
      scope.layer = row.layer;
      scope.layer_group = row.layer_group;
      scope.phase = row.phase;
      scope.source_file = row.source_file;
      scope.source_line = row.source_line;
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
      pieces_.push_back({numbers.Of(row), row.phase, kWhole});
    }
  }
  first_piece_.push_back(static_cast<uint32_t>(pieces_.size()));
  for (const Piece& piece : pieces_) weights_.push_back(piece.share_ppm);

  for (size_t phase = 0; phase < kPhaseCount; ++phase) {
    InstructionRow nothing_known;
    nothing_known.phase = static_cast<Phase>(phase);
    unattributed_[phase] = {static_cast<uint32_t>(scopes_.size()), nothing_known.phase, kWhole};
    model::ScopeTimeRow scope;
    scope.phase = nothing_known.phase;
    scopes_.push_back(std::move(scope));
  }
}

std::span<const Piece> TimeSplit::Of(const model::Label& label) const {
  if (label.instruction_id <= 0) {
    return {&unattributed_[static_cast<size_t>(PhaseOfUnattributed(label.reason))], 1};
  }
  const auto instruction = static_cast<size_t>(label.instruction_id) - 1;
  const uint32_t begin = first_piece_[instruction];
  return std::span(pieces_).subspan(begin, first_piece_[instruction + 1] - begin);
}

}  // namespace xlatrace::analysis
