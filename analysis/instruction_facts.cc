// SPDX-License-Identifier: Apache-2.0
#include "analysis/instruction_facts.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "analysis/attention_cost.h"
#include "analysis/collective_model.h"
#include "hlo/backend_config.h"
#include "hlo/cost/cost.h"
#include "hlo/op_category.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::analysis {
namespace {

using model::HloModule;
using model::Id;
using model::Instruction;

constexpr int kMaxChainDepth = 16;
constexpr int kMaxInnerVisits = 100'000;
// Limit for a whole module: a damaged one may name one body a hundred thousand times.
constexpr int64_t kMaxModuleVisits = 50'000'000;

struct Cost {
  std::optional<int64_t> flops;
  std::optional<int64_t> bytes;
};

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

void Add(const Cost& part, Cost* total) {
  if (part.flops) total->flops = Sum(total->flops.value_or(0), *part.flops);
  if (part.bytes) total->bytes = Sum(total->bytes.value_or(0), *part.bytes);
}

bool IsLoopOrBranch(std::string_view opcode) {
  return opcode == "while" || opcode == "conditional" || opcode == "call";
}

// Costs of one module, with loops multiplied out.
class ModuleCosts {
 public:
  ModuleCosts(const HloModule& module, bool on_gpu) : module_(module), plain_(module) {
    if (on_gpu) {
      hlo::CostOptions options;
      options.kind = hlo::CostKind::kGpu;
      options.count_multiple_input_accesses = false;
      gpu_.emplace(module, options);
    }
    computations_.resize(module.computations.size());
  }

  Cost Of(const Instruction& instruction, int depth = 0) {
    if (IsLoopOrBranch(instruction.opcode)) return OfContainer(instruction, depth);
    const hlo::Cost plain = plain_.Of(instruction);
    Cost cost;
    if (plain.unknown == 0) cost = {plain.flops, plain.bytes_accessed};
    if (!gpu_) return cost;
    const hlo::Cost gpu = gpu_->Of(instruction);
    if (gpu.unknown == 0) {
      if (!cost.flops) cost.flops = gpu.flops;
      cost.bytes = gpu.bytes_accessed;
    } else {
      if (const auto attention = CostOfAttention(module_, instruction)) {
        return {attention->flops, attention->bytes};
      }
      // The figures of a library call may contain one of the two.
      if (!cost.flops) cost.flops = OwnFigure(instruction, gpu.flops);
      if (!cost.bytes) cost.bytes = OwnFigure(instruction, gpu.bytes_accessed);
    }
    return cost;
  }

  Cost Total() {
    if (module_.entry >= module_.computations.size()) return {};
    return OfComputation(module_.entry, 0);
  }

 private:
  struct Known {
    Cost cost;
    enum : uint8_t { kNot, kBusy, kDone } state = kNot;
  };

  // For a call, the GPU model's figure. For a fusion empty: its sum leaves unknown costs out.
  static std::optional<int64_t> OwnFigure(const Instruction& instruction,
                                          std::optional<int64_t> figure) {
    return instruction.opcode == "custom-call" ? figure : std::nullopt;
  }

  Cost OfContainer(const Instruction& instruction, int depth) {
    Cost cost;
    for (const uint32_t callee : module_.CalledComputations(instruction)) {
      const Cost inner = OfComputation(callee, depth + 1);
      if (instruction.opcode == "conditional") {
        // One branch runs: the most expensive one, for each figure.
        if (inner.flops) cost.flops = std::max(cost.flops.value_or(0), *inner.flops);
        if (inner.bytes) cost.bytes = std::max(cost.bytes.value_or(0), *inner.bytes);
      } else {
        Add(inner, &cost);
      }
    }
    if (const std::optional<int64_t> trips = hlo::TripCount(module_, instruction)) {
      if (cost.flops) cost.flops = Times(*cost.flops, *trips);
      if (cost.bytes) cost.bytes = Times(*cost.bytes, *trips);
    }
    return cost;
  }

