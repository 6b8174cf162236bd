// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/program/launch_emitter.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "correlator/computation_roles.h"
#include "correlator/kernel_symbols.h"
#include "hlo/shape.h"

namespace xlatrace::correlator {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;
using model::Thunk;

namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A layout in memory space 5 belongs to the host (xla/layout.h).
bool TouchesHost(const HloModule& module, const Instruction& instruction) {
  if (Contains(instruction.shape, "S(5)")) return true;
  for (const uint32_t operand : module.Operands(instruction)) {
    if (operand < module.instructions.size() &&
        Contains(module.instructions[operand].shape, "S(5)")) {
      return true;
    }
  }
  return false;
}

// Since 2025, XLA wraps a sort into a fusion; its kernels have the name of the sort.
uint32_t SortInside(const HloModule& module, const Instruction& fusion) {
  for (const uint32_t callee : module.CalledComputations(fusion)) {
    if (callee >= module.computations.size()) break;
    const uint32_t root = module.computations[callee].root;
    if (root < module.instructions.size() && module.instructions[root].opcode == "sort") {
      return root;
    }
  }
  return kNoIndex;
}

// Each result of a copying fusion is one copy.
uint16_t ResultsOf(const HloModule& module, const Instruction& fusion) {
  for (const uint32_t callee : module.CalledComputations(fusion)) {
    if (callee >= module.computations.size()) break;
    const uint32_t root = module.computations[callee].root;
    if (root >= module.instructions.size()) break;
    if (module.instructions[root].opcode != "tuple") break;
    return static_cast<uint16_t>(std::min<uint32_t>(module.instructions[root].operands.size, 999));
  }
  return 1;
}

// True for one copied or sliced operand without computation: XLA has a path without a kernel for
// it.
bool MayBeCopy(const HloModule& module, const Instruction& fusion) {
  for (const uint32_t callee : module.CalledComputations(fusion)) {
    if (callee >= module.computations.size()) return false;
    for (const Instruction& inner : module.InstructionsOf(module.computations[callee])) {
      const std::string_view op = inner.opcode;
      if (!TakesNoTime(op) && op != "copy" && op != "slice" && op != "dynamic-slice" &&
          op != "dynamic-update-slice" && op != "reshape" && op != "transpose" &&
          !(inner.shape.find("[]") != std::string_view::npos)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

LaunchEmitter::LaunchEmitter(const HloModule& module, std::span<const Thunk> thunks,
                             TokenWriter* out)
    : module_(module), thunks_(thunks), out_(*out) {
  if (out_.graph_rows()) FindGraphs();
  bool unnamed = false;
  for (const Thunk& thunk : thunks) {
    if (thunk.instruction.empty()) {
      unnamed |= !IsContainerThunk(thunk.kind);
      continue;
    }
    thunks_of_[thunk.instruction].push_back(&thunk);
    from_thunk_list_ |= !IsContainerThunk(thunk.kind);
  }
  // In a list without metadata, some thunks may have no instruction. Their neighbours would look
  // unambiguous, so the schedule, which has all instructions, is used.
  if (unnamed) from_thunk_list_ = false;
  if (!from_thunk_list_) thunks_of_.clear();
}

// Finds the command buffer of each thunk, by its index in the list.
void LaunchEmitter::FindGraphs() {
  graph_of_.assign(thunks_.size(), 0);
  uint32_t graphs = 0;
  uint32_t open = 0;
  int32_t depth = 0;  // Depth of the open command buffer.
  for (size_t t = 0; t < thunks_.size(); ++t) {
    if (open != 0 && thunks_[t].depth <= depth) open = 0;
    if (open == 0 && thunks_[t].kind == "kCommandBuffer") {
      open = ++graphs;
      depth = thunks_[t].depth;
    } else {
      graph_of_[t] = open;
    }
  }
}

void LaunchEmitter::Emit(uint32_t index, const Instruction& instruction, bool optional) {
  if (TakesNoTime(instruction.opcode)) return;
  if (from_thunk_list_) {
    const auto it = thunks_of_.find(instruction.name);
    if (it != thunks_of_.end()) {
      for (const Thunk* thunk : it->second) EmitThunk(index, *thunk, optional);
    }
    if (instruction.opcode == "fusion") EmitFromInside(instruction, optional);
  } else {
    Predict(index, instruction, optional);
  }
}

void LaunchEmitter::EmitThunk(uint32_t index, const Thunk& thunk, bool optional) {
  if (IsContainerThunk(thunk.kind)) return;
  ThunkToken token{.instruction = index, .optional = optional};
  if (!graph_of_.empty()) token.graph = graph_of_[static_cast<size_t>(&thunk - thunks_.data())];
  std::copy(std::begin(thunk.grid), std::end(thunk.grid), std::begin(token.grid));
  std::copy(std::begin(thunk.block), std::end(thunk.block), std::begin(token.block));
  // XLA's own function template: lists have this name, devices the mangled one.
  if (thunk.kernel == "topk") {
    token.kind = ThunkKind::kLibrary;
    token.library = LibraryKind::kTopK;
  }
  if (!thunk.kernel.empty()) {
    out_.AddAs(thunk.kernel, token);
    return;
  }
  token.kind = ThunkKindOf(thunk.kind);
  token.collective = CollectiveOfOpcode(thunk.kind);
  const Instruction& instruction = module_.instructions[index];
  if (token.kind == ThunkKind::kAnything && instruction.opcode == "custom-call") {
    token.kind = ThunkKindOfCustomCall(instruction.custom_call_target);
  }
  if (token.kind == ThunkKind::kLibrary) token.library = LibraryOf(thunk.kind);
  token.to_host = Contains(thunk.kind, "Host") || thunk.kind == "kInfeed" ||
                  thunk.kind == "kOutfeed" || TouchesHost(module_, instruction);
  if (token.kind == ThunkKind::kCollective) return AddCollective(instruction, token);
  // The host writes device numbers, or nothing is launched.
  if (thunk.kind == "kPartitionId" || thunk.kind == "kReplicaId") token.optional = true;
  if (thunk.kind == "kInfeed" || thunk.kind == "kOutfeed") token.optional = true;
  if (token.kind == ThunkKind::kAnything) token.optional = true;
  out_.Add(token);
}

// XLA has its own kernels for small collectives, named after the instruction.
void LaunchEmitter::AddCollective(const Instruction& instruction, const ThunkToken& token) {
  const std::string symbol = SymbolOfInstruction(instruction.name);
  const uint32_t place = out_.AddAs(symbol, token);
  out_.Name(symbol + "_fusion", place);
}

// A dynamic-slice fusion is a copy or a library call on a slice, and its thunk is that of the
// instruction inside. False: there is none.
bool LaunchEmitter::EmitFromInside(const Instruction& fusion, bool optional) {
  bool any = false;
  for (const uint32_t callee : module_.CalledComputations(fusion)) {
    if (callee >= module_.computations.size()) continue;
    const model::Computation& body = module_.computations[callee];
    for (uint32_t i = 0; i < body.instruction_count; ++i) {
      const uint32_t index = body.first_instruction + i;
      const Instruction& inner = module_.instructions[index];
      if (from_thunk_list_) {
        const auto it = thunks_of_.find(inner.name);
        if (it == thunks_of_.end() || inner.name == fusion.name) continue;
        for (const Thunk* thunk : it->second) EmitThunk(index, *thunk, optional);
        any = true;
      } else if (inner.opcode == "copy" || inner.opcode == "custom-call" ||
                 IsCollective(inner.opcode)) {
        Predict(index, inner, optional);
        any = true;
      }
    }
  }
  return any;
}

void LaunchEmitter::PredictFusion(const Instruction& fusion, ThunkToken token) {
  const std::string_view config = fusion.backend_config;
  if (Contains(config, "__cudnn$fusion")) {
    token.kind = ThunkKind::kLibrary;
    out_.Add(token);
    return;
  }
  // A fusion around a slice of a library call's operands, or around a plain copy, has no kernel.
  const bool custom = Contains(config, "\"__custom_fusion\"") ||
                      Contains(config, "address_computation") ||
                      Contains(config, "dynamic_address");
  if (custom && EmitFromInside(fusion, token.optional)) return;
  if (custom) {
    token.kind = ThunkKind::kAnything;
    AddNamed(fusion, token);
    return;
  }
  if (const uint32_t sort = SortInside(module_, fusion); sort != kNoIndex) {
    EmitSort(fusion, module_.instructions[sort].name, token);
    return;
  }
  token.may_copy = MayBeCopy(module_, fusion);
  if (token.may_copy) token.copies = ResultsOf(module_, fusion);
  AddNamed(fusion, token);
}

void LaunchEmitter::Predict(uint32_t index, const Instruction& instruction, bool optional) {
  const std::string_view op = instruction.opcode;
  ThunkToken token{.instruction = index, .optional = optional};
  if (op.ends_with("-done") || op == "async-update") return;
  if (op == "fusion") return PredictFusion(instruction, token);
  if (op == "sort") return EmitSort(instruction, instruction.name, token);
  if (IsCollective(op)) {
    token.kind = ThunkKind::kCollective;
    token.collective = CollectiveOfOpcode(op);
    return AddCollective(instruction, token);
  }
  if (op == "partition-id" || op == "replica-id") {
    token.kind = ThunkKind::kMemset;
    token.optional = true;
    out_.Add(token);
    return;
  }
  if (op == "infeed" || op == "outfeed") {
    token.kind = ThunkKind::kCopy;
    token.to_host = true;
    token.optional = true;
    out_.Add(token);
    return;
  }
  if (op == "copy" || op == "copy-start") {
    token.may_copy = true;
    token.to_host = op == "copy-start" || TouchesHost(module_, instruction);
  } else if (op == "custom-call") {
    if (IsMarkForPasses(instruction.custom_call_target)) return;
    token.kind = ThunkKindOfCustomCall(instruction.custom_call_target);
    token.optional |= token.kind == ThunkKind::kAnything;
  } else if (op == "fft" || op == "cholesky" || op == "triangular-solve" || op == "topk") {
    token.kind = ThunkKind::kLibrary;
  } else if (op == "convolution") {
    token.kind = ThunkKind::kConvolution;
  } else if (op == "dot") {
    token.kind = ThunkKind::kGemm;
  } else {
    // Separate kernels: rng in all versions, nearly everything before 2024.
    token.repeats = true;
    for (const std::string_view mover : {"slice", "dynamic-slice", "dynamic-update-slice",
                                         "concatenate", "reshape", "transpose", "pad"}) {
      token.may_copy |= op == mover;
    }
  }
  AddNamed(instruction, token);
}

void LaunchEmitter::AddNamed(const Instruction& instruction, ThunkToken token) {
  token.elements = hlo::ElementCount(instruction.shape);
  for (const uint32_t operand : module_.Operands(instruction)) {
    if (operand >= module_.instructions.size()) continue;
    const int64_t more = hlo::ElementCount(module_.instructions[operand].shape);
    token.elements += std::min(more, INT64_MAX - token.elements);
  }
  out_.AddAs(SymbolOfInstruction(instruction.name), token);
}

// A sort first copies its operands, and has one kernel per far stage.
void LaunchEmitter::EmitSort(const Instruction& instruction, std::string_view name,
                             ThunkToken token) {
  for (uint32_t i = 0; i < std::min<uint32_t>(instruction.operands.size, 16); ++i) {
    out_.Add({.instruction = token.instruction, .kind = ThunkKind::kCopy, .optional = true});
  }
  token.repeats = true;
  out_.AddAs(SymbolOfInstruction(name), token);
}

}  // namespace xlatrace::correlator
