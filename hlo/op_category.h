// SPDX-License-Identifier: Apache-2.0

// Kind of work of an instruction, in our closed vocabulary and in XProf's.
//
// A fusion has the kind of its hero, the heaviest kind of work inside. The order is dot,
// convolution, reduction, scatter/gather, transpose, elementwise. Custom calls have the kind of
// their target, Triton and cuDNN fusions the kind in their backend_config.
//
// Sources: xla/service/gpu/cublas_cudnn.h (targets), xprof's hlo categories
// (tensorflow/core/profiler: HloInstruction::ToCategory in xla/hlo/ir/hlo_instruction.cc).
// Thread-safety: the functions are pure functions of an immutable module; an OpKinds is one
// thread's.

#ifndef XLATRACE_HLO_OP_CATEGORY_H_
#define XLATRACE_HLO_OP_CATEGORY_H_

#include <memory>
#include <string>

#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::hlo {

model::OpKind KindOf(const model::HloModule& module, const model::Instruction& instruction);

// XProf's HLO category text: "loop fusion", "convolution fusion", "custom-call", "all-reduce",
// "data formatting". Never empty.
std::string CategoryOf(const model::HloModule& module, const model::Instruction& instruction);

// Kinds of many instructions of a module, which must outlive this object. A computation that
// several fusions call is read once.
class OpKinds {
 public:
  explicit OpKinds(const model::HloModule& module);
  ~OpKinds();
  OpKinds(const OpKinds&) = delete;
  OpKinds& operator=(const OpKinds&) = delete;

  model::OpKind KindOf(const model::Instruction& instruction);
  std::string CategoryOf(const model::Instruction& instruction);

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_OP_CATEGORY_H_
