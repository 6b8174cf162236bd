// SPDX-License-Identifier: Apache-2.0

// HloCostAnalysis, one opcode at a time. The comments of upstream's handlers give the reasons; here
// are only the formulas.

#include <algorithm>
#include <bit>
#include <cmath>

#include "hlo/cost/cost_builder.h"
#include "hlo/cost/cost_convolution.h"
#include "hlo/cost/cost_opcode.h"
#include "hlo/cost/cost_shape.h"
#include "hlo/opcode.h"

namespace xlatrace::hlo {

using model::Computation;
using model::Instruction;

namespace {

// 0 of 0 elements is nothing, not "not a number".
double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// 2^0 .. 2^62; anything beyond is damage.
uint64_t Unsigned(double value) {
  return value < 1 ? 0 : static_cast<uint64_t>(std::min(value, 4e18));
}

}  // namespace

void CostBuilder::SetUnknown(Figures& figures) {
  figures.flops_known = false;
  figures.bytes_known = false;
  figures.output_known = false;
  figures.unknown = 1;
}

CostBuilder::Figures CostBuilder::Default(const Op& op) {
  Figures figures;
  figures.output_bytes = LeafBytes(op.shape);
  figures.bytes = figures.output_bytes;
  for (size_t i = 0; i < op.instruction.operands.size; ++i) {
    const double bytes = ShapeBytes(OperandShape(op, i));
    OperandBytes(op, i) = bytes;
    figures.bytes += bytes;
  }
  return figures;
}

CostBuilder::Figures CostBuilder::Handle(const Op& op) {
  Figures figures = Default(op);
  if (CostClassOf(op.opcode) == CostClass::kUnknown) return HandleAsync(op, figures);
  HandleClass(op, figures);
  return figures;
}

// Printed text hides the computation that an asynchronous operation wraps:
// "all-to-all-start(%p)", whose result is (operands, result, ...).
CostBuilder::Figures CostBuilder::HandleAsync(const Op& op, Figures figures) {
  const std::string_view base = BaseOpcode(op.opcode);
  const CostClass wrapped = CostClassOf(base);
  if (base == op.opcode || wrapped == CostClass::kUnknown) {
    SetUnknown(figures);
    return figures;
  }
  if (!op.opcode.ends_with("-start")) return figures;
  const Op inner{op.instruction, base, TupleElement(op.shape, 1)};
  if (!gpu()) {
    figures = Default(inner);
    HandleClass(inner, figures);
  } else if (wrapped == CostClass::kReduceScatter) {
    GpuReduceScatter(inner, figures);
  }
  return figures;
}

// Each class has its handler, which corrects the figures of Default. No `default:`, so that the
// compiler names a class without handler.
void CostBuilder::HandleClass(const Op& op, Figures& figures) {
  switch (CostClassOf(op.opcode)) {
    case CostClass::kUnknown:
      return SetUnknown(figures);
    case CostClass::kNothing:
      return Nothing(op, figures);
    case CostClass::kDefault:
      return;
    case CostClass::kElementwise:
    case CostClass::kTranscendental:
      return Elementwise(op, figures);
    case CostClass::kTuple:
      return Tuple(op, figures);
    case CostClass::kDot:
      figures.flops = DotFlops(op);
      return;
    case CostClass::kRaggedDot:
      return RaggedDot(op, figures);
    case CostClass::kConvolution:
      return Convolution(op, figures);
    case CostClass::kReduce:
      return Reduce(op, figures);
    case CostClass::kReduceWindow:
      return ReduceWindow(op, figures);
    case CostClass::kSelectAndScatter:
      return SelectAndScatter(op, figures);
    case CostClass::kMap:
      return Apply(op, 0, Elements(op.shape), figures);
    case CostClass::kScan:
      return Apply(op, 0, Elements(OperandShape(op, 0)), figures);
    case CostClass::kSort:
      return Sort(op, figures);
    case CostClass::kFft:
      return Fft(op, figures);
    case CostClass::kTriangularSolve:
      return TriangularSolve(op, figures);
    case CostClass::kCholesky:
      return Cholesky(op, figures);
    case CostClass::kRandom:
      figures.transcendentals = Elements(op.shape);
      return;
    case CostClass::kGather:
      return Gather(op, figures);
    case CostClass::kScatter:
      return Scatter(op, figures);
    case CostClass::kSlice:
    case CostClass::kDynamicSlice:
      return SliceOut(op, figures);
    case CostClass::kDynamicUpdateSlice:
      return DynamicUpdateSlice(op, figures);
    case CostClass::kBroadcast:
      return Broadcast(op, figures);
    case CostClass::kConcatenate:
      if (gpu()) GpuConcatenate(op, figures);
      return;
    case CostClass::kTranspose:
      return Transpose(op, figures);
    case CostClass::kInfeed:
      return Feed(op, true, figures);
    case CostClass::kOutfeed:
      return Feed(op, false, figures);
    case CostClass::kCall:
      return Called(op, figures);
    case CostClass::kConditional:
      return Conditional(op, figures);
    case CostClass::kFusion:
      figures = Fusion(op, figures);
      return;
    case CostClass::kCustomCall:
      return CustomCall(op, figures);
    case CostClass::kAsyncStart:
      return AsyncStart(op, figures);
    case CostClass::kAllReduce:
    case CostClass::kAllReduceStart:
    case CostClass::kAllGather:
    case CostClass::kAllGatherStart:
    case CostClass::kReduceScatter:
    case CostClass::kCollectivePermute:
      return Collective(op, figures);
  }
}

// Neither reads nor writes.
void CostBuilder::Nothing(const Op& op, Figures& figures) {
  figures.bytes = 0;
  figures.output_bytes = 0;
  for (size_t i = 0; i < op.instruction.operands.size; ++i) OperandBytes(op, i) = 0;
}

// Only the table of pointers is written.
void CostBuilder::Tuple(const Op& op, Figures& figures) {
  Nothing(op, figures);
  figures.bytes = figures.output_bytes = ShapeBytes(op.shape);
}

void CostBuilder::Elementwise(const Op& op, Figures& figures) const {
  if (gpu()) {
    GpuElementwise(op, figures);
  } else if (CostClassOf(op.opcode) == CostClass::kElementwise) {
    figures.flops = Elements(op.shape);
  } else {
    figures.transcendentals = Elements(op.shape);
  }
}

// As upstream: dimensions 0, 1, ... of the remaining result, one per group dimension.
void CostBuilder::RaggedDot(const Op& op, Figures& figures) const {
  ArrayShape result = FirstLeaf(op.shape);
  const uint32_t groups = module_.DetailsOf(op.instruction).rhs_group_dims;
  for (uint32_t g = 0; g < groups && g < result.dims.size(); ++g) {
    result.dims.erase(result.dims.begin() + g);
  }
  figures.flops = DotFlops(op) * Share(static_cast<double>(result.elements()),
                                       static_cast<double>(FirstLeaf(op.shape).elements()));
}

void CostBuilder::Convolution(const Op& op, Figures& figures) const {
  const std::optional<double> flops = ConvolutionFlops(module_, op.instruction, op.shape);
  figures.flops = flops.value_or(0);
  figures.flops_known = flops.has_value();
  figures.unknown = flops ? 0 : 1;
}

// Variadic reductions do all their work in one application.
void CostBuilder::Reduce(const Op& op, Figures& figures) {
  Apply(op, 0, std::max(0.0, Elements(OperandShape(op, 0)) - Elements(MainResult(op.shape))),
        figures);
  if (gpu()) GpuReduce(op, figures);
}

// n times the logarithm of n, rounded up.
void CostBuilder::Sort(const Op& op, Figures& figures) const {
  const double n = Elements(OperandShape(op, 0));
  const uint64_t whole = Unsigned(n);
  figures.flops = whole < 2 ? 0 : n * static_cast<double>(std::bit_width(whole - 1));
}

// Complex multiply-adds: four multiply-adds each.
void CostBuilder::Fft(const Op& op, Figures& figures) const {
  double log_factors = 1;
  for (const int64_t length : module_.Dims(module_.DetailsOf(op.instruction).fft_length)) {
    const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(length)));
    log_factors *= length < 1 ? 0 : bits - 1;
  }
  figures.flops = 2 * 4 * log_factors * Elements(MainResult(OperandShape(op, 0)));
}

