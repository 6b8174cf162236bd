// SPDX-License-Identifier: Apache-2.0

// Kind of work of an activity, derived from its launch configuration.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_KIND_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_KIND_H_

#include <cstdint>
#include <string_view>

#include "model/events.h"

namespace xlatrace::correlator {

enum class LaunchKind : uint8_t {
  kXlaKernel,  // Looks like a kernel that XLA generated.
  kGemm,       // A library's matrix product.
  kGemmPart,   // A kernel that only accompanies a product: split reduction, pointer arrays.
  kConvolution,
  kLibrary,  // Another library's kernel: FFT, sort, solver, attention.
  kCollective,
  kOtherKernel,  // A user's own kernel (Triton, pallas, FFI), or an unknown kernel of a library.
  kDeviceCopy,
  kHostCopy,   // Between host and device.
  kPredicate,  // In a CUDA graph: reads the predicate of a loop or branch.
  kMemset,
  kGraph,
  kAutotuning,  // Checks of autotuning candidates.
  kFramework,   // Eager kernels.
  kOther,       // Ops of a CPU or TPU, ranges.
};

enum class CollectiveKind : uint8_t {
  kAny,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kSendRecv,  // all-to-all, collective-permute, send and recv.
  kBroadcast,
};

// Purpose of a library call. It distinguishes calls that share a window, if it is known for call
// and thunk.
enum class LibraryKind : uint8_t {
  kAny,
  kFft,
  kFactorization,    // Cholesky, LU, QR, eigenvalues.
  kTriangularSolve,  // Also a part of factorizations.
  kSort,
  kScan,
  kTopK,
};

LaunchKind LaunchKindOf(const model::LaunchConfig& config);

// For the kernel of a communication library; kAny if its name does not show it.
CollectiveKind CollectiveOfSymbol(std::string_view symbol);
// For a library's kernel, the target of a custom call, an opcode, or a thunk's kind.
LibraryKind LibraryOf(std::string_view name);
// For an HLO opcode ("all-gather-start") or a thunk's kind ("kAllGather").
CollectiveKind CollectiveOfOpcode(std::string_view opcode);
// True for the opcodes of collectives, without -done and async wrappers.
bool IsCollective(std::string_view opcode);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_KIND_H_