  // Sum of the known values; empty if all are unknown.
  Cost OfComputation(uint32_t index, int depth) {
    if (index >= computations_.size() || depth > kMaxChainDepth) return {};
    Known& known = computations_[index];
    if (known.state != Known::kNot) return known.cost;
    known.state = Known::kBusy;  // One that calls itself counts nothing the second time.
    Cost total;
    for (const Instruction& inner : module_.InstructionsOf(module_.computations[index])) {
      Add(Of(inner, depth), &total);
    }
    computations_[index] = {total, Known::kDone};
    return total;
  }

  const HloModule& module_;
  hlo::CostModel plain_;
  std::optional<hlo::CostModel> gpu_;
  std::vector<Known> computations_;
};

std::string_view ShapeOfOperand(const HloModule& module, const Instruction& i, size_t number) {
  const auto operands = module.Operands(i);
  return number < operands.size() ? module.instructions[operands[number]].shape
                                  : std::string_view();
}

bool Is16Bit(NumberType type) { return type == NumberType::kBf16 || type == NumberType::kF16; }

int BitsOf(NumberType type) {
  switch (type) {
    case NumberType::kF64:
      return 64;
    case NumberType::kF32:
      return 32;
    case NumberType::kF16:
    case NumberType::kBf16:
      return 16;
    case NumberType::kF8:
    case NumberType::kI8:
      return 8;
    case NumberType::kF4:
      return 4;
    case NumberType::kNone:
      return 0;
  }
  return 0;
}

// Fills the facts of one instruction from its opcode and its content.
class FactsReader {
 public:
  explicit FactsReader(const HloModule& module) : module_(module) {
    for (uint32_t i = 0; i < module.instructions.size(); ++i) {
      for (const uint32_t operand : module.Operands(module.instructions[i])) {
        users_.emplace_back(operand, i);
      }
    }
    std::sort(users_.begin(), users_.end());
  }

  void Read(uint32_t index, InstructionFacts& facts) {
    const Instruction& instruction = module_.instructions[index];
    facts.container = IsLoopOrBranch(instruction.opcode);
    facts.library = instruction.opcode == "custom-call";
    ReadCollective(instruction, facts);
    ReadContent(instruction, facts);
    if (facts.type == NumberType::kNone) facts.type = VectorType(instruction);
    facts.result_only_narrowed = OnlyNarrowed(index);
  }

 private:
  // Asynchronous ones wrap the collective in a computation, or hold operands first and results
  // second in their tuple; only all-reduce-start holds results alone.
  void ReadCollective(const Instruction& instruction, InstructionFacts& facts) const {
    facts.group_size = module_.DetailsOf(instruction).largest_group;
    facts.collective = CollectiveOf(instruction.opcode);
    std::string_view result = instruction.shape;
    if (instruction.opcode.ends_with("-start") && instruction.opcode != "all-reduce-start") {
      result = hlo::TupleElement(instruction.shape, 1);
    }
    if (facts.collective.empty() && instruction.opcode == "async-start") {
      for (const uint32_t callee : module_.CalledComputations(instruction)) {
        const uint32_t root = module_.computations[callee].root;
        if (root >= module_.instructions.size()) continue;
        const Instruction& wrapped = module_.instructions[root];
        facts.collective = CollectiveOf(wrapped.opcode);
        facts.group_size = module_.DetailsOf(wrapped).largest_group;
        result = wrapped.shape;
      }
    }
    if (facts.collective.empty()) return;
    if (!instruction.opcode.ends_with("-done")) facts.collective_bytes = hlo::ByteSize(result);
    if (facts.group_size == 0) {
      facts.group_size = Times(module_.replica_count, module_.num_partitions);
      if (facts.group_size <= 1) facts.group_size = 0;  // Unknown.
    }
  }

