// SPDX-License-Identifier: Apache-2.0

// Phases and layers of the ops that TensorFlow ran itself, outside any XLA module.
//
// These ops belong to no program, so their phase follows from their names (analysis/phase.h).
// TensorFlow's prefixes and suffixes from inlining functions and rewriting graphs are removed
// first. An op without scope is a sum of gradients (AddN), or an op of the model if the tape has
// its gradient. All other ops without scope (metrics, counters, input) have phase `other`.

#ifndef XLATRACE_ANALYSIS_FRAMEWORK_OP_LABELS_H_
#define XLATRACE_ANALYSIS_FRAMEWORK_OP_LABELS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "model/derived.h"

namespace xlatrace::analysis {

// The name that the model's code gave the op. Calls that inlining added, marks of Grappler and
// numbers of replicas are removed. `StatefulPartitionedCall/replica_1/dense/MatMul` gives
// dense/MatMul, `ConstantFolding/a/mul-matshapes-0` gives a/mul,
// `a/ArithmeticOptimizer/ReorderCastLikeAndValuePreserving_float_Cast_1` gives a/Cast_1.
std::string NameInModel(std::string_view op_name);

// Fills phase, layer and layer_group of the rows from `first_row` on. All of them are such ops.
void LabelFrameworkOps(model::AttributionTables& attribution, size_t first_row);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_FRAMEWORK_OP_LABELS_H_
