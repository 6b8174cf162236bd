// SPDX-License-Identifier: Apache-2.0

// Forward operations that XLA copied into backward kernels: recomputation, by the compiler.
//
// Fusion duplicates a cheap producer (the exponential of a softmax) into every kernel that reads
// it, so a backward fusion may compute forward work a second time. An operation is a copy where
// what is done inside the fusion to make backward values depends on it, and the same operation
// (op_name and opcode) is also in a kernel without backward work: there it is done the first time.
// What only stands beside backward work in a kernel, and what is done there alone, keeps its side.
//
// Thread-safety: pure function. Linear in instructions and operands.

#ifndef XLATRACE_ANALYSIS_COPIED_FORWARD_H_
#define XLATRACE_ANALYSIS_COPIED_FORWARD_H_

#include <cstdint>
#include <vector>

#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::analysis {

// `phases`: per instruction. Gives those whose phase is recompute instead.
std::vector<uint32_t> FindCopiedForward(const model::HloModule& module,
                                        const std::vector<model::Phase>& phases);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COPIED_FORWARD_H_