  // Many fusions may share one body, so the content of a body is read once.
  void ReadContent(const Instruction& instruction, InstructionFacts& facts) {
    best_ = 0;
    budget_ = kMaxInnerVisits;
    const auto called = module_.CalledComputations(instruction);
    if (instruction.opcode != "fusion" || called.size() != 1) {
      Look(instruction, 0, facts);
      return;
    }
    const auto [known, is_new] = content_of_body_.try_emplace(called[0]);
    const InstructionFacts& content = known->second;
    if (is_new) Look(instruction, 0, known->second);
    facts.type = content.type;
    facts.matmul = content.matmul;
    facts.convolution = content.convolution;
    facts.highest_precision = content.highest_precision;
    facts.upcast_operands = content.upcast_operands;
    facts.batch = content.batch;
    facts.m = content.m;
    facts.n = content.n;
    facts.k = content.k;
  }

  // Sets type, matmul, convolution, highest_precision, upcast_operands, and the shape of the
  // largest product.
  void Look(const Instruction& instruction, int depth, InstructionFacts& facts) {
    if (--budget_ < 0 || --looks_left_ < 0 || depth > kMaxChainDepth) return;
    const std::string_view base = hlo::BaseOpcode(instruction.opcode);
    if (base == "dot" || base == "ragged-dot" || base == "scaled-dot" || base == "convolution") {
      Product(instruction, base == "convolution", facts);
      return;
    }
    if (instruction.opcode == "custom-call") {
      const model::OpKind kind = hlo::KindOf(module_, instruction);
      if (kind == model::OpKind::kGemm || kind == model::OpKind::kConvolution) {
        Product(instruction, kind == model::OpKind::kConvolution, facts);
      } else if (kind == model::OpKind::kAttention) {
        facts.matmul = true;
        facts.type = NumberTypeOf(hlo::FirstLeaf(ShapeOfOperand(module_, instruction, 0)).type);
      }
      return;
    }
    if (instruction.opcode != "fusion" && !instruction.opcode.ends_with("-start")) return;
    for (const uint32_t callee : module_.CalledComputations(instruction)) {
      for (const Instruction& inner : module_.InstructionsOf(module_.computations[callee])) {
        Look(inner, depth + 1, facts);
      }
    }
  }

  void Product(const Instruction& product, bool convolution, InstructionFacts& facts) {
    const hlo::ArrayShape lhs = hlo::FirstLeaf(ShapeOfOperand(module_, product, 0));
    const hlo::ArrayShape rhs = hlo::FirstLeaf(ShapeOfOperand(module_, product, 1));
    const hlo::ArrayShape result = hlo::FirstLeaf(product.shape);
    const NumberType left = NumberTypeOf(lhs.type);
    const NumberType right = NumberTypeOf(rhs.type);
    const auto size = static_cast<double>(result.elements()) * static_cast<double>(rhs.elements());
    facts.matmul = true;
    if (size <= best_) return;
    best_ = size;
    // Units are chosen by the wider operand.
    facts.type = BitsOf(left) >= BitsOf(right) ? left : right;
    facts.convolution = convolution;
    facts.highest_precision = module_.DetailsOf(product).operand_precision == 2 ||
                              product.backend_config.find("\"HIGHEST\"") != std::string_view::npos;
    facts.upcast_operands =
        facts.type == NumberType::kF32 && FromNarrow(product, 0) && FromNarrow(product, 1);
    facts.batch = facts.m = facts.n = facts.k = 0;
    if (!convolution) Dimensions(product, lhs, rhs, result, facts);
  }

