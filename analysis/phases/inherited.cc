// SPDX-License-Identifier: Apache-2.0
#include "analysis/phases/inherited.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <unordered_map>

#include "hlo/collective_results.h"

namespace xlatrace::analysis::phases {
namespace {

using model::Instruction;
using model::ModuleRole;
using model::Phase;

// Loops, branches and calls have the phase of most of their instructions. Here a fusion has that of
// its root (callers of phase_dataflow.h weigh its body).
void DecideContainers(Draft& draft) {
  const model::HloModule& module = draft.module();
  for (uint32_t node = 0; node < draft.size(); ++node) {
    const Instruction& self = draft.At(node);
    if (!draft.IsOpen(node) || !IsContainer(self.opcode)) continue;
    std::array<int64_t, 7> votes{};
    std::array<uint32_t, 7> example{};
    for (const uint32_t called : module.CalledComputations(self)) {
      if (called >= module.computations.size()) continue;
      const model::Computation& body = module.computations[called];
      // A fusion with one result is its root; with several, and in all else, the majority.
      const bool root_only = self.opcode == "fusion" && !self.shape.starts_with("(");
      const uint32_t first = root_only ? body.root : body.first_instruction;
      const uint32_t count = root_only ? 1 : body.instruction_count;
      for (uint32_t inner = first; inner < first + count && inner < draft.size(); ++inner) {
        if (draft.IsOpen(inner)) continue;
        const auto phase = static_cast<size_t>(draft.PhaseOf(inner));
        if (votes[phase]++ == 0) example[phase] = inner;
      }
    }
    const auto most = std::max_element(votes.begin(), votes.end());
    if (*most == 0) continue;
    draft.TakeOver(node, draft.DecisionOf(example[static_cast<size_t>(most - votes.begin())]));
  }
}

void DecideTupleElements(Draft& draft) {
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (!draft.IsOpen(node) || draft.At(node).opcode != "get-tuple-element") continue;
    const auto sources = draft.graph().Operands(node);
    if (sources.size() == 1 && !draft.IsOpen(sources[0]) &&
        draft.At(sources[0]).opcode != "parameter") {
      draft.TakeOver(node, draft.DecisionOf(sources[0]));
    }
  }
}

// The view that names a combined collective: the largest part of its result.
std::unordered_map<uint32_t, uint32_t> LargestNamedResults(const model::HloModule& module) {
  std::unordered_map<uint32_t, uint32_t> largest;
  for (const auto& [collective, views] : hlo::NamedCollectiveResults(module)) {
    largest[collective] =
        std::max_element(views.begin(), views.end(), [](const auto& a, const auto& b) {
          return a.bytes < b.bytes;
        })->instruction;
  }
  return largest;
}

// A collective without a mark that carries gradients serves the backward pass.
void DecideCollectives(Draft& draft) {
  const auto results = LargestNamedResults(draft.module());
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (!draft.IsOpen(node) || !IsCollective(draft.At(node).opcode)) continue;
    const auto result = results.find(node);
    std::vector<uint32_t> open = {node};
    std::set<uint32_t> seen = {node};
    while (!open.empty() && seen.size() < 1000) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t operand : draft.graph().Operands(at)) {
        if (!seen.insert(operand).second) continue;
        if (draft.IsOpen(operand)) {
          open.push_back(operand);
        } else if (draft.PhaseOf(operand) == Phase::kBackward) {
          const bool named = result != results.end();
          draft.TakeOver(
              node, {Phase::kBackward, named ? result->second : draft.DecisionOf(operand).origin});
        }
      }
    }
  }
}

// All decided nodes, except parameters of the program, which pass no phase on.
std::vector<uint32_t> Decided(const Draft& draft) {
  std::vector<uint32_t> decided;
  for (uint32_t node = 0; node < draft.size(); ++node) {
    const bool entry_parameter =
        draft.At(node).opcode == "parameter" && draft.At(node).computation == draft.module().entry;
    if (!draft.IsOpen(node) && !entry_parameter) decided.push_back(node);
  }
  return decided;
}

// Nearest user first, then nearest operand.
void Propagate(Draft& draft) {
  std::vector<uint32_t> queue = Decided(draft);
  const auto pass_on = [&](uint32_t from, std::span<const uint32_t> to) {
    for (const uint32_t node : to) {
      if (!draft.IsOpen(node)) continue;
      draft.TakeOver(node, draft.DecisionOf(from));
      queue.push_back(node);
    }
  };
  const ModuleGraph& graph = draft.graph();
  for (size_t i = 0; i < queue.size(); ++i) pass_on(queue[i], graph.Operands(queue[i]));
  queue = Decided(draft);
  for (size_t i = 0; i < queue.size(); ++i) pass_on(queue[i], graph.Users(queue[i]));
  // Open nodes have no connection to a named op: they are inputs that are passed through. In a main
  // module without names, no phase is known.
  if (queue.empty() && draft.role() == ModuleRole::kMain) return;
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (draft.IsOpen(node)) draft.LeaveWith(node, Phase::kOther);
  }
}

// `add` of a reduce: phase of its caller.
void LabelAppliedComputations(Draft& draft) {
  for (uint32_t c = 0; c < draft.module().computations.size(); ++c) {
    if (!draft.graph().IsApplied(c)) continue;
    const model::Computation& computation = draft.module().computations[c];
    const NodePhase caller = draft.DecisionOf(draft.graph().Callers(c).front());
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      draft.TakeOver(computation.first_instruction + i, caller);
    }
  }
}

}  // namespace

void DecideInherited(Draft& draft) {
  DecideContainers(draft);
  DecideTupleElements(draft);
  DecideCollectives(draft);
  Propagate(draft);
  LabelAppliedComputations(draft);
}

}  // namespace xlatrace::analysis::phases
