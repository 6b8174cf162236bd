// SPDX-License-Identifier: Apache-2.0

// The ops that a framework ran itself, outside any XLA module, as rows behind the instructions.
//
// TensorFlow names each op of a graph while it runs (`dense_0/MatMul:MatMul`); kernels launched
// meanwhile are the op's. A run has one row per name and type, whichever process or device ran it;
// what the row is called goes without the calls that it was inlined from, where that is one op.

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
  // Adds the rows of all ops that hints of activities name, and of `collectives`. `run` must
  // outlive this.
  FrameworkOps(const model::RunTables& run, const CollectiveOps& collectives,
               model::AttributionTables* out);

  // instruction_id of the row of this hint's op; 0: it names none.
  model::Id RowOf(const model::Hint& hint) const;

 private:
  // The same name and type is one row.
  using Rows = std::unordered_map<std::string, model::Id>;
  void Add(const model::Hint& hint, Rows* by_name, model::AttributionTables* out);

  std::unordered_map<const model::Hint*, model::Id> rows_;
};

// What kind of work an op does, by its type: MatMul is gemm.
model::OpKind KindOfOpType(std::string_view op_type);

// `StatefulPartitionedCall_1/dense/MatMul` without the calls in front: dense/MatMul.
std::string_view WithoutCalls(std::string_view op_name);

// The op only calls a function or an XLA program: what runs in it may be told apart further.
bool IsCall(const model::Hint& hint);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_FRAMEWORK_OPS_H_
