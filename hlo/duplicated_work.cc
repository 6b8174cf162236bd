// SPDX-License-Identifier: Apache-2.0
#include "hlo/duplicated_work.h"

#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "base/hash.h"
#include "hlo/opcode.h"

namespace xlatrace::hlo {
namespace {

using model::Computation;
using model::HloModule;
using model::Instruction;
using model::kNoIndex;

constexpr int kMaxNestedFusions = 8;

class Numbering {
 public:
  explicit Numbering(const HloModule& module)
      : module_(module),
        values_(module.instructions.size(), 0),
        callers_(module.computations.size(), 0),
        duplicated_(module.instructions.size(), false) {
    for (const uint32_t callee : module.called_pool) {
      if (callee < callers_.size()) ++callers_[callee];
    }
  }

  std::vector<bool> Run() {
    for (const Computation& computation : module_.computations) {
      if (computation.is_fusion) continue;
      done_.clear();
      for (uint32_t k = 0; k < computation.instruction_count; ++k) {
        kernel_.clear();
        Number(computation.first_instruction + k, false, 0);
        done_.insert(kernel_.begin(), kernel_.end());
      }
    }
    return std::move(duplicated_);
  }

 private:
  // The body that this fusion alone calls.
  const Computation* BodyOf(const Instruction& instruction) const {
    const auto called = module_.CalledComputations(instruction);
    if (instruction.opcode != "fusion" || called.size() != 1) return nullptr;
    if (called[0] >= callers_.size() || callers_[called[0]] != 1) return nullptr;
    return &module_.computations[called[0]];
  }

  void Number(uint32_t index, bool is_fused, int depth) {
    const Instruction& instruction = module_.instructions[index];
    const Computation* body = depth < kMaxNestedFusions ? BodyOf(instruction) : nullptr;
    if (body != nullptr) {
      const auto operands = module_.Operands(instruction);
      for (uint32_t k = 0; k < body->instruction_count; ++k) {
        const uint32_t inner = body->first_instruction + k;
        const Instruction& fused = module_.instructions[inner];
        const auto number = static_cast<size_t>(fused.parameter_number);
        if (fused.opcode == "parameter" && number < operands.size()) {
          values_[inner] = values_[operands[number]];
        } else {
          Number(inner, true, depth + 1);
        }
      }
      if (body->root < values_.size()) values_[index] = values_[body->root];
      return;
    }
    values_[index] = ValueOf(index);
    if (InfoOf(instruction.opcode).work == OpWork::kNone || IsView(instruction.opcode)) return;
    kernel_.push_back(values_[index]);
    if (is_fused) duplicated_[index] = done_.contains(values_[index]);
  }

  uint64_t ValueOf(uint32_t index) const {
    const Instruction& instruction = module_.instructions[index];
    if (instruction.opcode == "parameter") return Mix(1, index);
    if (instruction.opcode == "get-tuple-element") {
      const uint32_t element = ElementOf(instruction);
      if (element != kNoIndex) return values_[element];
    }
    const model::OpMetadata& metadata = instruction.metadata;
    uint64_t value = Mix(Hash(instruction.opcode), Hash(instruction.shape));
    value = Mix(value, Hash(metadata.op_name));
    value = Mix(value, Mix(static_cast<uint64_t>(metadata.source_line), metadata.stack_frame));
    value = Mix(value, static_cast<uint64_t>(instruction.tuple_index));
    const std::string_view literal = module_.LiteralOf(instruction);
    value = Mix(value, literal == "{...}" ? index : Hash(literal));
    if (instruction.opcode == "slice") value = Mix(value, BoundsOf(index));
    for (const uint32_t operand : module_.Operands(instruction)) {
      value = Mix(value, operand < values_.size() ? values_[operand] : 0);
    }
    return value;
  }

  // A proto is read without the bounds. Then each slice counts as a different value.
  uint64_t BoundsOf(uint32_t index) const {
    constexpr std::string_view kBounds = "slice={";
    const std::string_view attributes = module_.instructions[index].attributes;
    const size_t at = attributes.find(kBounds);
    if (at == attributes.npos) return Mix(2, index);
    return Hash(attributes.substr(at, attributes.find('}', at) - at));
  }

  // The instruction that made an element of a tuple, or of a fusion with several results.
  uint32_t ElementOf(const Instruction& get) const {
    const auto operands = module_.Operands(get);
    if (operands.size() != 1 || operands[0] >= values_.size()) return kNoIndex;
    uint32_t tuple = operands[0];
    const Computation* body = BodyOf(module_.instructions[tuple]);
    if (body != nullptr && body->root < values_.size()) tuple = body->root;
    if (module_.instructions[tuple].opcode != "tuple") return kNoIndex;
    const auto elements = module_.Operands(module_.instructions[tuple]);
    const auto number = static_cast<size_t>(get.tuple_index);
    return number < elements.size() && elements[number] < values_.size() ? elements[number]
                                                                         : kNoIndex;
  }

  const HloModule& module_;
  std::vector<uint64_t> values_;
  std::vector<uint32_t> callers_;
  std::vector<bool> duplicated_;
  std::unordered_set<uint64_t> done_;  // By the kernels of this computation so far.
  std::vector<uint64_t> kernel_;       // By the present one.
};

}  // namespace

std::vector<bool> FindDuplicatedWork(const HloModule& module) { return Numbering(module).Run(); }

}  // namespace xlatrace::hlo
