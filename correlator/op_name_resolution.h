// SPDX-License-Identifier: Apache-2.0

// Finds an op_name for every instruction, including those that XLA itself created without one
// (copies, transposes, fusions of a later pass), and records the method.
//
// Order of sources: own metadata; the fused or called computation (by weight). A collective has the
// names of the views of its result (hlo/collective_results.h). The users follow, then the operands.
// Reductions over devices and -done halves finish the work of their operands. For example, the
// all-reduce of a gradient belongs to the backward op that computed the gradient. Their operands
// therefore come before their users, and a search never passes them to reach a user. The search
// passes instructions without a name (tuple, get-tuple-element, bitcast, copy, ...) and the borders
// of wrapped computations, and is bounded. The last source is the caller: loop, wrapper or fusion.
//
// Computations that a reduction or sort applies have names relative to a caller that no longer
// exists (`reduce_sum`, `layer/add`). Their instructions get the name of the instruction that
// applies them. They never pass on their own name (observed in JAX 0.4.13 to 0.10.2 on XLA:CPU).

#ifndef XLATRACE_CORRELATOR_OP_NAME_RESOLUTION_H_
#define XLATRACE_CORRELATOR_OP_NAME_RESOLUTION_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "correlator/computation_roles.h"
#include "correlator/fusion_shares.h"
#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::correlator {

struct ResolvedName {
  std::string_view op_name;  // Empty: not found. Points into the module.
  model::OpNameMethod method = model::OpNameMethod::kNone;
  uint32_t from = model::kNoIndex;  // Instruction with this metadata.
};

struct OpNames {
  std::vector<ResolvedName> names;  // By instruction.
  // Shares of instructions that finish the work of several operands, such as an all-reduce that XLA
  // combined without a name, or the concatenation before it. By bytes; at least two shares.
  std::unordered_map<uint32_t, std::vector<Share>> operand_shares;
};

// `body_names`: by instruction, the largest share of those whose body or combination was divided
// (empty op_name for others).
OpNames ResolveOpNames(const model::HloModule& module, std::span<const ComputationUse> uses,
                       std::span<const ResolvedName> body_names);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_OP_NAME_RESOLUTION_H_
