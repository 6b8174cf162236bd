// SPDX-License-Identifier: Apache-2.0
#include "correlator/origin.h"

#include <string_view>

#include "correlator/kernel_symbols.h"
#include "correlator/thunk_order/program/launch_kind.h"

namespace xlatrace::correlator {

using model::ActivityKind;
using model::Origin;
using model::Reason;

namespace {

bool IsLibraryCall(const model::InstructionRow& instruction) {
  for (const std::string_view opcode :
       {"fft", "cholesky", "triangular-solve", "convolution", "dot"}) {
    if (instruction.opcode == opcode) return true;
  }
  switch (instruction.op_kind) {
    case model::OpKind::kGemm:
    case model::OpKind::kConvolution:
    case model::OpKind::kAttention:
    case model::OpKind::kSort:
    case model::OpKind::kFft:
      return instruction.opcode == "custom-call";
    default:
      return false;
  }
}

}  // namespace

Origin OriginInModule(const model::LaunchConfig& config, const model::InstructionRow* instruction) {
  switch (LaunchKindOf(config)) {
    case LaunchKind::kAutotuning:
      return Origin::kAutotune;
    case LaunchKind::kGemm:
    case LaunchKind::kConvolution:
      return Origin::kXlaLibrary;
    case LaunchKind::kLibrary:
    case LaunchKind::kGemmPart:
    case LaunchKind::kCollective:
      // XLA has some itself (MakeBatchPointers, AllReduceKernelImpl, its top-k).
      return FamilyOf(config.symbol) == SymbolFamily::kXla ? Origin::kXla : Origin::kXlaLibrary;
    case LaunchKind::kOtherKernel:
      // An unknown name: a library's if the instruction is a library call, else a user's own kernel
      // that an XLA custom call runs.
      if (instruction != nullptr && IsLibraryCall(*instruction)) return Origin::kXlaLibrary;
      return Origin::kXla;
    default:
      break;
  }
  // A CPU or TPU has no symbols: a custom call is code from outside of XLA.
  if (config.kind == ActivityKind::kOp && instruction != nullptr &&
      instruction->opcode == "custom-call") {
    return Origin::kXlaLibrary;
  }
  return Origin::kXla;
}

Unexplained WithoutModule(const model::LaunchConfig& config, bool process_uses_xla) {
  const Origin launcher = process_uses_xla ? Origin::kOther : Origin::kFramework;
  switch (config.kind) {
    case ActivityKind::kMemcpy:
    case ActivityKind::kMemset:
      return {Reason::kTransfer, launcher};
    case ActivityKind::kGraph:
      return {Reason::kGraphWithoutBody, launcher};
    case ActivityKind::kOp:
      return {Reason::kNotXla, Origin::kFramework};
    case ActivityKind::kRange:
      // XLA's own name for autotuning candidates (XlaAutotunerMeasurement:#hlo_op=..#).
      if (config.symbol.starts_with("XlaAutotuner")) {
        return {Reason::kAutotuning, Origin::kAutotune};
      }
      return {Reason::kNotXla, launcher};
    case ActivityKind::kKernel:
      break;
  }
  switch (FamilyOf(config.symbol)) {
    case SymbolFamily::kAutotune:
      return {Reason::kAutotuning, Origin::kAutotune};
    case SymbolFamily::kTransfer:
      return {Reason::kTransfer, launcher};
    case SymbolFamily::kXla:
      // A process without XLA can also have a kernel with the name "copy" or "reduce".
      if (process_uses_xla) return {Reason::kNoModule, Origin::kXla};
      break;
    case SymbolFamily::kFramework:
      return {Reason::kNotXla, Origin::kFramework};
    case SymbolFamily::kLibrary:
    case SymbolFamily::kOther:
      break;
  }
  return {Reason::kNotXla, launcher};
}

}  // namespace xlatrace::correlator