  // m x k times k x n, from element counts: the left operand has batch*m*k elements, the right
  // batch*k*n, the result batch*m*n.
  void Dimensions(const Instruction& product, const hlo::ArrayShape& lhs,
                  const hlo::ArrayShape& rhs, const hlo::ArrayShape& result,
                  InstructionFacts& facts) const {
    std::vector<int64_t> contracted(module_.LhsContractingDims(product).begin(),
                                    module_.LhsContractingDims(product).end());
    if (product.opcode == "custom-call") {
      contracted = hlo::JsonNumbers(product.backend_config, "lhs_contracting_dimensions")
                       .value_or(std::vector<int64_t>());
    }
    int64_t k = 1;
    for (const int64_t dim : contracted) {
      if (dim < 0 || static_cast<size_t>(dim) >= lhs.dims.size()) return;
      k = Times(k, lhs.dims[static_cast<size_t>(dim)]);
    }
    if (k <= 0 || contracted.empty()) return;
    const int64_t rows = lhs.elements() / k;     // batch * m
    const int64_t columns = rhs.elements() / k;  // batch * n
    const int64_t out = result.elements();       // batch * m * n
    if (out <= 0 || rows <= 0 || columns <= 0) return;
    const auto repeats =
        static_cast<int64_t>(static_cast<__int128>(rows) * columns / std::max<int64_t>(out, 1));
    if (repeats < 1 || rows % repeats != 0 || columns % repeats != 0) return;
    facts.batch = repeats;
    facts.m = rows / repeats;
    facts.n = columns / repeats;
    facts.k = k;
  }

  // Is an operand a conversion (or a rearranged one) of a 16-bit value?
  bool FromNarrow(const Instruction& product, size_t number) const {
    const auto operands = module_.Operands(product);
    if (number >= operands.size()) return false;
    uint32_t index = operands[number];
    for (int hops = 0; hops < 6; ++hops) {
      const Instruction& source = module_.instructions[index];
      if (source.opcode == "convert") {
        return Is16Bit(NumberTypeOf(hlo::FirstLeaf(ShapeOfOperand(module_, source, 0)).type));
      }
      if (source.opcode == "fusion") return IsWideningFusion(source);
      const bool moves = source.opcode == "bitcast" || source.opcode == "copy" ||
                         source.opcode == "transpose" || source.opcode == "reshape" ||
                         source.opcode == "broadcast";
      const auto next = module_.Operands(source);
      if (!moves || next.empty()) return false;
      index = next[0];
    }
    return false;
  }

  // A fusion whose root only converts 16-bit values to f32, moved around perhaps.
  bool IsWideningFusion(const Instruction& fusion) const {
    const auto callees = module_.CalledComputations(fusion);
    if (callees.empty()) return false;
    uint32_t index = module_.computations[callees[0]].root;
    for (int hops = 0; hops < 6 && index < module_.instructions.size(); ++hops) {
      const Instruction& source = module_.instructions[index];
      const auto operands = module_.Operands(source);
      if (operands.empty()) return false;
      if (source.opcode == "convert") {
        return Is16Bit(NumberTypeOf(hlo::FirstLeaf(ShapeOfOperand(module_, source, 0)).type));
      }
      if (source.opcode != "bitcast" && source.opcode != "copy" && source.opcode != "transpose" &&
          source.opcode != "reshape") {
        return false;
      }
      index = operands[0];
    }
    return false;
  }

  // Parameters of the body of a fusion; empty for other instructions.
  const std::vector<uint32_t>& ParametersOf(const Instruction& fusion) {
    static const std::vector<uint32_t> kNone;
    const auto callees = module_.CalledComputations(fusion);
    if (fusion.opcode != "fusion" || callees.empty()) return kNone;
    const auto [known, is_new] = parameters_of_body_.try_emplace(callees[0]);
    if (!is_new) return known->second;
    const model::Computation& body = module_.computations[callees[0]];
    for (uint32_t i = 0; i < body.instruction_count; ++i) {
      const uint32_t inner = body.first_instruction + i;
      if (module_.instructions[inner].opcode == "parameter") known->second.push_back(inner);
    }
    return known->second;
  }