// Each element is read once per place that it goes to, if such reads are counted.
void CostBuilder::Broadcast(const Op& op, Figures& figures) {
  if (!count_multiple_) return;
  const double repeats = Share(Elements(op.shape), Elements(OperandShape(op, 0)));
  OperandBytes(op, 0) = figures.output_bytes;
  OperandUse(op, 0) = repeats;
}

// A transpose that leaves every element in its place moves nothing.
void CostBuilder::Transpose(const Op& op, Figures& figures) {
  if (TransposeIsBitcast(OperandShape(op, 0), op.shape,
                         module_.Dims(module_.DetailsOf(op.instruction).dimensions))) {
    Nothing(op, figures);
  }
}

// Unknown, unless the GPU model covers this library call.
void CostBuilder::CustomCall(const Op& op, Figures& figures) {
  SetUnknown(figures);
  if (gpu()) GpuCustomCall(op, figures);
  if (figures.bytes_known) return;
  for (size_t i = 0; i < op.instruction.operands.size; ++i) OperandBytes(op, i) = -1;
}

// Among wrapped operations, the GPU model counts only the bytes that reduce-scatter sends.
void CostBuilder::AsyncStart(const Op& op, Figures& figures) const {
  if (!gpu()) return Called(op, figures);
  const auto callees = module_.CalledComputations(op.instruction);
  if (callees.empty()) return;
  const Instruction& wrapped = module_.instructions[module_.computations[callees[0]].root];
  if (CostClassOf(wrapped.opcode) == CostClass::kReduceScatter) {
    GpuReduceScatter({wrapped, wrapped.opcode, wrapped.shape}, figures);
  }
}

