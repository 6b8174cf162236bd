// SPDX-License-Identifier: Apache-2.0

// What a kernel's symbol says: how XLA derives symbols from instruction names, and which symbols
// come from libraries, from frameworks, or from XLA's own helpers.
//
// Sources: xla/service/llvm_ir/llvm_util.cc (SanitizeFunctionName), xla/service/name_uniquer.cc,
// xla/stream_executor/gpu/redzone_allocator*.cc, xla/backends/gpu/transforms/rename_fusions.cc.

#ifndef XLATRACE_CORRELATOR_KERNEL_SYMBOLS_H_
#define XLATRACE_CORRELATOR_KERNEL_SYMBOLS_H_

#include <string>
#include <string_view>

namespace xlatrace::correlator {

// The symbol XLA gives to the first kernel of an instruction: `loop_add_fusion.3` ->
// `loop_add_fusion_3`.
std::string SymbolOfInstruction(std::string_view instruction);

// The symbol as the thunk list has it: without the `.kd` that AMD's runtime reports.
std::string_view PlainSymbol(std::string_view symbol);

// The first kernel's symbol of a later one of the same instruction: `sort_3` of `sort_3__2`.
// Unchanged when there is no such tail.
std::string_view WithoutUniqueTail(std::string_view symbol);

enum class SymbolFamily {
  kOther,      // Unknown: a user's own kernel, a kernel of PyTorch's compiler, ...
  kXla,        // Looks like a kernel that XLA generated, or one of its run-time helpers.
  kLibrary,    // cuBLAS, cuDNN, NCCL, CUB and AMD's counterparts.
  kFramework,  // Eager kernels of PyTorch or TensorFlow.
  kAutotune,   // XLA's checks around autotuning candidates.
  kTransfer,   // A copy or fill that the driver runs as a kernel (AMD).
};

SymbolFamily FamilyOf(std::string_view symbol);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_KERNEL_SYMBOLS_H_
