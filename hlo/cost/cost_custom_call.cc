// SPDX-License-Identifier: Apache-2.0

// Library calls that XLA:GPU makes, by target: cuBLAS matrix products, cuDNN convolutions, and
// kernels with a cost estimate of their authors. The cuBLAS forms of AMD have the same names.
//
// Sources: xla/service/gpu/cublas_cudnn.h (targets), gpu_hlo_cost_analysis.cc (HandleCustomCall).

#include <array>

#include "hlo/backend_config.h"
#include "hlo/cost/cost_builder.h"
#include "hlo/cost/cost_convolution.h"
#include "hlo/cost/cost_shape.h"

namespace xlatrace::hlo {
namespace {

// Legacy "__cublas$gemm" is unknown upstream since 2026-05; recordings of all years have it.
constexpr std::array<std::string_view, 5> kMatmulTargets = {
    "__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8", "__cublas$lt$matmul$mx",
    "__cublas$lt$groupedMatmul"};

constexpr std::array<std::string_view, 5> kConvolutionTargets = {
    "__cudnn$convForward", "__cudnn$convBackwardInput", "__cudnn$convBackwardFilter",
    "__cudnn$convBiasActivationForward", "__cudnn$convForwardGraph"};

template <size_t n>
bool Contains(const std::array<std::string_view, n>& names, std::string_view name) {
  for (const std::string_view each : names) {
    if (each == name) return true;
  }
  return false;
}

}  // namespace

// `figures` must be unknown at the call.
void CostBuilder::GpuCustomCall(const Op& op, Figures& figures) const {
  const model::Instruction& call = op.instruction;
  // The result is (product, workspace); the workspace does not count as traffic.
  const std::string_view result = MainResult(op.shape);
  std::optional<double> flops;
  if (Contains(kMatmulTargets, call.custom_call_target)) {
    const auto contracted = JsonNumbers(call.backend_config, "lhs_contracting_dimensions");
    if (!contracted) return;
    const ArrayShape lhs = FirstLeaf(OperandShape(op, 0));
    double width = 1;
    for (const int64_t dim : *contracted) {
      if (dim >= 0 && static_cast<uint64_t>(dim) < lhs.dims.size()) {
        width *= static_cast<double>(lhs.dims[static_cast<size_t>(dim)]);
      }
    }
    flops = 2 * Elements(result) * width;
  } else if (Contains(kConvolutionTargets, call.custom_call_target)) {
    // For the backward passes upstream applies the forward formula to the operands as they are
    // printed, and so does this.
    flops = ConvolutionFlops(module_, call, result);
    if (!flops) return;
  } else {
    const auto flops_said = CostEstimate(call.backend_config, "flops");
    const auto bytes_said = CostEstimate(call.backend_config, "bytes_accessed");
    figures.flops_known = flops_said.has_value();
    figures.flops = static_cast<double>(flops_said.value_or(0));
    figures.bytes_known = bytes_said.has_value();
    figures.bytes = static_cast<double>(bytes_said.value_or(0));
    figures.unknown = flops_said && bytes_said ? 0 : 1;
    return;
  }
  const double output = LeafBytes(result);
  figures.bytes += output - figures.output_bytes;
  figures.output_bytes = output;
  figures.flops = *flops;
  figures.flops_known = figures.bytes_known = figures.output_known = true;
  figures.unknown = 0;
}

}  // namespace xlatrace::hlo
