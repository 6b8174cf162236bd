// SPDX-License-Identifier: Apache-2.0

// Instruction rows of a module without HLO, from its annotations.
//
// Other properties stay unknown: shapes, operands, cost. The kind of work comes from the source's
// category. Without one, it comes from the kernels, from XLA's name (loop_add_fusion, copy.3) and
// from the primitive at the end of the op_name. A name alone does not identify the opcode, because
// JAX names instructions after primitives: `reduce_sum.5` may be an `add`.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_CORRELATOR_ANNOTATED_ROWS_H_
#define XLATRACE_CORRELATOR_ANNOTATED_ROWS_H_

#include <string_view>

#include "correlator/annotated_modules.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// The caller sets module_id.
model::InstructionRow RowOf(const model::RunTables& run, const AnnotatedInstruction& instruction);

// Kind of work by XLA's name: `input_reduce_fusion.2` is a reduction. kOther: the name does not
// identify the kind.
model::OpKind KindOfName(std::string_view instruction);
// By XProf's category text.
model::OpKind KindOfCategory(std::string_view category);
// By the primitive of JAX or the op of TensorFlow at the end of an op_name.
model::OpKind KindOfOpName(std::string_view op_name);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ANNOTATED_ROWS_H_
