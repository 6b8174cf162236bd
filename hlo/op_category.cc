// SPDX-License-Identifier: Apache-2.0
#include "hlo/op_category.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "hlo/opcode.h"

namespace xlatrace::hlo {
namespace {

using model::HloModule;
using model::Instruction;
using model::OpKind;

// Bodies of bodies: a damaged module may nest without end.
constexpr int kMaxDepth = 4;

bool HasIgnoringCase(std::string_view text, std::string_view lower_part) {
  const auto it =
      std::search(text.begin(), text.end(), lower_part.begin(), lower_part.end(),
                  [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  return it != text.end();
}

// "softmax" alone is not: only kernels that fuse the matrix products are attention.
bool NamesAttention(std::string_view text) {
  for (const std::string_view word :
       {"fmha", "mha_forward", "mha_backward", "flash", "attention", "fused_attn", "splash"}) {
    if (HasIgnoringCase(text, word)) return true;
  }
  return false;
}

// How often each kind of work occurs in a fused computation.
struct Census {
  std::array<uint32_t, 16> kinds{};
  uint32_t dots = 0;
  uint32_t exponentials = 0;
  uint32_t arithmetic = 0;  // Elementwise that computes, converts apart.
  uint32_t converts = 0;
  uint32_t scatters = 0;  // Writes to computed places.
  uint32_t gathers = 0;
  uint32_t dynamic_slices = 0;
  uint32_t movements = 0;  // Slices, pads, copies.

  bool Any(OpKind kind) const { return kinds[static_cast<size_t>(kind)] > 0; }

  // Limit of the counts: bodies that call one body twice, in many levels, would exceed any number.
  // No result depends on counts above two.
  void Add(const Census& other) {
    static constexpr uint32_t kMaxCount = 1'000'000;
    const auto add = [](uint32_t& to, uint32_t from) { to = std::min(kMaxCount, to + from); };
    for (size_t k = 0; k < kinds.size(); ++k) add(kinds[k], other.kinds[k]);
    add(dots, other.dots);
    add(exponentials, other.exponentials);
    add(arithmetic, other.arithmetic);
    add(converts, other.converts);
    add(scatters, other.scatters);
    add(gathers, other.gathers);
    add(dynamic_slices, other.dynamic_slices);
    add(movements, other.movements);
  }
};

OpKind HeroOf(const Census& census);

}  // namespace

// Reads each body once for each depth that it occurs at.
class OpKinds::Reader {
 public:
  explicit Reader(const HloModule& module) : module_(module) {}
  Census CensusOf(const Instruction& instruction) {
    Census census;
    for (const uint32_t callee : module_.CalledComputations(instruction)) {
      census.Add(Body(callee, 0));
    }
    return census;
  }
  OpKind KindOfTarget(const Instruction& call);
  OpKind KindOfFusion(const Instruction& fusion);
  OpKind KindAt(const Instruction& instruction, int depth);

 private:
  const Census& Body(uint32_t computation, int depth) {
    const uint64_t key =
        static_cast<uint64_t>(computation) * (kMaxDepth + 1) + static_cast<uint64_t>(depth);
    const auto [known, is_new] = bodies_.try_emplace(key);
    Census& census = known->second;  // Empty for a damaged module's body that calls itself.
    if (is_new) {
      Census counted;
      Count(module_.computations[computation], depth, counted);
      census = counted;
    }
    return census;
  }
  void Count(const model::Computation& computation, int depth, Census& census);

  const HloModule& module_;
  std::unordered_map<uint64_t, Census> bodies_;
};

void OpKinds::Reader::Count(const model::Computation& computation, int depth, Census& census) {
  for (const Instruction& instruction : module_.InstructionsOf(computation)) {
    const OpcodeInfo info = InfoOf(BaseOpcode(instruction.opcode));
    ++census.kinds[static_cast<size_t>(info.kind)];
    switch (info.work) {
      case OpWork::kDot:
        ++census.dots;
        break;
      case OpWork::kTranscendental:
        ++census.arithmetic;
        if (instruction.opcode == "exponential") ++census.exponentials;
        break;
      case OpWork::kElementwise:
        ++(instruction.opcode == "convert" ? census.converts : census.arithmetic);
        break;
      case OpWork::kMovement:
        if (info.kind == OpKind::kCopy) ++census.movements;
        break;
      case OpWork::kScatterGather:
        if (instruction.opcode == "gather") {
          ++census.gathers;
        } else if (instruction.opcode == "dynamic-slice") {
          ++census.dynamic_slices;
        } else {
          ++census.scatters;
        }
        break;
      case OpWork::kCall: {
        if (instruction.opcode == "custom-call") {
          ++census.kinds[static_cast<size_t>(KindOfTarget(instruction))];
        } else if (instruction.opcode == "fusion" && depth < kMaxDepth) {
          --census.kinds[static_cast<size_t>(info.kind)];
          for (const uint32_t callee : module_.CalledComputations(instruction)) {
            census.Add(Body(callee, depth + 1));
          }
        }
        break;
      }
      default:
        break;
    }
  }
}

namespace {

// The hero of a fusion: the work that decides how the fusion is emitted and how long it takes.
OpKind HeroOf(const Census& census) {
  // Two matrix products with a softmax between them.
  if (census.dots >= 2 && census.exponentials > 0 && census.Any(OpKind::kReduction)) {
    return OpKind::kAttention;
  }
  for (const OpKind kind :
       {OpKind::kCollective, OpKind::kConvolution, OpKind::kGemm, OpKind::kAttention, OpKind::kSort,
        OpKind::kFft, OpKind::kRandom, OpKind::kReduction}) {
    if (census.Any(kind)) return kind;
  }
  if (census.scatters > 0 || census.gathers > 0) return OpKind::kScatterGather;
  if (census.Any(OpKind::kTranspose)) return OpKind::kTranspose;
  if (census.arithmetic > 0) return OpKind::kElementwiseFusion;
  if (census.dynamic_slices > 0) return OpKind::kScatterGather;
  if (census.converts > 0) return OpKind::kElementwiseFusion;
  if (census.Any(OpKind::kCustomCall)) return OpKind::kCustomCall;
  if (census.movements > 0) return OpKind::kCopy;
  // Nothing but a constant or a count that is repeated is computed, too: XLA writes a kernel for
  // it. Its memsets are activities of their own, before the kernels of reductions and scatters.
  return OpKind::kElementwiseFusion;
}

}  // namespace

OpKind OpKinds::Reader::KindOfTarget(const Instruction& call) {
  struct Target {
    std::string_view part;
    OpKind kind;
  };
  // First match wins. Targets of XLA:GPU, XLA:CPU, JAX and Transformer Engine.
  constexpr Target kTargets[] = {
      {"__cudnn$fmha", OpKind::kAttention},
      {"fused_attn", OpKind::kAttention},
      {"__cudnn$conv", OpKind::kConvolution},
      {"__onednn$convolution", OpKind::kConvolution},
      {"__cudnn$norm", OpKind::kReduction},
      {"__cudnn$batchNorm", OpKind::kReduction},
      {"layernorm", OpKind::kReduction},
      {"layer_norm", OpKind::kReduction},
      {"rmsnorm", OpKind::kReduction},
      {"softmax", OpKind::kReduction},
      {"triangularSolve", OpKind::kCustomCall},
      {"__cublas$", OpKind::kGemm},
      {"blockScaledDot", OpKind::kGemm},
      {"block_scaled_dot", OpKind::kGemm},
      {"__onednn$matmul", OpKind::kGemm},
      {"te_gemm", OpKind::kGemm},
      {"te_grouped_gemm", OpKind::kGemm},
      {"cutlass", OpKind::kGemm},
      {"EigenMatMul", OpKind::kGemm},
      {"EigenConv", OpKind::kConvolution},
      {"DeviceRadixSort", OpKind::kSort},
      {"cub_sort", OpKind::kSort},
      {"TopK", OpKind::kSort},
      {"threefry", OpKind::kRandom},
      {"fft", OpKind::kFft},
      {"FFT", OpKind::kFft},
      {"all_reduce", OpKind::kCollective},
      {"AllReduce", OpKind::kCollective},
      {"MoveToHost", OpKind::kCopy},
      {"MoveToDevice", OpKind::kCopy},
      {"annotate_device_placement", OpKind::kCopy},
      {"PadToStatic", OpKind::kCopy},
      {"SliceToDynamic", OpKind::kCopy},
      {"Sharding", OpKind::kOther},
      {"SPMDFullToShardShape", OpKind::kOther},
      {"SPMDShardToFullShape", OpKind::kOther},
      {"AllocateBuffer", OpKind::kOther},
  };
  const std::string_view target = call.custom_call_target;
  for (const Target& known : kTargets) {
    if (Has(target, known.part)) return known.kind;
  }
  if (target.starts_with("__cudnn$fusion") && call.called_computations.size > 0) {
    return HeroOf(CensusOf(call));
  }
  // Kernels of users: their own name is all there is to go by.
  if (NamesAttention(target)) return OpKind::kAttention;
  const bool user_kernel = Has(target, "triton") || Has(target, "mosaic") ||
                           Has(target, "tpu_custom_call") || Has(target, "pallas");
  if (user_kernel && (NamesAttention(call.backend_config.substr(0, 2000)) ||
                      NamesAttention(call.metadata.op_name))) {
    return OpKind::kAttention;
  }
  return OpKind::kCustomCall;
}

OpKind OpKinds::Reader::KindOfFusion(const Instruction& fusion) {
  const OpKind hero = HeroOf(CensusOf(fusion));
  // The kind in the backend_config is only needed where the body does not show it.
  const std::string_view config = fusion.backend_config;
  if (hero == OpKind::kAttention || hero == OpKind::kConvolution) return hero;
  if (Has(config, "\"__triton_collective\"")) return OpKind::kCollective;
  if (Has(config, "\"__triton_gemm\"") || Has(config, "\"__triton_nested_gemm_fusion\"")) {
    return OpKind::kGemm;
  }
  return hero;
}

OpKind OpKinds::Reader::KindAt(const Instruction& instruction, int depth) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "fusion") return KindOfFusion(instruction);
  if (opcode == "custom-call") return KindOfTarget(instruction);
  if (opcode.starts_with("async-") && depth < kMaxDepth * 4) {
    // The wrapped computation's root is the operation; -update and -done lead back to the start.
    const auto calls = module_.CalledComputations(instruction);
    if (!calls.empty()) {
      const model::Computation& wrapped = module_.computations[calls[0]];
      return KindAt(module_.instructions[wrapped.root], depth + 1);
    }
    const auto operands = module_.Operands(instruction);
    if (opcode != "async-start" && !operands.empty()) {
      return KindAt(module_.instructions[operands[0]], depth + 1);
    }
    return OpKind::kOther;
  }
  OpcodeInfo info = InfoOf(opcode);
  if (info.work == OpWork::kOther && info.kind == OpKind::kOther) {
    const std::string_view base = BaseOpcode(opcode);  // Sugar: "fusion-start", "all-to-all-done".
    if (base == "custom-call") return KindOfTarget(instruction);
    info = InfoOf(base);
  }
  return info.kind;
}

OpKinds::OpKinds(const HloModule& module) : reader_(std::make_unique<Reader>(module)) {}
OpKinds::~OpKinds() = default;

OpKind OpKinds::KindOf(const Instruction& instruction) { return reader_->KindAt(instruction, 0); }

OpKind KindOf(const HloModule& module, const Instruction& instruction) {
  return OpKinds(module).KindOf(instruction);
}

std::string CategoryOf(const HloModule& module, const Instruction& instruction) {
  return OpKinds(module).CategoryOf(instruction);
}

std::string OpKinds::CategoryOf(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "fusion") {
    const std::string_view kind = instruction.fusion_kind;
    // XLA:TPU's output fusions are built around a matrix unit operation and called after it.
    if (kind == "kOutput") {
      const Census census = reader_->CensusOf(instruction);
      if (census.Any(OpKind::kConvolution) || census.Any(OpKind::kGemm)) {
        return "convolution fusion";
      }
      return "output fusion";
    }
    if (kind == "kInput") return "input fusion";
    if (kind == "kCustom") return "custom fusion";
    return "loop fusion";
  }
  if (opcode == "convolution") {
    std::string category = "convolution";
    if (Has(instruction.attributes, "lhs_dilate")) category += " base-dilated";
    if (Has(instruction.attributes, "rhs_dilate")) category += " window-dilated";
    return category;
  }
  if (opcode == "transpose" || opcode == "copy" || opcode == "reshape" ||
      opcode == "dynamic-reshape") {
    return "data formatting";
  }
  const OpWork work = InfoOf(opcode).work;
  if (work == OpWork::kElementwise || work == OpWork::kTranscendental) {
    return "non-fusion elementwise";
  }
  return std::string(opcode);
}

}  // namespace xlatrace::hlo
