// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/program/token_writer.h"

#include "hlo/cost/weights.h"

namespace xlatrace::correlator {
namespace {

// Updates of the same location wait for each other.
bool Scatters(const model::HloModule& module, const model::Instruction& instruction) {
  if (instruction.opcode == "scatter") return true;
  if (instruction.opcode != "fusion") return false;
  for (const uint32_t callee : module.CalledComputations(instruction)) {
    if (callee >= module.computations.size()) continue;
    for (const model::Instruction& inner : module.InstructionsOf(module.computations[callee])) {
      if (inner.opcode == "scatter") return true;
    }
  }
  return false;
}

}  // namespace

TokenWriter::TokenWriter(const model::HloModule& module, bool graph_rows) : module_(module) {
  if (!graph_rows) return;
  // Repeated reads come from a cache.
  costs_.emplace(module, hlo::CostOptions{.kind = hlo::CostKind::kGpu,
                                          .count_multiple_input_accesses = false});
}

uint32_t TokenWriter::Add(ThunkToken token) {
  const model::Instruction& instruction = module_.instructions[token.instruction];
  if (token.kind == ThunkKind::kLibrary && token.library == LibraryKind::kAny) {
    token.library = LibraryOf(instruction.opcode == "custom-call" ? instruction.custom_call_target
                                                                  : instruction.opcode);
  }
  if (costs_) {
    const auto bytes = costs_->Of(instruction).bytes_accessed;
    token.cost_ns = static_cast<float>(place_.share * hlo::LaunchNs(module_, instruction, bytes));
    token.unsteady = place_.unknown_trips || token.kind == ThunkKind::kAnything ||
                     token.kind == ThunkKind::kCollective || Scatters(module_, instruction);
    if (token.graph == 0) token.graph = place_.graph;
    if (token.graph != 0) AddToGraph(token);
  }
  tokens_.push_back(token);
  return Next() - 1;
}

uint32_t TokenWriter::AddAs(const std::string& symbol, const ThunkToken& token) {
  const uint32_t place = Add(token);
  Name(symbol, place);
  return place;
}

void TokenWriter::AddToGraph(const ThunkToken& token) {
  if (token_of_graph_.size() <= token.graph) token_of_graph_.resize(token.graph + size_t{1});
  uint32_t& place = token_of_graph_[token.graph];
  if (place == 0) {
    tokens_.push_back({.instruction = token.instruction,
                       .kind = ThunkKind::kGraph,
                       .optional = token.optional,
                       .graph = token.graph});
    place = Next();
  }
  tokens_[place - 1].last = Next();
}

}  // namespace xlatrace::correlator
