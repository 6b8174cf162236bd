// SPDX-License-Identifier: Apache-2.0

// Decides whether the result of an instruction may reuse the memory of one of its operands.
//
// Only the data flow of the instruction itself is examined. The caller must check that the operand
// has no later reader. Source: HloDataflowAnalysis::CanShareOperandBufferWithUser and
// xla/service/gpu/buffer_sharing.cc, as far as they depend on a program's text only. Thread-safety:
// pure.

#ifndef XLATRACE_ANALYSIS_MEMORY_SHARING_H_
#define XLATRACE_ANALYSIS_MEMORY_SHARING_H_

#include <cstddef>
#include <cstdint>

#include "model/hlo_module.h"

namespace xlatrace::analysis {

// `leaf` counts the leaves of the instruction's shape, `operand` its operands (which are arrays).
bool CanShareMemory(const model::HloModule& module, uint32_t instruction, size_t leaf,
                    size_t operand);

// True if the instruction updates the operand in place: it writes a part and keeps the rest. Also
// true for loop-carried values, whose memory the next iteration reads.
bool UpdatesOperand(const model::HloModule& module, uint32_t instruction, size_t leaf,
                    size_t operand);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MEMORY_SHARING_H_
