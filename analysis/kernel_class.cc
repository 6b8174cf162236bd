// SPDX-License-Identifier: Apache-2.0
#include "analysis/kernel_class.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/text.h"

namespace xlatrace::analysis {

std::string_view Text(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kProduct:
      return "matrix products";
    case KernelClass::kAttention:
      return "fused attention";
    case KernelClass::kConvolution:
      return "convolutions";
    case KernelClass::kCollective:
      return "collectives";
    case KernelClass::kNorm:
      return "norms, softmax";
    case KernelClass::kElementwise:
      return "elementwise";
    case KernelClass::kEmbedding:
      return "embeddings";
    case KernelClass::kSort:
      return "sorting";
    case KernelClass::kOther:
      break;
  }
  return "other kernels";
}

KernelClass KernelClassOf(std::string_view kernel) {
  const std::string name = Lower(kernel);
  // The particular before the general: a fused attention kernel is a cutlass kernel, too.
  if (HasAny(name, {"nccl", "rccl", "all_reduce", "allreduce", "all_gather", "allgather",
                    "reduce_scatter", "reducescatter", "alltoall", "all_to_all"})) {
    return KernelClass::kCollective;
  }
  // Part of attention but not attention itself: rotating queries and keys by their positions, and
  // writing them into a cache ("reshape_and_cache_flash_kernel" of vLLM).
  if (HasAny(name, {"rotary", "and_cache"})) return KernelClass::kElementwise;
  if (HasAny(name, {"flash", "fmha", "attention", "attn"})) return KernelClass::kAttention;
  if (HasAny(name, {"embedding"})) return KernelClass::kEmbedding;
  if (HasAny(name, {"fprop", "dgrad", "wgrad", "conv2d", "conv3d", "convolve", "scudnn", "winograd",
                    "im2col", "im3d2col", "fft2d"})) {
    return KernelClass::kConvolution;
  }
  // Batch normalisation of cuDNN ("cudnn::bn_fw_tr_1C11_kernel_NCHW") and of MIOpen.
  if (HasAny(name, {"layer_norm", "layernorm", "rms_norm", "rmsnorm", "batch_norm", "batchnorm",
                    "bn_fw_", "bn_bw_", "softmax", "group_norm"})) {
    return KernelClass::kNorm;
  }
  if (HasAny(name, {"gemm", "nvjet", "cutlass", "cijk_", "xmma", "bmm_", "gemv", "dot_kernel",
                    "splitkreduce", "matmul"})) {
    return KernelClass::kProduct;
  }
  if (HasAny(name, {"sort", "scan_by_key"})) return KernelClass::kSort;
  if (HasAny(name, {"elementwise", "catarray", "copy", "transpose", "fill", "convert", "dropout",
                    "activation", "silu", "gelu", "reduce_kernel", "quant"})) {
    return KernelClass::kElementwise;
  }
  return KernelClass::kOther;
}

bool IsCudaCoreProduct(std::string_view kernel) {
  const std::string name = Lower(kernel);
  if (HasAny(name, {"tf32", "tensorop"})) return false;
  return HasAny(name, {"sgemm", "_ffma_", "scudnn", "simt_s"});
}

std::string ShortKernelName(std::string_view name) {
  constexpr size_t kMaxColumns = 40;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (const size_t at = name.find(kAnonymous); at != name.npos && at < name.find('<')) {
    name.remove_prefix(at + kAnonymous.size());
  }
  name = name.substr(0, name.find_first_of("<("));
  const size_t colon = name.rfind(':');
  if (colon != name.npos) name = name.substr(colon + 1);
  if (name.size() <= kMaxColumns) return std::string(name);
  return std::string(name.substr(0, kMaxColumns - 2)) + "..";
}

}  // namespace xlatrace::analysis
