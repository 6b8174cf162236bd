// SPDX-License-Identifier: Apache-2.0
#include "hlo/cost/cost_convolution.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "hlo/shape.h"

namespace xlatrace::hlo {

using model::HloModule;
using model::Instruction;
using model::OpDetails;

namespace {

constexpr size_t kWindowFieldCount = 7;
// Larger numbers are damage. Up to these, nothing overflows 128 bits and counting is quick.
constexpr int64_t kMaxNumber = int64_t{1} << 40;
constexpr int64_t kMaxSteps = int64_t{1} << 24;

using Wide = __int128;

Wide FloorDivide(Wide a, Wide b) {  // b > 0.
  const Wide quotient = a / b;
  return a % b != 0 && a < 0 ? quotient - 1 : quotient;
}

// Some x with a * x = 1 modulo `modulus`; the two share no factor.
Wide Inverse(Wide a, Wide modulus) {
  Wide r0 = modulus;
  Wide r1 = a % modulus;
  Wide x0 = 0;
  Wide x1 = 1;
  while (r1 != 0) {
    const Wide quotient = r0 / r1;
    std::swap(r0, r1);
    r1 -= quotient * r0;
    std::swap(x0, x1);
    x1 -= quotient * x0;
  }
  return ((x0 % modulus) + modulus) % modulus;
}

std::optional<int64_t> DimAt(const ArrayShape& shape, int64_t dim) {
  if (dim < 0 || static_cast<uint64_t>(dim) >= shape.dims.size()) return std::nullopt;
  return shape.dims[static_cast<size_t>(dim)];
}

}  // namespace

size_t WindowRank(const HloModule& module, const Instruction& instruction) {
  return module.DetailsOf(instruction).window.size / kWindowFieldCount;
}

WindowDim WindowDimAt(const HloModule& module, const Instruction& instruction, size_t dim) {
  const std::span<const int64_t> all = module.Dims(module.DetailsOf(instruction).window);
  const std::span<const int64_t> w = all.subspan(dim * kWindowFieldCount, kWindowFieldCount);
  return {w[0], w[1], w[2], w[3], w[4], w[5]};
}

double WindowElements(const HloModule& module, const Instruction& instruction) {
  double product = 1;
  for (size_t d = 0; d < WindowRank(module, instruction); ++d) {
    product *= static_cast<double>(WindowDimAt(module, instruction, d).size);
  }
  return product;
}

std::optional<double> ValidPairs(int64_t input, int64_t kernel, int64_t output,
                                 const WindowDim& window) {
  for (const int64_t number : {input, kernel, output, window.stride, window.padding_low,
                               window.window_dilation, window.base_dilation}) {
    if (number > kMaxNumber || number < -kMaxNumber) return std::nullopt;
  }
  if (window.stride < 1 || window.window_dilation < 1 || window.base_dilation < 1) {
    return std::nullopt;
  }
  if (input <= 0 || kernel <= 0 || output <= 0) return 0;
  // Kernel and output have symmetric roles: walk the shorter, solve for the longer.
  Wide walk_step = window.window_dilation;
  Wide solve_step = window.stride;
  int64_t walk_count = kernel;
  Wide solve_count = output;
  if (kernel > output) {
    std::swap(walk_step, solve_step);
    walk_count = output;
    solve_count = kernel;
  }
  if (walk_count > kMaxSteps) return std::nullopt;
  const Wide base = window.base_dilation;
  const Wide common = std::gcd(static_cast<int64_t>(solve_step), window.base_dilation);
  const Wide modulus = base / common;
  const Wide inverse = modulus == 1 ? 0 : Inverse(solve_step / common, modulus);
  const Wide last = static_cast<Wide>(input - 1) * base;  // Last position outside of holes.
  Wide pairs = 0;
  for (int64_t at = 0; at < walk_count; ++at) {
    // Condition: offset + x * solve_step is a multiple of base in [0, last], 0 <= x < solve_count.
    const Wide offset = at * walk_step - window.padding_low;
    if (offset % common != 0) continue;
    const Wide low = std::max<Wide>(0, -FloorDivide(offset, solve_step));
    const Wide high = std::min<Wide>(solve_count - 1, FloorDivide(last - offset, solve_step));
    if (high < low) continue;
    const Wide target = ((-(offset / common) % modulus) + modulus) % modulus;
    const Wide residue = modulus == 1 ? 0 : target * inverse % modulus;
    // How many x in [low, high] leave that residue.
    pairs += FloorDivide(high - residue, modulus) - FloorDivide(low - 1 - residue, modulus);
  }
  return static_cast<double>(pairs);
}

std::optional<double> ConvolutionFlops(const HloModule& module, const Instruction& convolution,
                                       std::string_view result) {
  const OpDetails& details = module.DetailsOf(convolution);
  const std::span<const int64_t> dims = module.Dims(details.convolution_dims);
  const auto operands = module.Operands(convolution);
  if (operands.size() < 2 || dims.size() < 6) return std::nullopt;
  const ArrayShape lhs = FirstLeaf(module.instructions[operands[0]].shape);
  const ArrayShape rhs = FirstLeaf(module.instructions[operands[1]].shape);
  const ArrayShape out = FirstLeaf(result);
  const std::optional<int64_t> batch = DimAt(lhs, dims[0]);
  const std::optional<int64_t> input_feature = DimAt(lhs, dims[1]);
  const std::optional<int64_t> output_feature = DimAt(out, dims[5]);
  if (!batch || !input_feature || !output_feature) return std::nullopt;
  if (details.feature_group_count < 1 || details.batch_group_count < 1) return std::nullopt;
  const size_t rank = (dims.size() - 6) / 3;
  const size_t window_rank = WindowRank(module, convolution);
  if (window_rank > rank) return std::nullopt;
  double pairs = 1;
  for (size_t d = 0; d < window_rank; ++d) {
    const std::optional<int64_t> input = DimAt(lhs, dims[6 + d]);
    const std::optional<int64_t> kernel = DimAt(rhs, dims[6 + rank + d]);
    const std::optional<int64_t> output = DimAt(out, dims[6 + 2 * rank + d]);
    if (!input || !kernel || !output) return std::nullopt;
    const std::optional<double> valid =
        ValidPairs(*input, *kernel, *output, WindowDimAt(module, convolution, d));
    if (!valid) return std::nullopt;
    pairs *= *valid;
  }
  return 2 * static_cast<double>(*input_feature / details.feature_group_count) *
         static_cast<double>(*output_feature) *
         static_cast<double>(*batch / details.batch_group_count) * pairs;
}

}  // namespace xlatrace::hlo
