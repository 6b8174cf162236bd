// SPDX-License-Identifier: Apache-2.0
#include "correlator/symbol_index.h"

#include <algorithm>
#include <array>

#include "correlator/fusion_body.h"
#include "correlator/kernel_symbols.h"

namespace xlatrace::correlator {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;

// Opcodes without kernels, whose names must not claim a symbol.
bool OwnsKernels(std::string_view opcode) {
  static constexpr auto kNever =
      std::to_array<std::string_view>({"partition-id", "replica-id", "copy-done", "infeed"});
  return !TakesNoTime(opcode) && !IsControlFlow(opcode) && !opcode.ends_with("-done") &&
         std::find(kNever.begin(), kNever.end(), opcode) == kNever.end();
}

}  // namespace

bool SymbolUse::Fits(const model::LaunchConfig& config) const {
  for (int d = 0; d < 3; ++d) {
    if (grid[d] > 0 && config.grid[d].value_or(grid[d]) != grid[d]) return false;
    if (block[d] > 0 && config.block[d].value_or(block[d]) != block[d]) return false;
  }
  return true;
}

SymbolIndex::SymbolIndex(const HloModule& module, std::span<const ComputationUse> computations,
                         std::span<const model::Thunk> thunks) {
  AddOwners(module, computations);
  lists_all_users_ = std::any_of(thunks.begin(), thunks.end(),
                                 [](const model::Thunk& thunk) { return !thunk.kernel.empty(); });
  if (lists_all_users_) AddUsers(module, thunks);
}

SymbolIndex::SymbolIndex(const std::map<std::string_view, std::vector<uint32_t>>& launchers) {
  for (const auto& [symbol, users] : launchers) {
    std::vector<SymbolUse>& uses = uses_[std::string(symbol)];
    for (const uint32_t user : users) uses.push_back({.instruction = user});
  }
}

void SymbolIndex::AddOwners(const HloModule& module, std::span<const ComputationUse> computations) {
  std::unordered_map<uint64_t, std::vector<uint32_t>> classes;
  FusionBodies bodies(module);
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    const Instruction& instruction = module.instructions[i];
    if (instruction.computation >= computations.size() || !OwnsKernels(instruction.opcode) ||
        computations[instruction.computation].role != ComputationRole::kLaunched) {
      continue;
    }
    if (instruction.opcode == "fusion") {
      classes[bodies.HashOf(instruction)].push_back(i);
    } else {
      uses_[SymbolOfInstruction(instruction.name)].push_back({.instruction = i});
    }
  }
  // A member of a class may run under the symbol of any member.
  for (const auto& [hash, members] : classes) {
    for (const uint32_t named : members) {
      std::vector<SymbolUse>& uses = uses_[SymbolOfInstruction(module.instructions[named].name)];
      uses.push_back({.instruction = named});
      if (members.size() > 1) uses.push_back({});
    }
  }
}

void SymbolIndex::AddUsers(const HloModule& module, std::span<const model::Thunk> thunks) {
  // A symbol that only one thunk launches runs the instruction after which it is named. This covers
  // lists without metadata (jaxlib before 0.8.0).
  const auto owners = std::move(uses_);
  uses_ = {};
  const auto by_name = model::IndexByName(module);
  for (const model::Thunk& thunk : thunks) {
    if (thunk.kernel.empty()) continue;
    SymbolUse use;
    std::copy(std::begin(thunk.grid), std::end(thunk.grid), std::begin(use.grid));
    std::copy(std::begin(thunk.block), std::end(thunk.block), std::begin(use.block));
    if (const auto it = by_name.find(thunk.instruction); it != by_name.end()) {
      use.instruction = it->second;
    }
    uses_[thunk.kernel].push_back(use);
  }
  for (auto& [symbol, uses] : uses_) {
    if (uses.size() != 1 || uses.front().instruction != kNoIndex) continue;
    auto owner = owners.find(symbol);
    if (owner == owners.end()) owner = owners.find(std::string(WithoutUniqueTail(symbol)));
    if (owner == owners.end()) continue;
    uses.front().instruction = owner->second.front().instruction;
  }
}

std::span<const SymbolUse> SymbolIndex::Find(std::string_view symbol) const {
  symbol = PlainSymbol(symbol);
  auto it = uses_.find(symbol);
  if (it == uses_.end() && !lists_all_users_) it = uses_.find(WithoutUniqueTail(symbol));
  if (it == uses_.end()) return {};
  return it->second;
}

}  // namespace xlatrace::correlator
