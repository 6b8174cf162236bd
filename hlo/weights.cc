#include "hlo/weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "hlo/op_category.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::hlo {
namespace {

using model::HloModule;
using model::Instruction;

// One cheap operation on one element is the unit while adding up. A large GPU does about this many
// of them per nanosecond.
constexpr double kUnitsPerNs = 10'000;
constexpr double kTranscendentalUnits = 8;
// Matrix units do about this many multiply-adds in the time of one elementwise operation.
constexpr double kFlopsPerUnit = 16;
constexpr double kBytesPerUnit = 4;
// A repeated element costs an index computation, not a load.
constexpr double kFillShare = 0.1;

constexpr int kMaxDepth = 3;
constexpr int kMaxInstructions = 200'000;

double Elements(std::string_view shape) { return static_cast<double>(ElementCount(shape)); }
double Bytes(std::string_view shape) { return static_cast<double>(ByteSize(shape)); }

std::string_view OperandShape(const HloModule& module, const Instruction& i, size_t number) {
  const auto operands = module.Operands(i);
  return number < operands.size() ? module.instructions[operands[number]].shape
                                  : std::string_view();
}

// The result without the workspace that library calls return beside it.
double ResultElements(const Instruction& i) {
  return IsTuple(i.shape) ? Elements(TupleElement(i.shape, 0)) : Elements(i.shape);
}

double OperandElements(const HloModule& module, const Instruction& i) {
  double sum = 0;
  for (const uint32_t operand : module.Operands(i)) {
    sum += Elements(module.instructions[operand].shape);
  }
  return sum;
}

double DotFlops(const HloModule& module, const Instruction& dot) {
  const ArrayShape lhs = FirstLeaf(OperandShape(module, dot, 0));
  double contracted = 1;
  for (const int64_t dim : module.LhsContractingDims(dot)) {
    if (dim >= 0 && static_cast<uint64_t>(dim) < lhs.dims.size()) {
      contracted *= static_cast<double>(lhs.dims[static_cast<size_t>(dim)]);
    }
  }
  return 2 * ResultElements(dot) * contracted;
}

// Library calls: (M,K) x (K,N) -> (M,N) gives K as sqrt(MK * KN / MN); with a batch it is too large
// by the root of the batch, which is near enough for a share.
double GemmFlopsFromSizes(const HloModule& module, const Instruction& call) {
  const double out = ResultElements(call);
  const double lhs = Elements(OperandShape(module, call, 0));
  const double rhs = Elements(OperandShape(module, call, 1));
  return out > 0 ? 2 * out * std::sqrt(std::max(1.0, lhs * rhs / out)) : 0;
}

// 2 x result x kernel elements per output feature; the feature dimension is taken to be the largest
// dimension that kernel and result share.
double ConvolutionFlops(const HloModule& module, const Instruction& convolution) {
  const ArrayShape kernel = FirstLeaf(OperandShape(module, convolution, 1));
  const ArrayShape result = FirstLeaf(convolution.shape);
  int64_t features = 1;
  for (const int64_t dim : kernel.dims) {
    const bool shared = std::find(result.dims.begin(), result.dims.end(), dim) != result.dims.end();
    if (shared) features = std::max(features, dim);
  }
  return 2 * ResultElements(convolution) * static_cast<double>(kernel.elements()) /
         static_cast<double>(features);
}

double Units(const HloModule& module, const Instruction& instruction, int depth, int& budget);

double CalledUnits(const HloModule& module, const Instruction& instruction, int depth,
                   int& budget) {
  double sum = 0;
  if (depth >= kMaxDepth) return sum;
  for (const uint32_t callee : module.CalledComputations(instruction)) {
    for (const Instruction& inner : module.InstructionsOf(module.computations[callee])) {
      if (--budget < 0) return sum;
      sum += Units(module, inner, depth + 1, budget);
    }
  }
  return sum;
}

double CustomCallUnits(const HloModule& module, const Instruction& call) {
  const double moved = (OperandElements(module, call) + ResultElements(call));
  switch (KindOf(module, call)) {
    case model::OpKind::kGemm:
      return std::max(moved, GemmFlopsFromSizes(module, call) / kFlopsPerUnit);
    case model::OpKind::kConvolution:
      return std::max(moved, ConvolutionFlops(module, call) / kFlopsPerUnit);
    default:
      return moved;
  }
}

double Units(const HloModule& module, const Instruction& instruction, int depth, int& budget) {
  switch (InfoOf(BaseOpcode(instruction.opcode)).work) {
    case OpWork::kNone:
      return 0;
    case OpWork::kElementwise:
      return ResultElements(instruction);
    case OpWork::kTranscendental:
      return kTranscendentalUnits * ResultElements(instruction);
    case OpWork::kMovement: {
      const double moved = Bytes(instruction.shape) / kBytesPerUnit;
      const bool fill = instruction.opcode == "broadcast" || instruction.opcode == "iota";
      return fill ? kFillShare * moved : moved;
    }
    case OpWork::kDot:
      return DotFlops(module, instruction) / kFlopsPerUnit;
    case OpWork::kConvolution:
      return ConvolutionFlops(module, instruction) / kFlopsPerUnit;
    case OpWork::kReduction: {
      const double in = Elements(OperandShape(module, instruction, 0));
      return std::max(in, ResultElements(instruction));
    }
    case OpWork::kScatterGather: {
      if (instruction.opcode == "dynamic-update-slice" || instruction.opcode == "scatter") {
        // Only the updates are touched; the rest stays where it is.
        const size_t updates = instruction.opcode == "scatter" ? 2 : 1;
        return Bytes(OperandShape(module, instruction, updates)) / kBytesPerUnit;
      }
      return Bytes(instruction.shape) / kBytesPerUnit;
    }
    case OpWork::kSort: {
      const double n = Elements(OperandShape(module, instruction, 0));
      return n * std::log2(n + 2);
    }
    case OpWork::kRandom:
      return kTranscendentalUnits * ResultElements(instruction);
    case OpWork::kFft: {
      const double n = Elements(instruction.shape);
      return n * std::log2(n + 2);
    }
    case OpWork::kCollective:
      return kTranscendentalUnits * Elements(instruction.shape);
    case OpWork::kCall:
      if (instruction.opcode == "custom-call") return CustomCallUnits(module, instruction);
      return CalledUnits(module, instruction, depth, budget);
    case OpWork::kOther:
      return OperandElements(module, instruction) + ResultElements(instruction);
  }
  return 0;
}

}  // namespace

double Weight(const HloModule& module, const Instruction& instruction) {
  int budget = kMaxInstructions;
  return Units(module, instruction, 0, budget) / kUnitsPerNs;
}

}  // namespace xlatrace::hlo
