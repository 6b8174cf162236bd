// SPDX-License-Identifier: Apache-2.0

// Where GpuHloCostAnalysis differs from HloCostAnalysis outside of fusions: clock cycles for
// elementwise operations, initial values of reductions, collectives by the ring algorithm.

#include <algorithm>
#include <cmath>

#include "hlo/cost/cost_builder.h"
#include "hlo/cost/cost_shape.h"

namespace xlatrace::hlo {

using model::Instruction;

namespace {

constexpr int64_t kDefaultCyclesPerElement = 3;
// A compare and a branch for each element. If a warp crosses the border of two operands, it
// executes both sides of the branch.
constexpr double kConcatenateCostFlops = 6;
constexpr double kDivergentConcatenateCostFlops = 400;
constexpr int64_t kWarpSize = 32;

}  // namespace

double CostBuilder::ElementwiseFlops(std::string_view opcode, std::string_view shape) const {
  std::optional<int64_t> cycles;
  if (model_.options_.cycles && !IsTuple(shape)) {
    cycles = model_.options_.cycles(opcode, FirstLeaf(shape).type);
  }
  return static_cast<double>(cycles.value_or(kDefaultCyclesPerElement)) * Elements(shape);
}

void CostBuilder::GpuElementwise(const Op& op, Figures& figures) const {
  figures.flops = ElementwiseFlops(op.opcode, op.shape);
}

void CostBuilder::GpuConcatenate(const Op& op, Figures& figures) const {
  const auto dimensions = module_.Dims(module_.DetailsOf(op.instruction).dimensions);
  const int64_t dim = dimensions.empty() ? 0 : dimensions[0];
  const ArrayShape first = FirstLeaf(OperandShape(op, 0));
  const bool divergent = dim > 0 && static_cast<uint64_t>(dim) < first.dims.size() &&
                         first.dims[static_cast<size_t>(dim)] % kWarpSize != 0;
  figures.flops =
      (divergent ? kDivergentConcatenateCostFlops : kConcatenateCostFlops) * Elements(op.shape);
}

// Each initial value is read once for each output.
void CostBuilder::GpuReduce(const Op& op, Figures& figures) {
  const size_t inputs = op.instruction.operands.size / 2;
  const double outputs = Elements(MainResult(op.shape));
  figures.bytes = figures.output_bytes;
  for (size_t i = 0; i < op.instruction.operands.size; ++i) {
    if (i >= inputs) {
      OperandBytes(op, i) = outputs * ShapeBytes(OperandShape(op, i));
      OperandUse(op, i) = outputs;
    }
    figures.bytes += OperandBytes(op, i);
  }
}

// all-reduce reads and writes all; of all-reduce-start only the result counts.
void CostBuilder::GpuAllReduce(const Op& op, Figures& figures) const {
  const auto callees = module_.CalledComputations(op.instruction);
  if (!callees.empty()) {
    const Instruction& root = module_.instructions[module_.computations[callees[0]].root];
    figures.flops = ElementwiseFlops(root.opcode, op.shape);
  } else {
    figures.flops_known = false;
    figures.unknown = 1;
  }
  figures.transferred = figures.output_bytes;
  if (op.opcode == "all-reduce-start") figures.bytes = figures.output_bytes;
}

void CostBuilder::GpuAllGather(const Op& op, std::string_view result, Figures& figures) const {
  const double ranks = Ranks(op.instruction);
  figures.transferred = LeafBytes(result);
  const double rank_bytes = std::floor(figures.transferred / ranks);
  figures.bytes = rank_bytes * (2 * ranks - 1) + rank_bytes * ranks;
}

void CostBuilder::GpuReduceScatter(const Op& op, Figures& figures) const {
  const double ranks = Ranks(op.instruction);
  figures.transferred = 0;
  for (size_t i = 0; i < op.instruction.operands.size; ++i) {
    figures.transferred += LeafBytes(OperandShape(op, i));
  }
  const double rank_bytes = std::floor(figures.transferred / ranks);
  figures.bytes = rank_bytes * ranks + rank_bytes * (2 * ranks - 1);
  const auto callees = module_.CalledComputations(op.instruction);
  if (callees.empty()) return;
  const Instruction& root = module_.instructions[module_.computations[callees[0]].root];
  figures.flops = ElementwiseFlops(root.opcode, op.shape);
}

// Devices that take part in the largest group (xla/service/collective_ops_utils.h: group modes).
double CostBuilder::Ranks(const Instruction& collective) const {
  const model::OpDetails& details = module_.DetailsOf(collective);
  const auto replicas = static_cast<double>(module_.replica_count);
  const auto partitions = static_cast<double>(module_.num_partitions);
  const auto group = static_cast<double>(details.largest_group);
  double ranks = group > 0 ? group : replicas;
  if (details.has_channel) {
    if (group <= 0) ranks = replicas * partitions;
    if (group > 0 && !details.use_global_device_ids) ranks = group * partitions;
  }
  return std::max(1.0, ranks);
}

}  // namespace xlatrace::hlo
