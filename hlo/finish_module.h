// SPDX-License-Identifier: Apache-2.0

// Last stage of both readers, once all instructions are known: marks bodies of fusions, checks that
// the module has no cycles, computes the content hash.

#ifndef XLATRACE_HLO_FINISH_MODULE_H_
#define XLATRACE_HLO_FINISH_MODULE_H_

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// Needs computations, instructions, pools and entry. Sets Computation::is_fusion and is_entry,
// Instruction::is_root and content_hash. Error if operands or calls form a cycle.
Status FinishModule(model::HloModule& module);

// Makes `parent` of every frame 0 or less than the frame's own number, with a warning after a
// change. A walk over parents therefore always ends.
void BreakFrameCycles(model::HloModule& module);

// Fills source_file and source_line from the leaf frame if it has a file. If an instruction has
// both and its frame has another line, the instruction keeps its own line and loses the frame. The
// reason is that XLA in 2025 renumbered frames when it inlined computations, but not the references
// to them.
void ResolveSource(const model::HloModule& module, model::OpMetadata& metadata);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_FINISH_MODULE_H_
