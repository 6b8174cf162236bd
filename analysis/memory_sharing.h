// SPDX-License-Identifier: Apache-2.0

// May a result of an instruction be written into the memory of one of its operands?
//
// Only what the instruction does to the data is looked at; that nobody reads the operand later is
// the caller's to know. Source: HloDataflowAnalysis::CanShareOperandBufferWithUser and
// xla/service/gpu/buffer_sharing.cc, of which this is the part that a program's text decides.
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

// Does it update the operand in place: writes a part of it and leaves the rest as it is? This holds
// for what a loop carries too, whose memory the next round reads.
bool UpdatesOperand(const model::HloModule& module, uint32_t instruction, size_t leaf,
                    size_t operand);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MEMORY_SHARING_H_
