// What kind of work an instruction does, in our closed vocabulary and in XProf's.
//
// Fusions are judged by their hero: the heaviest kind of work inside (dot before convolution before
// reduction before scatter/gather before transpose before elementwise). Custom calls are judged by
// their target, Triton and cuDNN fusions by the kind in their backend_config.
//
// Sources: xla/service/gpu/cublas_cudnn.h (targets), xprof's hlo categories
// (tensorflow/core/profiler: HloInstruction::ToCategory in xla/hlo/ir/hlo_instruction.cc).
// Thread-safety: pure functions of an immutable module.

#ifndef XLATRACE_HLO_OP_CATEGORY_H_
#define XLATRACE_HLO_OP_CATEGORY_H_

#include <string>

#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::hlo {

model::OpKind KindOf(const model::HloModule& module, const model::Instruction& instruction);

// XProf's HLO category text: "loop fusion", "convolution fusion", "custom-call", "all-reduce",
// "data formatting". Never empty.
std::string CategoryOf(const model::HloModule& module, const model::Instruction& instruction);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_OP_CATEGORY_H_
