// SPDX-License-Identifier: Apache-2.0
#include "correlator/kernel_symbols.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/text.h"

namespace xlatrace::correlator {
namespace {

bool IsSymbolChar(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

constexpr auto kAutotune = std::to_array<std::string_view>({
    "redzone_checker",
    "RedzoneAllocatorKernel",
    "DelayKernel",
    "RepeatBufferKernel",
    "xla_fp_comparison",
    "xla_int_comparison",
    "xla_fp8_comparison",
    "BufferComparator",
});

// NCCL and RCCL, cuBLAS and cuBLASLt, cuDNN, CUB, cuFFT, hipBLASLt (Tensile), rocBLAS, MIOpen, CK.
constexpr auto kLibrary = std::to_array<std::string_view>({
    "ncclKernel",
    "ncclDevKernel",
    "ncclSymDevKernel",
    "ncclSymkDevKernel",
    "rcclKernel",
    "_xmma_",
    "xmma_gemm",
    "cutlass",
    "nvjet_",
    "gemv",
    "splitKreduce",
    "gemmk1_kernel",
    "cublas",
    "sgemm_largek",
    "cudnn",
    "nchwToNhwc",
    "nhwcToNchw",
    "implicit_convolve",
    "winograd",
    "fmhaSm",
    "fmha_",
    "cub::",
    "N3cub",
    "cufft",
    "vector_fft",
    "Cijk_",
    "rocblas",
    "miopen",
    "hipblaslt",
    "rocprim",
    "rocfft",
    "fft_rtc_",
    " ck::",
    "_ZN2ck",
    "ck_tile",
    "cusparse",
    "cusolver",
    "transformer_engine",
    "naive_conv_",
    "tensorrt",
});

// cuBLAS and cuDNN name older kernels after the architecture (`ampere_sgemm_128x64_nn`).
constexpr auto kArchitectures = std::to_array<std::string_view>({
    "maxwell_",
    "pascal_",
    "volta_",
    "turing_",
    "ampere_",
    "hopper_",
    "blackwell_",
});

constexpr auto kFramework = std::to_array<std::string_view>({
    "at::native",
    "N2at6native",
    "at6native",
    "c10::",
    "tensorflow::",
    "N10tensorflow",
    "10tensorflow",
    "Eigen::internal",
    "N5Eigen8internal",
});

// XLA's own run-time helpers (command_buffer_kernels.cc, all_reduce_kernel, buffer debugging).
constexpr auto kXlaHelpers = std::to_array<std::string_view>({
    "set_while_condition",
    "set_case_condition",
    "set_if_condition",
    "MakeBatchPointers",
    "AllReduceKernelImpl",
    "MultiGpuBarrierKernel",
    "RaggedAllToAllKernel",
    "AppendChecksum",
    "stream_executor::",
    "15stream_executor",
});

// Instruction names of the emitters before 2024 that have separate kernels.
constexpr auto kXlaStems = std::to_array<std::string_view>({
    "fusion",
    "sort",
    "copy",
    "reduce",
    "reduce_window",
    "broadcast",
    "convert",
    "transpose",
    "concatenate",
    "iota",
    "scatter",
    "select_and_scatter",
    "dynamic_update_slice",
    "dynamic_slice",
    "slice",
    "pad",
    "rng_get_and_update_state",
    "rng_bit_generator",
    "custom_call",
    "gather",
    "command_buffer",
    "reverse",
    "triton_softmax",
    "copy_fusion",
});

bool HoldsAny(std::string_view symbol, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return symbol.find(part) != std::string_view::npos;
  });
}

// Suffixes "_12" and "__3" of XLA's name uniquers are removed.
std::string_view Stem(std::string_view symbol) {
  symbol = WithoutUniqueTail(symbol);
  size_t end = symbol.size();
  while (end > 0 && (IsDigit(symbol[end - 1]) || symbol[end - 1] == '_')) --end;
  return symbol.substr(0, end);
}

bool LooksLikeXla(std::string_view symbol) {
  if (!std::all_of(symbol.begin(), symbol.end(), IsSymbolChar)) return false;
  for (const std::string_view prefix : {"wrapped_", "gemm_fusion_", "triton_gemm_"}) {
    if (symbol.starts_with(prefix)) return true;
  }
  const std::string_view stem = Stem(symbol);
  if (std::find(kXlaStems.begin(), kXlaStems.end(), stem) != kXlaStems.end()) return true;
  return stem.ends_with("_fusion");
}

}  // namespace

std::string SymbolOfInstruction(std::string_view instruction) {
  if (instruction.empty()) return "__unnamed";
  std::string symbol;
  symbol.reserve(instruction.size() + 1);
  if (IsDigit(instruction.front())) symbol += '_';
  for (const char c : instruction) symbol += IsSymbolChar(c) ? c : '_';
  if (symbol == "_" || symbol == "$") symbol += '_';
  return symbol;
}

std::string_view PlainSymbol(std::string_view symbol) {
  if (symbol.ends_with(".kd")) symbol.remove_suffix(3);
  return symbol;
}

std::string_view WithoutUniqueTail(std::string_view symbol) {
  size_t end = symbol.size();
  while (end > 0 && IsDigit(symbol[end - 1])) --end;
  if (end == symbol.size() || end < 3) return symbol;
  if (symbol[end - 1] != '_' || symbol[end - 2] != '_') return symbol;
  return symbol.substr(0, end - 2);
}

SymbolFamily FamilyOf(std::string_view symbol) {
  symbol = PlainSymbol(symbol);
  if (symbol.starts_with("__amd_rocclr_")) return SymbolFamily::kTransfer;
  if (HoldsAny(symbol, kAutotune)) return SymbolFamily::kAutotune;
  // First, because the name of an XLA fusion can contain a library's word (`loop_gemv_fusion`).
  if (LooksLikeXla(symbol) || HoldsAny(symbol, kXlaHelpers)) return SymbolFamily::kXla;
  if (HoldsAny(symbol, kFramework)) return SymbolFamily::kFramework;
  const bool architecture =
      std::any_of(kArchitectures.begin(), kArchitectures.end(),
                  [&](std::string_view prefix) { return symbol.starts_with(prefix); });
  if (architecture || HoldsAny(symbol, kLibrary)) return SymbolFamily::kLibrary;
  return SymbolFamily::kOther;
}

}  // namespace xlatrace::correlator
