// SPDX-License-Identifier: Apache-2.0

// Finds the instructions that computed the operands of an instruction. Only instructions that ran
// as separate activities count. Others are skipped: tuples, bitcasts, the -done half of an
// asynchronous pair and similar instructions.

#ifndef XLATRACE_ANALYSIS_REPLAY_PRODUCERS_H_
#define XLATRACE_ANALYSIS_REPLAY_PRODUCERS_H_

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/derived.h"

namespace xlatrace::analysis::replay {

class Producers {
 public:
  // `ran`: by instruction id, true if it ran as an activity. Both arguments must outlive this
  // object.
  Producers(const model::AttributionTables& attribution, const std::vector<bool>& ran);

  // Does the run contain operands of the instruction's module?
  bool Known(uint32_t instruction_id);

  // Ids of instructions, about 64 at most per instruction. Valid as long as this object.
  const std::vector<uint32_t>& Of(uint32_t instruction_id);

 private:
  using Names = std::unordered_map<std::string_view, uint32_t>;
  void Collect(uint32_t instruction_id, int depth, std::vector<uint32_t>& found);
  const Names& NamesOf(model::Id module_id);

  const model::AttributionTables& attribution_;
  const std::vector<bool>& ran_;
  int visits_ = 0;  // Instructions visited by the current call of Of.
  std::unordered_map<model::Id, Names> names_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> known_;
  std::unordered_set<model::Id> modules_;  // Modules with operands.
};

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_PRODUCERS_H_
