// SPDX-License-Identifier: Apache-2.0

// Information in a kernel's symbol: how XLA derives symbols from instruction names, and which
// symbols belong to libraries, to frameworks, or to XLA's own helpers.
//
// Sources: xla/service/llvm_ir/llvm_util.cc (SanitizeFunctionName), xla/service/name_uniquer.cc,
// xla/stream_executor/gpu/redzone_allocator*.cc, xla/backends/gpu/transforms/rename_fusions.cc.

#ifndef XLATRACE_CORRELATOR_KERNEL_SYMBOLS_H_
#define XLATRACE_CORRELATOR_KERNEL_SYMBOLS_H_

#include <string>
#include <string_view>

namespace xlatrace::correlator {

// XLA's symbol for the first kernel of an instruction: `loop_add_fusion.3` -> `loop_add_fusion_3`.
std::string SymbolOfInstruction(std::string_view instruction);

// The symbol as in the thunk list: without the `.kd` of AMD's runtime.
std::string_view PlainSymbol(std::string_view symbol);

// For a later kernel of an instruction, the symbol of the first kernel: `sort_3` for `sort_3__2`.
// Unchanged without such a suffix.
std::string_view WithoutUniqueTail(std::string_view symbol);

enum class SymbolFamily {
  kOther,      // Unknown: a user's own kernel, a kernel of PyTorch's compiler, ...
  kXla,        // A kernel that XLA generated, or one of its run-time helpers.
  kLibrary,    // cuBLAS, cuDNN, NCCL, CUB and AMD's counterparts.
  kFramework,  // Eager kernels of PyTorch or TensorFlow.
  kAutotune,   // XLA's checks around autotuning candidates.
  kTransfer,   // A copy or fill that the driver runs as a kernel (AMD).
};

SymbolFamily FamilyOf(std::string_view symbol);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_KERNEL_SYMBOLS_H_
