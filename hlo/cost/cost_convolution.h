// SPDX-License-Identifier: Apache-2.0

// Floating point operations of a convolution, windows and their sizes.
//
// A multiply-add counts two. A pair of kernel and output position counts only if it meets an
// element of the input. Padding and the holes of a dilated input do not count. Source of the
// definition: GetConvolutionFlops in xla/service/hlo_cost_analysis.cc. The algorithm has no loop
// over pairs.

#ifndef XLATRACE_HLO_COST_COST_CONVOLUTION_H_
#define XLATRACE_HLO_COST_COST_CONVOLUTION_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// One dimension of a window, as model::OpDetails::window holds it.
struct WindowDim {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t window_dilation = 1;
  int64_t base_dilation = 1;
};

size_t WindowRank(const model::HloModule& module, const model::Instruction& instruction);
WindowDim WindowDimAt(const model::HloModule& module, const model::Instruction& instruction,
                      size_t dim);
// Product of the sizes; 1 without a window.
double WindowElements(const model::HloModule& module, const model::Instruction& instruction);

// Number of pairs (k, o) with 0 <= k < kernel, 0 <= o < output whose input position is valid:
// (o * stride - padding_low + k * window_dilation) / base_dilation is a whole number in [0, input).
// Empty if numbers are invalid, or if the count would take too long.
std::optional<double> ValidPairs(int64_t input, int64_t kernel, int64_t output,
                                 const WindowDim& window);

// `result` is the shape of the result alone. Empty if dimension numbers are missing or do not fit
// the shapes. Dimensions that dim_labels do not name (vectorised int8x4 forms) are ignored, as
// upstream does.
std::optional<double> ConvolutionFlops(const model::HloModule& module,
                                       const model::Instruction& convolution,
                                       std::string_view result);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_COST_CONVOLUTION_H_
