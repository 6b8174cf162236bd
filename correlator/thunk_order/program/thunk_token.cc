// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/program/thunk_token.h"

namespace xlatrace::correlator {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool IsMarkForPasses(std::string_view target) {
  for (const std::string_view mark :
       {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
        "AllocateBuffer", "LayoutConstraint", "MoveToHost", "MoveToDevice", "X64Combine",
        "X64SplitLow", "X64SplitHigh", "AssumeGatherIndicesInBound"}) {
    if (target == mark) return true;
  }
  return false;
}

ThunkKind ThunkKindOfCustomCall(std::string_view target) {
  if (Has(target, "triangular")) return ThunkKind::kLibrary;  // "__cublas$triangularSolve"
  if (Has(target, "cublas") || Has(target, "matmul") || Has(target, "gemm")) {
    return ThunkKind::kGemm;
  }
  if (Has(target, "conv")) return ThunkKind::kConvolution;
  for (const std::string_view library : {"cudnn", "fmha", "cub", "cusolver", "fft", "norm", "TopK",
                                         "cholesky", "triangular", "getrf", "geqrf", "syevd"}) {
    if (Has(target, library)) return ThunkKind::kLibrary;
  }
  return ThunkKind::kAnything;
}

bool IsContainerThunk(std::string_view kind) {
  for (const std::string_view container :
       {"kWhile", "kConditional", "kSequential", "kCommandBuffer", "kAsyncStart", "kAsyncDone",
        "kWaitForStreams", "kHostExecuteStart", "kHostExecuteDone", "kDynamicSlice",
        "kDynamicSliceFusion", "kAddressComputation", "kEvent", "kNop"}) {
    if (kind == container) return true;
  }
  return kind.ends_with("Done");
}

ThunkKind ThunkKindOf(std::string_view kind) {
  if (kind == "kGemm" || Has(kind, "Matmul")) return ThunkKind::kGemm;
  if (Has(kind, "Convolution")) return ThunkKind::kConvolution;
  if (Has(kind, "Copy") || Has(kind, "Memcpy")) return ThunkKind::kCopy;
  if (Has(kind, "Mem") || kind == "kPartitionId" || kind == "kReplicaId") {
    return ThunkKind::kMemset;
  }
  for (const std::string_view collective :
       {"AllReduce", "AllGather", "ReduceScatter", "AllToAll", "Permute", "CollectiveBroadcast",
        "kSend", "kRecv", "Nccl", "kCollective", "kGroup"}) {
    if (Has(kind, collective)) return ThunkKind::kCollective;
  }
  for (const std::string_view library :
       {"kFft", "Cholesky", "Triangular", "Cub", "Norm", "CuDnn", "Cudnn", "Attention", "Sort"}) {
    if (Has(kind, library)) return ThunkKind::kLibrary;
  }
  return ThunkKind::kAnything;
}

}  // namespace xlatrace::correlator
