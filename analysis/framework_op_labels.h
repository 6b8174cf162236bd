// SPDX-License-Identifier: Apache-2.0

// Phases and layers of the ops that TensorFlow ran itself, outside any XLA module.
//
// There is no program around them to look at, so their names decide (analysis/phase.h), less what
// TensorFlow puts around a name when it inlines functions and rewrites graphs. What has no scope is
// a sum of gradients (AddN), or an op of the model where the tape holds its gradient, else a
// metric, a counter or the input: other.

#ifndef XLATRACE_ANALYSIS_FRAMEWORK_OP_LABELS_H_
#define XLATRACE_ANALYSIS_FRAMEWORK_OP_LABELS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "model/derived.h"

namespace xlatrace::analysis {

// The name that the model's code gave the op: without the calls it was inlined from and without
// Grappler's marks and numbers of replicas. `StatefulPartitionedCall/replica_1/dense/MatMul` is
// dense/MatMul,
// `ConstantFolding/a/mul-matshapes-0` is a/mul,
// `a/ArithmeticOptimizer/ReorderCastLikeAndValuePreserving_float_Cast_1` is a/Cast_1.
std::string NameInModel(std::string_view op_name);

// Fills phase, layer and layer_group of the rows from `first_row` on, which are such ops.
void LabelFrameworkOps(model::AttributionTables& attribution, size_t first_row);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_FRAMEWORK_OP_LABELS_H_