  bool OnlyNarrowed(uint32_t index) {
    const Instruction& maker = module_.instructions[index];
    if (hlo::IsTuple(maker.shape) || !maker.shape.starts_with("f32[")) return false;
    auto user = std::lower_bound(users_.begin(), users_.end(), std::pair(index, uint32_t{0}));
    if (user == users_.end() || user->first != index) return false;
    for (; user != users_.end() && user->first == index; ++user) {
      const Instruction& reader = module_.instructions[user->second];
      looks_left_ -= 1 + static_cast<int64_t>(ParametersOf(reader).size());
      if (looks_left_ < 0) return false;
      if (!Narrows(reader, index)) return false;
    }
    return true;
  }

  // Does `user` first convert its value from `source` to 16 bits?
  bool Narrows(const Instruction& user, uint32_t source) {
    if (user.opcode == "convert") return Is16Bit(NumberTypeOf(hlo::FirstLeaf(user.shape).type));
    if (user.opcode != "fusion") return false;
    const auto operands = module_.Operands(user);
    bool any = false;
    for (const uint32_t inner : ParametersOf(user)) {
      const Instruction& parameter = module_.instructions[inner];
      if (parameter.parameter_number < 0 ||
          static_cast<size_t>(parameter.parameter_number) >= operands.size() ||
          operands[static_cast<size_t>(parameter.parameter_number)] != source) {
        continue;
      }
      auto reader = std::lower_bound(users_.begin(), users_.end(), std::pair(inner, uint32_t{0}));
      for (; reader != users_.end() && reader->first == inner; ++reader) {
        const Instruction& reads = module_.instructions[reader->second];
        if (reads.opcode != "convert" || !Is16Bit(NumberTypeOf(hlo::FirstLeaf(reads.shape).type))) {
          return false;
        }
        any = true;
      }
    }
    return any;
  }

  // Elementwise work is done in f32 unless something is f64.
  NumberType VectorType(const Instruction& instruction) const {
    if (instruction.shape.find("f64[") != std::string_view::npos) return NumberType::kF64;
    for (const uint32_t operand : module_.Operands(instruction)) {
      if (module_.instructions[operand].shape.find("f64[") != std::string_view::npos) {
        return NumberType::kF64;
      }
    }
    return NumberType::kF32;
  }

  const HloModule& module_;
  std::vector<std::pair<uint32_t, uint32_t>> users_;  // (instruction, user), sorted.
  double best_ = 0;                                   // Size of the largest product seen.
  int budget_ = 0;                                    // Remaining visits for one instruction.
  int64_t looks_left_ = kMaxModuleVisits;
  std::unordered_map<uint32_t, InstructionFacts> content_of_body_;  // By computation.
  std::unordered_map<uint32_t, std::vector<uint32_t>> parameters_of_body_;
};

}  // namespace

std::string_view Text(NumberType type) {
  static constexpr std::array<std::string_view, 8> kTexts = {"none", "f64", "f32", "f16",
                                                             "bf16", "f8",  "i8",  "f4"};
  return kTexts[static_cast<size_t>(type)];
}

NumberType NumberTypeOf(std::string_view hlo) {
  if (hlo == "f64" || hlo == "c128") return NumberType::kF64;
  if (hlo == "f32" || hlo == "c64") return NumberType::kF32;
  if (hlo == "f16") return NumberType::kF16;
  if (hlo == "bf16") return NumberType::kBf16;
  if (hlo.starts_with("f8")) return NumberType::kF8;
  if (hlo.starts_with("f4")) return NumberType::kF4;
  if (hlo == "s8" || hlo == "u8") return NumberType::kI8;
  return NumberType::kNone;
}

