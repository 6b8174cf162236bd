// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/producers.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "analysis/operand_names.h"

namespace xlatrace::analysis::replay {
namespace {

constexpr int kMaxProducerDepth = 12;
constexpr size_t kMaxProducers = 64;
constexpr int kMaxProducerVisits = 512;

}  // namespace

Producers::Producers(const model::AttributionTables& attribution, const std::vector<bool>& ran)
    : attribution_(attribution), ran_(ran) {}

const Producers::Names& Producers::NamesOf(model::Id module_id) {
  if (names_.empty()) {
    for (size_t i = 0; i < attribution_.instructions.size(); ++i) {
      const model::InstructionRow& row = attribution_.instructions[i];
      names_[row.module_id].emplace(row.name, static_cast<uint32_t>(i + 1));
    }
  }
  return names_[module_id];
}

bool Producers::Known(uint32_t instruction_id) {
  if (modules_.empty()) {
    modules_.insert(0);
    for (const model::InstructionRow& row : attribution_.instructions) {
      if (!row.operands.empty()) modules_.insert(row.module_id);
    }
  }
  return modules_.contains(attribution_.instructions[instruction_id - 1].module_id);
}

void Producers::Collect(uint32_t instruction_id, int depth, std::vector<uint32_t>& found) {
  const model::InstructionRow& row = attribution_.instructions[instruction_id - 1];
  const Names& names = NamesOf(row.module_id);
  ForEachOperand(row.operands, [&](std::string_view name) {
    if (found.size() >= kMaxProducers) return false;
    const auto operand = names.find(name);
    if (operand == names.end() || operand->second == instruction_id) return true;
    if (ran_[operand->second]) {
      found.push_back(operand->second);
    } else if (depth < kMaxProducerDepth && ++visits_ < kMaxProducerVisits) {
      Collect(operand->second, depth + 1, found);
    }
    return true;
  });
}

const std::vector<uint32_t>& Producers::Of(uint32_t instruction_id) {
  const auto [it, fresh] = known_.try_emplace(instruction_id);
  if (fresh) {
    visits_ = 0;
    Collect(instruction_id, 0, it->second);
    std::sort(it->second.begin(), it->second.end());
    it->second.erase(std::unique(it->second.begin(), it->second.end()), it->second.end());
  }
  return it->second;
}

}  // namespace xlatrace::analysis::replay
