// SPDX-License-Identifier: Apache-2.0
#include "analysis/merged_recompute.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/operand_names.h"

namespace xlatrace::analysis {
namespace {

using model::InstructionRow;
using model::Phase;

bool IsForward(Phase phase) { return phase == Phase::kForward || phase == Phase::kLoss; }

// True if the framework marks the instruction as recomputation.
bool IsRepeated(const InstructionRow& row) {
  return row.phase == Phase::kRecompute && row.name.find(".remat") == std::string::npos;
}

// A constant that several phases share has the name of one.
bool IsGradient(const InstructionRow& row) {
  return row.phase == Phase::kBackward && row.opcode != "constant" && row.opcode != "iota";
}

// Operands and users by position, of the modules that recompute.
class Links {
 public:
  explicit Links(const std::vector<InstructionRow>& rows) {
    std::set<model::Id> modules;
    for (const InstructionRow& row : rows) {
      if (IsRepeated(row)) modules.insert(row.module_id);
    }
    if (modules.empty()) return;
    std::unordered_map<model::Id, std::unordered_map<std::string_view, uint32_t>> names;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (modules.contains(rows[i].module_id)) {
        names[rows[i].module_id].emplace(rows[i].name, static_cast<uint32_t>(i));
      }
    }
    operands_.resize(rows.size());
    users_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto module = names.find(rows[i].module_id);
      if (module == names.end()) continue;
      ForEachOperand(rows[i].operands, [&](std::string_view name) {
        const auto operand = module->second.find(name);
        if (operand != module->second.end()) {
          operands_[i].push_back(operand->second);
          users_[operand->second].push_back(static_cast<uint32_t>(i));
        }
        return true;
      });
    }
  }

  bool empty() const { return operands_.empty(); }
  // All that the seeds depend on, or that depends on them; the seeds too.
  std::vector<bool> Before(std::vector<bool> seeds) const { return Spread(operands_, seeds); }
  std::vector<bool> After(std::vector<bool> seeds) const { return Spread(users_, seeds); }

 private:
  static std::vector<bool> Spread(const std::vector<std::vector<uint32_t>>& next,
                                  std::vector<bool>& reached) {
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < reached.size(); ++i) {
      if (reached[i]) open.push_back(i);
    }
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t to : next[at]) {
        if (reached[to]) continue;
        reached[to] = true;
        open.push_back(to);
      }
    }
    return std::move(reached);
  }

  std::vector<std::vector<uint32_t>> operands_, users_;
};

}  // namespace

std::vector<bool> FindMergedRecompute(const std::vector<InstructionRow>& instructions) {
  std::vector<bool> merged(instructions.size(), false);
  const Links links(instructions);
  if (links.empty()) return merged;
  std::vector<bool> seeds(instructions.size(), false);
  for (size_t i = 0; i < instructions.size(); ++i) {
    seeds[i] = IsGradient(instructions[i]);
  }
  const std::vector<bool> after_backward = links.After(std::move(seeds));
  seeds.assign(instructions.size(), false);
  for (size_t i = 0; i < instructions.size(); ++i) {
    // A kernel that holds several phases may have forward's name for the smaller part of its work.
    seeds[i] = IsForward(instructions[i].phase) && !instructions[i].mixed && !after_backward[i];
  }
  const std::vector<bool> needed = links.Before(std::move(seeds));
  for (size_t i = 0; i < instructions.size(); ++i) {
    merged[i] = needed[i] && IsRepeated(instructions[i]);
  }
  return merged;
}

}  // namespace xlatrace::analysis
