// SPDX-License-Identifier: Apache-2.0

// The instruction rows of a module of which there is no HLO, from what its source said.
//
// What nobody said stays unknown: shapes, operands, cost. The kind of work is told by the source's
// own category, else by the kernels that ran, by the name that XLA gave (loop_add_fusion, copy.3)
// and by the primitive at the end of the op_name. A name alone tells no opcode: since JAX names
// instructions after primitives, `reduce_sum.5` may be an `add`.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_CORRELATOR_ANNOTATED_ROWS_H_
#define XLATRACE_CORRELATOR_ANNOTATED_ROWS_H_

#include <string_view>

#include "correlator/annotated_modules.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// module_id is the caller's to fill.
model::InstructionRow RowOf(const model::RunTables& run, const AnnotatedInstruction& instruction);

// By what XLA calls it: `input_reduce_fusion.2` is a reduction. kOther: the name does not tell.
model::OpKind KindOfName(std::string_view instruction);
// By XProf's category text.
model::OpKind KindOfCategory(std::string_view category);
// By the primitive of JAX or the op of TensorFlow at the end of an op_name.
model::OpKind KindOfOpName(std::string_view op_name);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ANNOTATED_ROWS_H_