// The GPU model counts the sent bytes; the other model only the additions of an all-reduce.
void CostBuilder::Collective(const Op& op, Figures& figures) const {
  const CostClass collective = CostClassOf(op.opcode);
  if (!gpu()) {
    const bool adds =
        collective == CostClass::kAllReduce || collective == CostClass::kAllReduceStart;
    if (adds) figures.flops = Elements(op.shape);
  } else if (collective == CostClass::kAllGather) {
    GpuAllGather(op, op.shape, figures);
  } else if (collective == CostClass::kAllGatherStart) {
    // The result is (operands, results).
    GpuAllGather(op, TupleElement(op.shape, 1), figures);
  } else if (collective == CostClass::kReduceScatter) {
    GpuReduceScatter(op, figures);
  } else if (collective == CostClass::kCollectivePermute) {
    figures.transferred = LeafBytes(OperandShape(op, 0));
  } else {
    GpuAllReduce(op, figures);
  }
}

// Computation `callee` of this instruction's, applied `times` times; it works in registers.
void CostBuilder::Apply(const Op& op, size_t callee, double times, Figures& figures) const {
  const auto callees = module_.CalledComputations(op.instruction);
  if (callee >= callees.size()) {
    figures.flops_known = false;
    figures.unknown = 1;
    return;
  }
  const Figures& body = model_.computations_[callees[callee]];
  figures.flops += times * body.flops;
  figures.transcendentals += times * body.transcendentals;
  figures.unknown += body.unknown;
}

double CostBuilder::DotFlops(const Op& op) const {
  const ArrayShape lhs = FirstLeaf(OperandShape(op, 0));
  double contracted = 1;
  for (const int64_t dim : module_.LhsContractingDims(op.instruction)) {
    if (dim >= 0 && static_cast<uint64_t>(dim) < lhs.dims.size()) {
      contracted *= static_cast<double>(lhs.dims[static_cast<size_t>(dim)]);
    }
  }
  return 2 * Elements(op.shape) * contracted;
}

void CostBuilder::ReduceWindow(const Op& op, Figures& figures) {
  const std::string_view result = MainResult(op.shape);
  const double outputs = Elements(result);
  double window = WindowElements(module_, op.instruction);
  double times = std::max(0.0, window - 1) * outputs;
  // A reduction whose result is broadcast back over the whole dimension is written as a window that
  // reaches over all of it from every place.
  const ArrayShape array = FirstLeaf(result);
  int windowed = 0;
  int padded = 0;
  double span = 0;
  for (size_t d = 0; d < WindowRank(module_, op.instruction); ++d) {
    const WindowDim dim = WindowDimAt(module_, op.instruction, d);
    windowed += dim.size != 1;
    padded += dim.padding_low != 0 || dim.padding_high != 0;
    if (dim.size != 1 && dim.padding_low > 0 && dim.padding_low == dim.padding_high &&
        (dim.size - 1) / 2 == dim.padding_low && dim.size % 2 == 1 && d < array.dims.size() &&
        dim.padding_low == array.dims[d] - 1) {
      span = static_cast<double>(array.dims[d]);
    }
  }
  if (windowed == 1 && padded == 1 && span > 0 && !IsTuple(op.shape)) {
    window = span;
    times = std::floor(outputs / span) + span - 1;
  }
  if (count_multiple_) {
    const std::string_view input = OperandShape(op, 0);
    const double element_bytes = std::ceil(BitsOf(FirstLeaf(input).type) / 8.0);
    OperandBytes(op, 0) = outputs * window * element_bytes;
    OperandUse(op, 0) = Share(outputs * window, Elements(input));
  }
  Apply(op, 0, times, figures);
}

void CostBuilder::SelectAndScatter(const Op& op, Figures& figures) const {
  const double sources = Elements(OperandShape(op, 1));
  const double window = WindowElements(module_, op.instruction);
  Apply(op, 0, sources * std::max(0.0, window - 1), figures);
  Apply(op, 1, sources, figures);
}

