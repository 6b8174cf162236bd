// SPDX-License-Identifier: Apache-2.0

// TensorFlow's name of a running op: `dense_0/MatMul:MatMul`. It is in NVTX ranges of domain TSL,
// in the profiler's statistic `tf_op`, and in its annotations.
//
// Grammar (OpKernel::TraceString, tensorflow/core/framework/op_kernel.cc): the node's name, a
// colon, the type of the op, and optionally '#' with attributes. Names of nodes consist of letters,
// digits and _.-/>^ only. `Foo::Bar` and `module:XLA GPU module` are therefore not names of ops.
//
// Ownership: views into the text. Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_COMMON_OP_ANNOTATION_H_
#define XLATRACE_IMPORTERS_COMMON_OP_ANNOTATION_H_

#include <string_view>

namespace xlatrace::importers {

struct OpAnnotation {
  std::string_view name;  // Empty: the text is none.
  std::string_view type;
};

OpAnnotation ParseOpAnnotation(std::string_view text);

// The op communicates: threads of NCCL launch its kernels, outside of its range.
bool IsCollectiveType(std::string_view op_type);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_OP_ANNOTATION_H_
