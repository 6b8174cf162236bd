// SPDX-License-Identifier: Apache-2.0
#include "analysis/module_graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace xlatrace::analysis {
namespace {

using model::Computation;
using model::HloModule;
using model::Instruction;
using model::kNoIndex;

// Nested tuples and chains of loops, calls and barriers; bounds hostile modules.
constexpr int kMaxCallDepth = 64;
// An element may come from many places (callers of a shared computation). More are not useful.
constexpr size_t kMaxSources = 64;

bool IsAsync(std::string_view opcode) {
  return opcode == "async-start" || opcode == "async-update" || opcode == "async-done";
}

// XLA packs unrelated small arrays into one to communicate or launch once; the framework's own
// concatenations have names.
bool IsPacking(const Instruction& instruction) {
  return instruction.opcode == "concatenate" && instruction.metadata.op_name.empty();
}

bool PassesTupleOn(std::string_view opcode) {
  return opcode == "opt-barrier" || opcode == "async-done" || opcode == "async-update" ||
         opcode == "all-reduce-done" || opcode == "all-gather-done";
}

bool IsElementwiseCollective(std::string_view opcode) {
  return opcode == "all-reduce" || opcode == "all-gather" || opcode == "reduce-scatter" ||
         opcode == "all-reduce-start" || opcode == "all-gather-start";
}

}  // namespace

bool EntersComputation(std::string_view opcode) {
  return opcode == "fusion" || opcode == "call" || opcode == "while" || opcode == "conditional" ||
         opcode == "custom-call" || IsAsync(opcode);
}

ModuleGraph::Rows ModuleGraph::Pack(size_t size,
                                    const std::vector<std::pair<uint32_t, uint32_t>>& edges) {
  Rows rows;
  rows.begin.assign(size + 1, 0);
  for (const auto& [from, to] : edges) ++rows.begin[from + 1];
  for (size_t i = 0; i < size; ++i) rows.begin[i + 1] += rows.begin[i];
  rows.items.resize(edges.size());
  std::vector<uint32_t> next(rows.begin.begin(), rows.begin.end() - 1);
  for (const auto& [from, to] : edges) rows.items[next[from]++] = to;
  return rows;
}

ModuleGraph::ModuleGraph(const HloModule& module) : module_(module) {
  FindCallers();
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::vector<std::pair<uint32_t, uint32_t>> reversed;
  std::vector<uint32_t> operands;
  for (uint32_t node = 0; node < module.instructions.size(); ++node) {
    const uint32_t computation = module.instructions[node].computation;
    if (computation != kNoIndex && applied_[computation]) continue;
    operands.clear();
    AddOperands(node, operands);
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    for (const uint32_t operand : operands) {
      edges.emplace_back(node, operand);
      reversed.emplace_back(operand, node);
    }
  }
  operands_ = Pack(module.instructions.size(), edges);
  users_ = Pack(module.instructions.size(), reversed);
}

void ModuleGraph::FindCallers() {
  std::vector<std::pair<uint32_t, uint32_t>> calls;
  std::vector<bool> entered(module_.computations.size(), false);
  for (uint32_t node = 0; node < module_.instructions.size(); ++node) {
    const Instruction& instruction = module_.instructions[node];
    for (const uint32_t computation : module_.CalledComputations(instruction)) {
      if (computation >= module_.computations.size()) continue;
      calls.emplace_back(computation, node);
      if (EntersComputation(instruction.opcode)) entered[computation] = true;
    }
  }
  callers_ = Pack(module_.computations.size(), calls);
  applied_.resize(module_.computations.size());
  for (uint32_t c = 0; c < module_.computations.size(); ++c) {
    applied_[c] = !entered[c] && !Callers(c).empty();
  }
}

uint32_t ModuleGraph::RootOf(uint32_t computation) const {
  if (computation >= module_.computations.size()) return kNoIndex;
  return module_.computations[computation].root;
}

// The order of a while's two computations differs between text and proto; their types do not.
bool ModuleGraph::IsLoopCondition(uint32_t computation) const {
  const uint32_t root = RootOf(computation);
  return root != kNoIndex && module_.instructions[root].shape.starts_with("pred[]");
}

