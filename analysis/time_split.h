// SPDX-License-Identifier: Apache-2.0

// How the time of an instruction divides over phases, layers and op_names.
//
// Every figure per phase, layer or op_name is an activity's self_ns times a share. Rounding is done
// once per activity (largest remainder), so sums over different tables agree to the nanosecond.

#ifndef XLATRACE_ANALYSIS_TIME_SPLIT_H_
#define XLATRACE_ANALYSIS_TIME_SPLIT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/apportion.h"
#include "model/derived.h"

namespace xlatrace::analysis {

inline constexpr size_t kPhaseCount = 7;

// Part of an instruction: its scope and its share, in millionths.
struct Piece {
  uint32_t scope = 0;  // Index into TimeSplit::scopes().
  model::Phase phase = model::Phase::kUnknown;
  int64_t share_ppm = 0;
};

// The phase of an activity without instruction: `other` for autotuning, which is not part of the
// model's step, otherwise unknown.
model::Phase PhaseOfUnattributed(model::Reason reason);

class TimeSplit {
 public:
  // Labels must already have their phases and layers.
  explicit TimeSplit(const model::AttributionTables& attribution);

  // Parts of the time of an activity with that label (label_id), at least one, summing to a
  // million. A label of several instructions (a graph-level row) has the parts of all of them.
  std::span<const Piece> Of(uint32_t label_id) const;

  // Splits a time: calls `add(piece, ns)` for each part, in order; the ns sum to self_ns.
  template <typename Add>
  void Split(uint32_t label_id, int64_t self_ns, Add add) const {
    const std::span<const Piece> pieces = Of(label_id);
    if (pieces.size() == 1) {
      add(pieces[0], self_ns);
      return;
    }
    std::array<int64_t, kMaxStackPieces> few;
    std::vector<int64_t> many;
    if (pieces.size() > kMaxStackPieces) many.resize(pieces.size());
    const std::span<int64_t> parts = pieces.size() > kMaxStackPieces
                                         ? std::span<int64_t>(many)
                                         : std::span(few).first(pieces.size());
    const std::ptrdiff_t first = pieces.data() - pieces_.data();
    Apportion(self_ns, std::span(weights_).subspan(static_cast<size_t>(first), pieces.size()),
              parts);
    for (size_t i = 0; i < pieces.size(); ++i) add(pieces[i], parts[i]);
  }

  // One row per distinct (op_name, layer, phase, source stack), times still 0.
  const std::vector<model::ScopeTimeRow>& scopes() const { return scopes_; }

 private:
  static constexpr size_t kMaxStackPieces = 32;

  void AddSharedLabels(const model::AttributionTables& attribution);

  std::vector<Piece> pieces_;
  std::vector<int64_t> weights_;  // share_ppm of the pieces.
  // First piece per instruction, with one additional element at the end.
  std::vector<uint32_t> first_piece_;
  struct PieceRange {
    uint32_t begin = 0;
    uint32_t count = 0;  // 0: unattributed, `begin` is the phase.
  };
  std::vector<PieceRange> of_label_;             // By label_id - 1.
  std::array<Piece, kPhaseCount> unattributed_;  // Per phase.
  std::vector<model::ScopeTimeRow> scopes_;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_TIME_SPLIT_H_
