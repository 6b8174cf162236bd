// SPDX-License-Identifier: Apache-2.0
#include "analysis/kernel_math.h"

namespace xlatrace::analysis {
namespace {

template <size_t n>
bool HasAny(std::string_view text, const std::string_view (&parts)[n]) {
  for (const std::string_view part : parts) {
    if (text.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

KernelMath MathOfKernel(std::string_view symbol) {
  constexpr std::string_view kVector[] = {"ffma",   "simt",   "sgemm", "scudnn",
                                          "gemmk1", "gcgemm", "gemv"};
  constexpr std::string_view kTensor[] = {
      "tensorop", "wmma", "s16816", "s161616",  "s1688",    "h16816",    "h1688",     "i16832",
      "i8816",    "hmma", "imma",   "gmma",     "nvjet",    "warpgroup", "bf16bf16",  "f16f16",
      "tf32",     "e4m3", "e5m2",   "_MI16x16", "_MI32x32", "fmha",      "flash_fwd", "flash_bwd"};
  if (HasAny(symbol, kVector)) return KernelMath::kVectorUnits;
  return HasAny(symbol, kTensor) ? KernelMath::kTensorCores : KernelMath::kUnknown;
}

}  // namespace xlatrace::analysis
