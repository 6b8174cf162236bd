// Finds an op_name for every instruction, also for those that XLA made itself and gave none
// (copies, transposes, fusions of a later pass), and remembers how.
//
// Order: own metadata; the fused or called computation (by weight); then what the instruction
// serves: its users, then its operands (the other way round for -done halves and for reductions
// over devices, which finish what their operands began). The walk passes through instructions that
// only rearrange (tuple, get-tuple-element, bitcast, copy, ...) and is bounded.
//
// Computations that a reduction or sort applies keep names relative to a caller that is gone
// (`reduce_sum`, `layer/add`); their instructions get the name of the instruction that applies
// them, and never pass their own on (facts: JAX 0.4.13 to 0.10.2 on XLA:CPU).

#ifndef XLATRACE_CORRELATOR_OP_NAME_RESOLUTION_H_
#define XLATRACE_CORRELATOR_OP_NAME_RESOLUTION_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "correlator/computation_roles.h"
#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::correlator {

struct ResolvedName {
  std::string_view op_name;  // Empty: none was found. Points into the module.
  model::OpNameMethod method = model::OpNameMethod::kNone;
  uint32_t from = model::kNoIndex;  // Instruction whose metadata it is.
};

// XLA joins the names of merged instructions with ';': the first one. A ';' inside brackets (the
// parameters that old JAX prints) does not separate.
std::string_view FirstOpName(std::string_view op_name);

// Index = instruction. `body_names` gives, for instructions with a fused body, the body's largest
// share (from == kNoIndex where it has none); indexed by instruction.
std::vector<ResolvedName> ResolveOpNames(const model::HloModule& module,
                                         std::span<const ComputationUse> uses,
                                         std::span<const ResolvedName> body_names);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_OP_NAME_RESOLUTION_H_
