// SPDX-License-Identifier: Apache-2.0
#include "hlo/cost/weights.h"

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

// Nanoseconds.
struct Machine {
  double bytes_per_ns;
  double interconnect_bytes_per_ns;
  double cheap_ns;             // An addition on one element.
  double integer_divide_ns;    // Emulated on GPUs, not vectorised on CPUs.
  double matrix_flops_per_ns;  // On 32 bits; twice as many on 16.
};

// 132 processors of 128 lanes at 1.98 GHz, two operations each.
constexpr double kGpuCyclesPerNs = 132 * 128 * 1.98 * 2;
// 3.35 TB/s; NVLink 450 GB/s in one direction, of which a collective sees about half; TF32 at half
// of the 495 TFLOP/s that dense products of any size reach.
constexpr Machine kGpu{.bytes_per_ns = 3350,
                       .interconnect_bytes_per_ns = 225,
                       .cheap_ns = 3 / kGpuCyclesPerNs,
                       .integer_divide_ns = 297 / kGpuCyclesPerNs,
                       .matrix_flops_per_ns = 250'000};
constexpr Machine kCpu{.bytes_per_ns = 40,
                       .interconnect_bytes_per_ns = 10,
                       .cheap_ns = 0.02,
                       .integer_divide_ns = 2,
                       .matrix_flops_per_ns = 50};

struct OperationCost {
  std::string_view opcode;
  double gpu_cycles;
  double cpu_ns;
};
// An opcode that XLA has not measured has the sum of the parts that it is expanded to.
constexpr OperationCost kOperations[] = {
    {"atan2", 431, 16},
    {"cbrt", 178, 13},
    {"cos", 978, 3.1},
    {"cosine", 978, 3.1},
    {"divide", 19, 0.3},
    {"erf", 100, 0.44},
    {"exp", 79, 0.47},
    {"exponential", 79, 0.47},
    {"exponential-minus-one", 190, 1.1},
    {"log", 166, 0.73},
    {"log-plus-one", 229, 1.2},
    {"logistic", 105, 0.67},  // exponential, add, divide
    {"power", 510, 6},
    {"remainder", 40, 11},
    {"rsqrt", 75, 1.5},
    {"sin", 958, 4},
    {"sine", 958, 4},
    {"sqrt", 75, 0.25},
    {"tan", 1955, 16},  // sine, cosine, divide
    {"tanh", 467, 0.5},
};
constexpr OperationCost kOtherTranscendental{"", 400, 10};
constexpr OperationCost kRandomNumber{"", 100, 1};  // Ten rounds of a few integer operations.
constexpr double kSlowerIn64Bits = 4;

// The shortest kernels of an H100 last one to two microseconds, and the next one starts one later.
constexpr double kLaunchNs = 2000;

// The type f32 stands for all types: a fused kernel does not write intermediate results.
constexpr double kBytesPerElement = 4;

constexpr int kMaxNestDepth = 3;
constexpr int kMaxInstructions = 200'000;

double Elements(std::string_view shape) { return static_cast<double>(ElementCount(shape)); }
double Bytes(std::string_view shape) { return static_cast<double>(ByteSize(shape)); }

std::string_view OperandShape(const HloModule& module, const Instruction& i, size_t number) {
  const auto operands = module.Operands(i);
  return number < operands.size() ? module.instructions[operands[number]].shape
                                  : std::string_view();
}

// The result, without the workspace that library calls also return.
double ResultElements(const Instruction& i) {
  return IsTuple(i.shape) ? Elements(TupleElement(i.shape, 0)) : Elements(i.shape);
}

// Bytes read through an operand. A broadcast is never written, so only its source is read.
double ReadBytes(const HloModule& module, uint32_t operand) {
  for (int depth = 0; depth < kMaxNestDepth; ++depth) {
    const Instruction& i = module.instructions[operand];
    if (i.opcode == "iota") return 0;
    const auto operands = module.Operands(i);
    const bool repeats = i.opcode == "broadcast" || i.opcode == "bitcast" || i.opcode == "reshape";
    if (!repeats || operands.empty()) break;
    operand = operands[0];
  }
  return Bytes(module.instructions[operand].shape);
}

double ResultBytes(const Instruction& i) {
  return IsTuple(i.shape) ? Bytes(TupleElement(i.shape, 0)) : Bytes(i.shape);
}

double OperandBytes(const HloModule& module, const Instruction& i) {
  double sum = 0;
  for (const uint32_t operand : module.Operands(i)) sum += ReadBytes(module, operand);
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

// Library calls: (M,K) x (K,N) -> (M,N) gives K as sqrt(MK * KN / MN). With a batch, the result is
// too large by the root of the batch. This is accurate enough for a share.
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

class Weigher {
 public:
  Weigher(const HloModule& module, model::DeviceKind device)
      : module_(module),
        on_cpu_(device == model::DeviceKind::kCpu),
        machine_(on_cpu_ ? kCpu : kGpu) {}

  double Moving(double bytes) const { return bytes / machine_.bytes_per_ns; }

  double Of(const Instruction& i, int depth = 0) {
    switch (InfoOf(BaseOpcode(i.opcode)).work) {
      case OpWork::kNone:
        return 0;
      case OpWork::kElementwise:
      case OpWork::kTranscendental:
      case OpWork::kReduction:
        return std::max(Moving(OperandBytes(module_, i) + Bytes(i.shape)), Computing(i, depth));
      case OpWork::kMovement: {
        const bool never_written = i.opcode == "broadcast" || i.opcode == "iota";
        return never_written ? Elements(i.shape) * machine_.cheap_ns : Moving(2 * Bytes(i.shape));
      }
      case OpWork::kDot:
      case OpWork::kConvolution:
        return std::max(Moving(OperandBytes(module_, i) + ResultBytes(i)), Computing(i, depth));
      case OpWork::kScatterGather:
        return Moving(TouchedBytes(i));
      case OpWork::kSort:
      case OpWork::kFft: {
        const double n = Elements(OperandShape(module_, i, 0));
        return Moving(2 * Bytes(i.shape)) * std::log2(n + 2);
      }
      case OpWork::kRandom:
        return std::max(Moving(Bytes(i.shape)), Computing(i, depth));
      case OpWork::kCollective:
        return Bytes(i.shape) / machine_.interconnect_bytes_per_ns;
      case OpWork::kCall:
        if (i.opcode != "custom-call") {
          return OverCalled(i, depth,
                            [&](const Instruction& inner) { return Of(inner, depth + 1); });
        }
        return std::max(Moving(OperandBytes(module_, i) + ResultBytes(i)), Computing(i, depth));
      case OpWork::kOther:
        return Moving(OperandBytes(module_, i) + Bytes(i.shape));
    }
    return 0;
  }

  double InFusion(const Instruction& i) {
    switch (InfoOf(BaseOpcode(i.opcode)).work) {
      case OpWork::kElementwise:
      case OpWork::kTranscendental:
      case OpWork::kReduction:
        return std::max(Passing(LargestElements(i)), Computing(i));
      case OpWork::kMovement:
        return i.opcode == "iota" ? Of(i) : Passing(Elements(i.shape));
      case OpWork::kScatterGather:
        return Passing(TouchedElements(i));
      default:
        return Of(i);
    }
  }

  // The part of it that is not moving bytes.
  double Computing(const Instruction& i, int depth = 0) {
    switch (InfoOf(BaseOpcode(i.opcode)).work) {
      case OpWork::kElementwise:
      case OpWork::kTranscendental:
        return Elements(i.shape) * OperationNs(i);
      case OpWork::kDot:
        return Multiplying(i, DotFlops(module_, i));
      case OpWork::kConvolution:
        return Multiplying(i, ConvolutionFlops(module_, i));
      case OpWork::kReduction:
        return Elements(OperandShape(module_, i, 0)) * machine_.cheap_ns;
      case OpWork::kRandom:
        return Elements(i.shape) * Ns(kRandomNumber);
      case OpWork::kCall:
        if (i.opcode == "custom-call") return Multiplying(i, LibraryFlops(i));
        return OverCalled(i, depth,
                          [&](const Instruction& inner) { return Computing(inner, depth + 1); });
      default:
        return 0;
    }
  }

 private:
  double Ns(const OperationCost& cost) const {
    return on_cpu_ ? cost.cpu_ns : cost.gpu_cycles / kGpuCyclesPerNs;
  }

  double OperationNs(const Instruction& i) const {
    const ArrayShape shape = FirstLeaf(i.shape);
    const bool integer = shape.type.starts_with('s') || shape.type.starts_with('u');
    if (integer && (i.opcode == "divide" || i.opcode == "remainder")) {
      return machine_.integer_divide_ns;
    }
    const double slower = shape.element_bits == 64 && !integer ? kSlowerIn64Bits : 1;
    const auto* const known =
        std::find_if(std::begin(kOperations), std::end(kOperations),
                     [&](const OperationCost& cost) { return cost.opcode == i.opcode; });
    if (known != std::end(kOperations)) return slower * Ns(*known);
    const bool transcendental = InfoOf(i.opcode).work == OpWork::kTranscendental;
    return slower * (transcendental ? Ns(kOtherTranscendental) : machine_.cheap_ns);
  }

  double Multiplying(const Instruction& i, double flops) const {
    const int32_t bits = FirstLeaf(OperandShape(module_, i, 0)).element_bits;
    const double faster = bits > 0 && bits <= 64 ? 32.0 / bits : 1;
    return flops / (machine_.matrix_flops_per_ns * faster);
  }

  double LibraryFlops(const Instruction& call) const {
    const model::OpKind kind = KindOf(module_, call);
    if (kind == model::OpKind::kGemm) return GemmFlopsFromSizes(module_, call);
    return kind == model::OpKind::kConvolution ? ConvolutionFlops(module_, call) : 0;
  }

  // Only the updated or selected part; the rest is not accessed.
  double TouchedBytes(const Instruction& i) const {
    if (i.opcode == "dynamic-update-slice") return 2 * Bytes(OperandShape(module_, i, 1));
    if (i.opcode == "scatter") return 3 * Bytes(OperandShape(module_, i, 2));  // Read, add, write.
    return 2 * Bytes(i.shape);
  }

  // One pass of a kernel over this many elements.
  double Passing(double elements) const { return Moving(elements * kBytesPerElement); }

  double LargestElements(const Instruction& i) const {
    double largest = ResultElements(i);
    for (size_t number = 0; number < i.operands.size; ++number) {
      const uint32_t operand = module_.Operands(i)[number];
      if (ReadBytes(module_, operand) == 0) continue;
      largest = std::max(largest, Elements(module_.instructions[operand].shape));
    }
    return largest;
  }

  double TouchedElements(const Instruction& i) const {
    if (i.opcode == "dynamic-update-slice") return Elements(OperandShape(module_, i, 1));
    if (i.opcode == "scatter") return Elements(OperandShape(module_, i, 2));
    return Elements(i.shape);
  }

  template <typename Value>
  double OverCalled(const Instruction& i, int depth, Value value) {
    double sum = 0;
    if (depth >= kMaxNestDepth) return sum;
    for (const uint32_t callee : module_.CalledComputations(i)) {
      for (const Instruction& inner : module_.InstructionsOf(module_.computations[callee])) {
        if (--budget_ < 0) return sum;
        sum += value(inner);
      }
    }
    return sum;
  }

  const HloModule& module_;
  bool on_cpu_;
  const Machine& machine_;
  int budget_ = kMaxInstructions;
};

}  // namespace

double Weight(const HloModule& module, const Instruction& instruction, model::DeviceKind device) {
  return Weigher(module, device).Of(instruction);
}

double WeightInFusion(const HloModule& module, const Instruction& instruction,
                      model::DeviceKind device) {
  return Weigher(module, device).InFusion(instruction);
}

double LaunchNs(const HloModule& module, const Instruction& instruction,
                std::optional<int64_t> bytes) {
  Weigher weigher(module, model::DeviceKind::kGpu);
  const bool fused = instruction.opcode == "fusion" && bytes.has_value();
  return kLaunchNs + (fused ? std::max(weigher.Moving(static_cast<double>(*bytes)),
                                       weigher.Computing(instruction))
                            : weigher.Of(instruction));
}

}  // namespace xlatrace::hlo
