// SPDX-License-Identifier: Apache-2.0

// What both readers do once all instructions are known: marks bodies of fusions, checks that
// nothing is cyclic, computes the content hash.

#ifndef XLATRACE_HLO_FINISH_MODULE_H_
#define XLATRACE_HLO_FINISH_MODULE_H_

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// Needs computations, instructions, pools and entry; sets Computation::is_fusion and is_entry,
// Instruction::is_root and content_hash. An error when operands or calls form a cycle.
Status FinishModule(model::HloModule& module);

// Makes `parent` of every frame less than the frame's own number or 0, with a warning when one was
// not: walking parents always ends.
void BreakFrameCycles(model::HloModule& module);

// Fills source_file and source_line from the leaf frame where it names a file. An instruction that
// has both and whose frame says another line keeps its own and loses the frame: some XLA of 2025
// renumbers frames when it inlines computations, but not the instructions that refer to them.
void ResolveSource(const model::HloModule& module, model::OpMetadata& metadata);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_FINISH_MODULE_H_