void ModuleGraph::AddArguments(uint32_t parameter, std::vector<uint32_t>& into) const {
  const Instruction& self = module_.instructions[parameter];
  if (self.computation == kNoIndex) return;
  for (const uint32_t caller : Callers(self.computation)) {
    const Instruction& call = module_.instructions[caller];
    const auto operands = module_.Operands(call);
    if (call.opcode == "while") {
      if (!operands.empty()) into.push_back(operands[0]);
    } else if (call.opcode == "conditional") {
      const auto called = module_.CalledComputations(call);
      for (size_t branch = 0; branch < called.size() && branch + 1 < operands.size(); ++branch) {
        if (called[branch] == self.computation) into.push_back(operands[branch + 1]);
      }
    } else if (EntersComputation(call.opcode) && self.parameter_number >= 0 &&
               static_cast<size_t>(self.parameter_number) < operands.size()) {
      into.push_back(operands[static_cast<size_t>(self.parameter_number)]);
    }
    if (into.size() >= kMaxSources) return;
  }
}

void ModuleGraph::AddFields(uint32_t node, int64_t index, int depth,
                            std::vector<uint32_t>& into) const {
  const Instruction& self = module_.instructions[node];
  const auto operands = module_.Operands(self);
  if (depth > kMaxCallDepth || into.size() >= kMaxSources || index < 0) {
    into.push_back(node);
    return;
  }
  std::vector<uint32_t> wholes;
  if (self.opcode == "tuple") {
    if (static_cast<size_t>(index) < operands.size()) {
      into.push_back(operands[static_cast<size_t>(index)]);
    }
    return;
  }
  if (self.opcode == "parameter") {
    AddArguments(node, wholes);
  } else if (self.opcode == "get-tuple-element" && !operands.empty()) {
    AddFields(operands[0], self.tuple_index, depth + 1, wholes);
    if (wholes.size() == 1 && wholes[0] == operands[0]) wholes.clear();
  } else if (PassesTupleOn(self.opcode) && !operands.empty()) {
    wholes.push_back(operands[0]);
  } else if (IsElementwiseCollective(self.opcode) && operands.size() > 1) {
    // A combined collective is one collective per operand.
    if (static_cast<size_t>(index) < operands.size()) {
      into.push_back(operands[static_cast<size_t>(index)]);
      return;
    }
  } else if (self.opcode == "fusion" || self.opcode == "call" || self.opcode == "while" ||
             self.opcode == "conditional" || self.opcode == "async-start") {
    for (const uint32_t computation : module_.CalledComputations(self)) {
      const uint32_t root = RootOf(computation);
      const bool condition = self.opcode == "while" && IsLoopCondition(computation);
      if (root != kNoIndex && !condition) wholes.push_back(root);
    }
  }
  if (wholes.empty()) {
    into.push_back(node);
    return;
  }
  for (const uint32_t whole : wholes) AddFields(whole, index, depth + 1, into);
}

void ModuleGraph::AddOperands(uint32_t node, std::vector<uint32_t>& into) const {
  const Instruction& self = module_.instructions[node];
  const auto operands = module_.Operands(self);
  if (self.opcode == "parameter") {
    AddArguments(node, into);
    return;
  }
  if (self.opcode == "get-tuple-element" && !operands.empty()) {
    AddFields(operands[0], self.tuple_index, 0, into);
    return;
  }
  if (EntersComputation(self.opcode)) {
    for (const uint32_t computation : module_.CalledComputations(self)) {
      const uint32_t root = RootOf(computation);
      if (root == kNoIndex || (self.opcode == "while" && IsLoopCondition(computation))) continue;
      into.push_back(root);
    }
    if (!into.empty() && self.opcode != "custom-call") return;
  }
  into.insert(into.end(), operands.begin(), operands.end());
}

std::vector<bool> ModuleGraph::Reach(const std::vector<bool>& seeds, const Rows& rows) const {
  std::vector<bool> reached(size(), false);
  std::vector<uint32_t> open;
  for (uint32_t node = 0; node < size(); ++node) {
    if (seeds[node]) open.push_back(node);
  }
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    for (const uint32_t next : Row(rows, node)) {
      if (reached[next]) continue;
      reached[next] = true;
      if (!seeds[next] && !IsPacking(module_.instructions[next])) open.push_back(next);
    }
  }
  return reached;
}

std::vector<bool> ModuleGraph::Dependents(const std::vector<bool>& seeds) const {
  return Reach(seeds, users_);
}

std::vector<bool> ModuleGraph::Dependencies(const std::vector<bool>& seeds) const {
  return Reach(seeds, operands_);
}

}  // namespace xlatrace::analysis
