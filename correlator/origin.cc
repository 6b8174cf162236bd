#include "correlator/origin.h"

#include "correlator/kernel_symbols.h"

namespace xlatrace::correlator {

using model::ActivityKind;
using model::Origin;
using model::Reason;

Origin OriginInModule(const model::LaunchConfig& config, const model::InstructionRow* instruction) {
  if (config.kind == ActivityKind::kKernel) {
    switch (FamilyOf(config.symbol)) {
      case SymbolFamily::kLibrary:
        return Origin::kXlaLibrary;
      case SymbolFamily::kAutotune:
        return Origin::kAutotune;
      default:
        return Origin::kXla;  // XLA's own, or a user's kernel that an XLA custom call runs.
    }
  }
  // On a CPU or TPU there is no symbol to tell: a custom call is somebody else's code.
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
      // A process without XLA can have a kernel called "copy" or "reduce" too.
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