RunFacts::RunFacts(const model::RunTables& run, const model::AttributionTables& attribution)
    : run_(run), slot_of_(attribution.instructions.size() + 1, 0) {
  on_gpu_ = std::any_of(run.devices.begin(), run.devices.end(), [](const model::Device& device) {
    return device.kind == model::DeviceKind::kGpu;
  });
  uint32_t slots = 0;
  for (const model::Label& label : attribution.labels) {
    if (label.instruction_id <= 0 || static_cast<size_t>(label.instruction_id) >= slot_of_.size()) {
      continue;
    }
    uint32_t& slot = slot_of_[static_cast<size_t>(label.instruction_id)];
    if (slot == 0) slot = ++slots;
  }
  facts_.resize(slots);
  visited_.assign(slots, false);
  for (size_t row = 0; row < attribution.instructions.size(); ++row) {
    auto [span, fresh] =
        rows_of_.try_emplace(attribution.instructions[row].module_id, std::pair(row, row + 1));
    span->second.second = row + 1;
  }
}

void RunFacts::Visit(Id module_id, const HloModule& module, model::AttributionTables& attribution) {
  const auto span = rows_of_.find(module_id);
  if (span == rows_of_.end()) return;
  const auto [first, last] = span->second;
  ModuleCosts costs(module, on_gpu_);
  FactsReader reader(module);
  std::unordered_map<std::string_view, uint32_t> by_name;
  for (size_t row = first; row < last; ++row) {
    model::InstructionRow& instruction = attribution.instructions[row];
    if (instruction.module_id != module_id) continue;
    uint32_t index = static_cast<uint32_t>(row - first);
    if (index >= module.instructions.size() ||
        module.instructions[index].name != instruction.name) {
      if (by_name.empty()) by_name = model::IndexByName(module);
      const auto found = by_name.find(instruction.name);
      if (found == by_name.end()) continue;
      index = found->second;
    }
    const Cost cost = costs.Of(module.instructions[index]);
    instruction.flops = cost.flops;
    instruction.bytes = cost.bytes;
    const uint32_t slot = slot_of_[row + 1];
    if (slot == 0) continue;
    InstructionFacts& facts = facts_[slot - 1];
    facts.flops = cost.flops;
    facts.bytes = cost.bytes;
    reader.Read(index, facts);
    visited_[slot - 1] = true;
  }
  if (module_id > 0 && static_cast<size_t>(module_id) <= attribution.modules.size()) {
    const Cost total = costs.Total();
    model::ModuleFacts& facts = attribution.modules[static_cast<size_t>(module_id) - 1];
    facts.flops = total.flops;
    facts.bytes = total.bytes;
  }
}

void RunFacts::TakeRecorded(model::AttributionTables& attribution) {
  for (size_t i = 0; i < run_.activities.size(); ++i) {
    const uint32_t hint_id = run_.activities.hint[i];
    if (hint_id == 0 || run_.DeviceOf(i).kind != model::DeviceKind::kTpu) continue;
    const model::Hint& hint = run_.hints[hint_id - 1];
    if (!hint.flops && !hint.bytes_accessed) continue;
    const Id id = attribution.labels[attribution.label_of[i] - 1].instruction_id;
    if (id <= 0) continue;
    const uint32_t slot = slot_of_[static_cast<size_t>(id)];
    if (slot == 0 || facts_[slot - 1].container) continue;
    model::InstructionRow& row = attribution.instructions[static_cast<size_t>(id) - 1];
    if (hint.flops) facts_[slot - 1].flops = row.flops = hint.flops;
    if (hint.bytes_accessed) facts_[slot - 1].bytes = row.bytes = hint.bytes_accessed;
    visited_[slot - 1] = true;
  }
}

const InstructionFacts* RunFacts::Of(Id instruction_id) const {
  if (instruction_id <= 0 || static_cast<size_t>(instruction_id) >= slot_of_.size()) return nullptr;
  const uint32_t slot = slot_of_[static_cast<size_t>(instruction_id)];
  return slot == 0 || !visited_[slot - 1] ? nullptr : &facts_[slot - 1];
}

}  // namespace xlatrace::analysis