void CostBuilder::Gather(const Op& op, Figures& figures) {
  const double result = figures.output_bytes;
  const double indices = ShapeBytes(OperandShape(op, 1));
  figures.bytes = 2 * result + indices;
  OperandBytes(op, 0) = result;
  OperandBytes(op, 1) = indices;
  OperandUse(op, 0) = Share(Elements(op.shape), Elements(OperandShape(op, 0)));
}

// Operands: n arrays, indices, n updates. Reads old values and updates, writes as much.
void CostBuilder::Scatter(const Op& op, Figures& figures) {
  const size_t arrays = (op.instruction.operands.size + 1) / 2 - 1;
  double updates = 0;
  for (size_t i = 0; i < arrays; ++i) {
    const double update = ShapeBytes(OperandShape(op, arrays + 1 + i));
    OperandBytes(op, i) = update;
    OperandBytes(op, arrays + 1 + i) = update;
    updates += update;
  }
  figures.bytes = 3 * updates + ShapeBytes(OperandShape(op, arrays));
  figures.output_bytes = updates;
  Apply(op, 0, Elements(OperandShape(op, arrays + 1)), figures);
}

// slice and dynamic-slice; of the start indices only the first counts.
void CostBuilder::SliceOut(const Op& op, Figures& figures) {
  const double result = figures.output_bytes;
  OperandBytes(op, 0) = result;
  OperandUse(op, 0) = Share(Elements(op.shape), Elements(OperandShape(op, 0)));
  figures.bytes = 2 * result + ShapeBytes(OperandShape(op, 1));
}

// In place: only the updated part is accessed.
void CostBuilder::DynamicUpdateSlice(const Op& op, Figures& figures) {
  const double update = ShapeBytes(OperandShape(op, 1));
  figures.bytes = 2 * update + ShapeBytes(OperandShape(op, 2));
  figures.output_bytes = update;
  OperandBytes(op, 0) = 0;
  const double all = Elements(op.shape);
  OperandUse(op, 0) = Share(std::max(0.0, all - Elements(OperandShape(op, 1))), all);
}

// Half of the matrix is read.
void CostBuilder::TriangularSolve(const Op& op, Figures& figures) {
  const ArrayShape matrix = FirstLeaf(OperandShape(op, 0));
  const double half = ShapeBytes(OperandShape(op, 0)) / 2;
  figures.bytes = figures.output_bytes + half + ShapeBytes(OperandShape(op, 1));
  OperandBytes(op, 0) = half;
  const double last = matrix.dims.empty() ? 1 : static_cast<double>(matrix.dims.back());
  figures.flops = 2 * last * Elements(OperandShape(op, 1));
}

// Half of the matrix is read, half of the result written.
void CostBuilder::Cholesky(const Op& op, Figures& figures) {
  const ArrayShape matrix = FirstLeaf(OperandShape(op, 0));
  const double half = ShapeBytes(OperandShape(op, 0)) / 2;
  figures.bytes = 2 * half;
  figures.output_bytes = half;
  OperandBytes(op, 0) = half;
  const double last = matrix.dims.empty() ? 1 : static_cast<double>(matrix.dims.back());
  figures.flops = std::floor(last * static_cast<double>(matrix.elements()) / 3);
}

// Tuples are moved leaf by leaf, in one direction.
void CostBuilder::Feed(const Op& op, bool in, Figures& figures) {
  if (in) {
    figures.bytes = figures.output_bytes;
    return;
  }
  figures.bytes = 0;
  for (size_t i = 0; i < op.instruction.operands.size; ++i) {
    const double bytes = LeafBytes(OperandShape(op, i));
    OperandBytes(op, i) = bytes;
    figures.bytes += bytes;
  }
}

// The sum over the called computations.
void CostBuilder::Called(const Op& op, Figures& figures) const {
  const auto callees = module_.CalledComputations(op.instruction);
  if (callees.empty()) return SetUnknown(figures);
  figures = {};
  for (const uint32_t callee : callees) Add(figures, model_.computations_[callee]);
}

// Each figure is the largest over the branches.
void CostBuilder::Conditional(const Op& op, Figures& figures) const {
  const auto callees = module_.CalledComputations(op.instruction);
  if (callees.empty()) return SetUnknown(figures);
  figures = {};
  for (const uint32_t callee : callees) {
    const Figures& branch = model_.computations_[callee];
    figures.flops = std::max(figures.flops, branch.flops);
    figures.transcendentals = std::max(figures.transcendentals, branch.transcendentals);
    figures.bytes = std::max(figures.bytes, branch.bytes);
    figures.output_bytes = std::max(figures.output_bytes, branch.output_bytes);
    figures.transferred = std::max(figures.transferred, branch.transferred);
    figures.unknown = std::max(figures.unknown, branch.unknown);
  }
}

}  // namespace xlatrace::hlo
