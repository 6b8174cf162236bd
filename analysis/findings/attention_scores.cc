// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/attention_scores.h"

#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "analysis/module_graph.h"
#include "hlo/op_category.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::analysis::findings {
namespace {

using hlo::OpWork;
using model::HloModule;
using model::Instruction;

// A scale, a mask, a bias, conversions and copies lie between a product and its softmax.
constexpr size_t kMaxOnTheWay = 64;
constexpr int kMaxPassedOn = 64;  // Instructions that only pass a parameter on.

class Finder {
 public:
  explicit Finder(const HloModule& module) : module_(module), graph_(module) {}

  std::set<int64_t> Find() const {
    std::set<int64_t> found;
    for (uint32_t node = 0; node < module_.instructions.size(); ++node) {
      if (!IsProduct(node) || !MultipliesActivations(node)) continue;
      const int64_t elements = Elements(node);
      if (!found.contains(elements) && IsReadBySoftmax(node, elements)) found.insert(elements);
    }
    return found;
  }

 private:
  bool IsProduct(uint32_t node) const {
    const Instruction& i = module_.instructions[node];
    return i.opcode == "dot" ||
           (i.opcode == "custom-call" && hlo::KindOf(module_, i) == model::OpKind::kGemm);
  }

  int64_t Elements(uint32_t node) const {
    return hlo::FirstLeaf(module_.instructions[node].shape).elements();
  }

  size_t Rank(uint32_t node) const {
    return hlo::FirstLeaf(module_.instructions[node].shape).dims.size();
  }

  bool MultipliesActivations(uint32_t product) const {
    const Instruction& i = module_.instructions[product];
    const auto operands = module_.Operands(i);
    if (operands.size() < 2) return false;
    // Each contracted dimension is one of both operands and none of the result.
    const size_t contracted = i.opcode == "dot" ? i.lhs_contracting_dims.size : 1;
    const bool batched = Rank(operands[0]) + Rank(operands[1]) > Rank(product) + 2 * contracted;
    return batched || (IsComputed(operands[0]) && IsComputed(operands[1]));
  }

  // Made by an operation of the program, not a part of one of its parameters.
  bool IsComputed(uint32_t node) const {
    for (int step = 0; step < kMaxPassedOn; ++step) {
      const Instruction& i = module_.instructions[node];
      if (i.opcode == "constant") return false;
      const auto sources = graph_.Operands(node);
      const bool passes = hlo::IsView(i.opcode) || i.opcode == "parameter" || i.opcode == "copy" ||
                          i.opcode == "transpose" || i.opcode == "convert" ||
                          i.opcode == "fusion" || i.opcode == "while" || i.opcode == "call";
      if (!passes) return true;
      if (sources.empty()) return false;
      node = sources.front();
    }
    return false;
  }

  bool IsReadBySoftmax(uint32_t product, int64_t elements) const {
    std::vector<uint32_t> queue = {product};
    std::unordered_set<uint32_t> seen = {product};
    for (size_t at = 0; at < queue.size() && queue.size() < kMaxOnTheWay; ++at) {
      for (const uint32_t user : graph_.Users(queue[at])) {
        const Instruction& i = module_.instructions[user];
        const OpWork work = hlo::InfoOf(i.opcode).work;
        const bool passes = work == OpWork::kNone || work == OpWork::kElementwise ||
                            work == OpWork::kMovement || i.opcode == "fusion";
        if (Elements(user) != elements) continue;
        if (i.opcode == "exponential") return true;
        if (passes && seen.insert(user).second) queue.push_back(user);
      }
    }
    return false;
  }

  const HloModule& module_;
  ModuleGraph graph_;
};

}  // namespace

std::set<int64_t> ScoreElements(const HloModule& module) { return Finder(module).Find(); }

}  // namespace xlatrace::analysis::findings
