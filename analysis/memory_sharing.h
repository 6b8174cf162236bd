// SPDX-License-Identifier: Apache-2.0

// May a result of an instruction be written into the memory of one of its operands?
//
// Only the data flow of the instruction itself is examined. The caller must check that the operand
// has no later reader. Source: HloDataflowAnalysis::CanShareOperandBufferWithUser and
// xla/service/gpu/buffer_sharing.cc, the part of them that a program's text decides.
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_MEMORY_SHARING_H_
#define XLATRACE_ANALYSIS_MEMORY_SHARING_H_

#include <cstddef>
#include <cstdint>

#include "model/hlo_module.h"

namespace xlatrace::analysis {

// `leaf` counts the leaves of the instruction's shape, `operand` its operands (which are arrays).
bool CanShareMemory(const model::HloModule& module, uint32_t instruction, size_t leaf,
                    size_t operand);

// Does the instruction update the operand in place: write a part of it and keep the rest? Also
// true for loop-carried values, whose memory the next iteration reads.
bool UpdatesOperand(const model::HloModule& module, uint32_t instruction, size_t leaf,
                    size_t operand);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MEMORY_SHARING_H_
