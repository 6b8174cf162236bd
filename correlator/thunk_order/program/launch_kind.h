// SPDX-License-Identifier: Apache-2.0

// What an activity can be of, as far as its launch configuration tells.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_KIND_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_KIND_H_

#include <cstdint>
#include <string_view>

#include "model/events.h"

namespace xlatrace::correlator {

enum class LaunchKind : uint8_t {
  kXlaKernel,  // Looks like a kernel that XLA generated.
  kGemm,       // A library's matrix product.
  kGemmPart,   // A kernel that only comes with one: split reduction, pointer arrays.
  kConvolution,
  kLibrary,  // Another library's kernel: FFT, sort, solver, attention.
  kCollective,
  kOtherKernel,  // Unknown: a user's own (Triton, pallas, FFI), or a library's unknown one.
  kDeviceCopy,
  kHostCopy,   // Between host and device.
  kPredicate,  // Reads in a CUDA graph what a loop or branch depends on.
  kMemset,
  kGraph,
  kAutotuning,  // Checks around candidates.
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

// What a library's call is for; where both sides know, it tells calls that share a window apart.
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

// Of a communication library's kernel; kAny where its name does not tell.
CollectiveKind CollectiveOfSymbol(std::string_view symbol);
// Of a library's kernel, the target of a custom call, an opcode, or a thunk's kind.
LibraryKind LibraryOf(std::string_view name);
// Of an HLO opcode ("all-gather-start") or a thunk's kind ("kAllGather").
CollectiveKind CollectiveOfOpcode(std::string_view opcode);
// True for the opcodes of collectives, -done and async wrappers not included.
bool IsCollective(std::string_view opcode);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_LAUNCH_KIND_H_
