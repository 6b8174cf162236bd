// SPDX-License-Identifier: Apache-2.0

// Role of a computation: its instructions run as separate units, inside a fusion's kernel, or as
// the scalar function of a reduction or sort.

#ifndef XLATRACE_CORRELATOR_COMPUTATION_ROLES_H_
#define XLATRACE_CORRELATOR_COMPUTATION_ROLES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::correlator {

enum class ComputationRole : uint8_t {
  kUnreached,  // No computation that the entry computation reaches calls it.
  kApplied,    // to_apply of reduce, scatter, sort, map, all-reduce, ...; calls of custom-call.
  kFused,      // Body of a fusion, or called from such a body.
  kLaunched,   // Entry, loop bodies and conditions, branches, called and async computations.
};

struct ComputationUse {
  ComputationRole role = ComputationRole::kUnreached;
  uint32_t caller = model::kNoIndex;  // An instruction that calls it with this role.
};

// Index = computation. If a computation is called in several ways, the strongest role counts
// (launched before fused before applied).
std::vector<ComputationUse> ClassifyComputations(const model::HloModule& module);

// True for while, conditional, call and the async wrappers. The instructions of their callees run
// as separate units, and the caller owns only the remainder of its time.
bool IsControlFlow(std::string_view opcode);

// True for opcodes without device time (parameter, tuple, bitcast, ...).
bool TakesNoTime(std::string_view opcode);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_COMPUTATION_ROLES_H_
