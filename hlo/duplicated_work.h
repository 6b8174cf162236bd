// SPDX-License-Identifier: Apache-2.0

// Work that fusion duplicates: XLA copies a cheap producer into every kernel that reads it, so that
// several kernels compute the same values.
//
// Two instructions inside fusions compute the same values if their op_names, opcodes, shapes,
// constants and operands are equal. Operands are followed out of the fusions. The first kernel in
// the order of the module does the work; in all later ones it is duplicated. Only kernels of one
// computation are compared, because a loop's body repeats its work in each iteration.
//
// Thread-safety: pure function. Linear in instructions and operands.

#ifndef XLATRACE_HLO_DUPLICATED_WORK_H_
#define XLATRACE_HLO_DUPLICATED_WORK_H_

#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// By instruction: true for those inside fusions that compute what an earlier kernel computes.
// Bodies that several instructions call, and bodies inside them, are left out.
std::vector<bool> FindDuplicatedWork(const model::HloModule& module);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_DUPLICATED_WORK_H_
