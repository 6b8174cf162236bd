// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/program/launch_kind.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/text.h"
#include "correlator/kernel_symbols.h"

namespace xlatrace::correlator {
namespace {

using model::ActivityKind;
using model::CopyKind;

// In lower case, because libraries spell AllGather, all_gather and Broadcast differently.
bool HoldsAny(std::string_view text, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

constexpr auto kGemmParts = std::to_array<std::string_view>(
    {"splitkreduce", "makebatchpointers", "postgsu", "_mb_", "reduce_splitk", "gsu_"});

constexpr auto kConvolutionWords = std::to_array<std::string_view>(
    {"cudnn", "nchwtonhwc", "nhwctonchw", "implicit_convolve", "winograd", "fprop", "dgrad",
     "wgrad", "conv", "im2col", "im3d2col", "im2d2col", "miopen", "xdlops_conv", "igemm"});

constexpr auto kOtherLibraryWords = std::to_array<std::string_view>({"cub::",
                                                                     "n3cub",
                                                                     "cufft",
                                                                     "vector_fft",
                                                                     "regular_fft",
                                                                     "rocprim",
                                                                     "cusolver",
                                                                     "cusparse",
                                                                     "fmha",
                                                                     "flash",
                                                                     "sdpa",
                                                                     "topk",
                                                                     "trsm",
                                                                     "trsv",
                                                                     "potrf",
                                                                     "potf2",
                                                                     "getrf",
                                                                     "getf2",
                                                                     "geqrf",
                                                                     "syevd",
                                                                     "gesvd",
                                                                     "fft_rtc",
                                                                     "transformer_engine"});

LaunchKind OfKernel(const model::LaunchConfig& config) {
  const std::string_view symbol = config.symbol;
  if (symbol.starts_with("set_") && symbol.ends_with("_condition")) return LaunchKind::kPredicate;
  if (symbol.starts_with("__amd_rocclr_fill")) return LaunchKind::kMemset;
  if (symbol.starts_with("__amd_rocclr_")) return LaunchKind::kDeviceCopy;
  if (LibraryOf(symbol) == LibraryKind::kTopK && symbol.find("stream_executor") != symbol.npos) {
    return LaunchKind::kLibrary;
  }
  const SymbolFamily family = FamilyOf(symbol);
  if (family == SymbolFamily::kAutotune) return LaunchKind::kAutotuning;
  if (family == SymbolFamily::kFramework) return LaunchKind::kFramework;
  const std::string lower = Lower(symbol);
  static constexpr auto kCommunication = std::to_array<std::string_view>(
      {"nccl", "rccl", "allreducekernelimpl", "raggedalltoallkernel", "multigpubarrier"});
  if (HoldsAny(lower, kCommunication)) return LaunchKind::kCollective;
  if (HoldsAny(lower, kGemmParts) && family != SymbolFamily::kXla) return LaunchKind::kGemmPart;
  if (lower.find("makebatchpointers") != std::string::npos) return LaunchKind::kGemmPart;
  if (family == SymbolFamily::kXla) return LaunchKind::kXlaKernel;
  if (HoldsAny(lower, kOtherLibraryWords)) return LaunchKind::kLibrary;
  if (HoldsAny(lower, kConvolutionWords)) return LaunchKind::kConvolution;
  if (family == SymbolFamily::kLibrary) return LaunchKind::kGemm;
  static constexpr auto kGemmWords =
      std::to_array<std::string_view>({"gemm", "gemv", "matmul", "cijk_", "nvjet"});
  return HoldsAny(lower, kGemmWords) ? LaunchKind::kGemm : LaunchKind::kOtherKernel;
}

}  // namespace

LaunchKind LaunchKindOf(const model::LaunchConfig& config) {
  switch (config.kind) {
    case ActivityKind::kKernel:
      return OfKernel(config);
    case ActivityKind::kMemcpy:
      return config.copy_kind == CopyKind::kHostToDevice ||
                     config.copy_kind == CopyKind::kDeviceToHost
                 ? LaunchKind::kHostCopy
                 : LaunchKind::kDeviceCopy;
    case ActivityKind::kMemset:
      return LaunchKind::kMemset;
    case ActivityKind::kGraph:
      return LaunchKind::kGraph;
    case ActivityKind::kOp:
    case ActivityKind::kRange:
      break;
  }
  return LaunchKind::kOther;
}

CollectiveKind CollectiveOfSymbol(std::string_view symbol) {
  const std::string lower = Lower(symbol);
  const auto holds = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (holds("allreduce")) return CollectiveKind::kAllReduce;
  if (holds("allgather")) return CollectiveKind::kAllGather;
  if (holds("reducescatter")) return CollectiveKind::kReduceScatter;
  if (holds("sendrecv") || holds("alltoall")) return CollectiveKind::kSendRecv;
  if (holds("broadcast")) return CollectiveKind::kBroadcast;
  return CollectiveKind::kAny;
}

LibraryKind LibraryOf(std::string_view name) {
  const std::string lower = Lower(name);
  const auto holds = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (holds("fft")) return LibraryKind::kFft;
  // XLA's own kernel for it is a function template with the name Run
  // (topk_kernel_cuda_common.cu.h).
  const bool xlas = holds("stream_executor") && (holds("cuda3run") || holds("cuda::run<"));
  if (holds("topk") || xlas) return LibraryKind::kTopK;
  if (holds("trsm") || holds("trsv") || holds("triangular")) return LibraryKind::kTriangularSolve;
  static constexpr auto kFactorizations =
      std::to_array<std::string_view>({"potrf", "potf2", "cholesky", "getrf", "getf2", "geqrf",
                                       "orgqr", "syevd", "gesvd", "heevd"});
  if (HoldsAny(lower, kFactorizations)) return LibraryKind::kFactorization;
  if (holds("sort") || holds("onesweep")) return LibraryKind::kSort;
  if (holds("scan")) return LibraryKind::kScan;
  return LibraryKind::kAny;
}

CollectiveKind CollectiveOfOpcode(std::string_view opcode) {
  std::string plain;
  for (const char c : Lower(opcode)) {
    if (c != '-') plain += c;
  }
  const auto holds = [&](std::string_view part) { return plain.find(part) != std::string::npos; };
  if (holds("allreduce")) return CollectiveKind::kAllReduce;
  if (holds("allgather")) return CollectiveKind::kAllGather;
  if (holds("reducescatter")) return CollectiveKind::kReduceScatter;
  if (holds("alltoall") || holds("permute") || holds("send") || holds("recv")) {
    return CollectiveKind::kSendRecv;
  }
  if (holds("broadcast")) return CollectiveKind::kBroadcast;
  return CollectiveKind::kAny;
}

bool IsCollective(std::string_view opcode) {
  if (opcode.ends_with("-done")) return false;
  for (const std::string_view prefix :
       {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all",
        "collective-permute", "collective-broadcast", "send", "recv"}) {
    if (opcode.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace xlatrace::correlator
