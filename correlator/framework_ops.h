// SPDX-License-Identifier: Apache-2.0

// The ops that a framework itself ran, outside any XLA module, as rows after the instructions.
//
// TensorFlow names each op of a graph while it runs (`dense_0/MatMul:MatMul`); kernels launched
// meanwhile belong to the op. A run has one row per name and type, for all processes and devices.
// The name of a row omits the calls from which it was inlined, if this still identifies one op.

#ifndef XLATRACE_CORRELATOR_FRAMEWORK_OPS_H_
#define XLATRACE_CORRELATOR_FRAMEWORK_OPS_H_

#include <string>
#include <string_view>
#include <unordered_map>

#include "correlator/collective_ops.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

class FrameworkOps {
 public:
  // Adds the rows of all ops in hints of activities and in `collectives`. `run` must outlive this.
  FrameworkOps(const model::RunTables& run, const CollectiveOps& collectives,
               model::AttributionTables* out);

  // instruction_id of the row of the hint's op; 0: the hint names no op.
  model::Id RowOf(const model::Hint& hint) const;

 private:
  // Ops with equal name and type share a row.
  using Rows = std::unordered_map<std::string, model::Id>;
  void Add(const model::Hint& hint, Rows* by_name, model::AttributionTables* out);

  std::unordered_map<const model::Hint*, model::Id> rows_;
};

// Kind of work of an op, by its type: MatMul is gemm.
model::OpKind KindOfOpType(std::string_view op_type);

// `StatefulPartitionedCall_1/dense/MatMul` without the leading calls: dense/MatMul.
std::string_view WithoutCalls(std::string_view op_name);

// True if the op only calls a function or an XLA program. Its work may be identified further.
bool IsCall(const model::Hint& hint);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_FRAMEWORK_OPS_H_
