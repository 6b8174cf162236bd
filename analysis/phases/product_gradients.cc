// SPDX-License-Identifier: Apache-2.0
#include "analysis/phases/product_gradients.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_set>

#include "analysis/phases/without_gradient.h"

namespace xlatrace::analysis::phases {
namespace {

using model::Instruction;
using model::Phase;

// A product, and the position (0 or 1) of the operand that it is listed under.
using Use = std::pair<uint32_t, size_t>;
using UsesByOperand = std::map<std::pair<Draft::Line, uint32_t>, std::vector<Use>>;

struct Gradients {
  std::vector<uint32_t> products;   // Products of the forward pass,
  std::vector<uint32_t> gradients;  // and at the same position the gradient that shows each.
  std::set<Draft::Line> lines;
};

// The operand before changes of layout and type.
uint32_t Carried(const Draft& draft, uint32_t node) {
  while (true) {
    const std::string_view opcode = draft.At(node).opcode;
    const auto operands = draft.module().Operands(draft.At(node));
    if (operands.size() != 1 || (opcode != "bitcast" && opcode != "copy" && opcode != "convert" &&
                                 opcode != "reshape" && opcode != "transpose")) {
      return node;
    }
    node = operands[0];
  }
}

// Compares two products that share an operand in the same place. The gradient of a convolution by
// its kernel has the input in front, as the convolution has. Other places show no gradient.
bool DiffersFrom(const Draft& draft, uint32_t a, uint32_t b, size_t place) {
  if (draft.At(a).opcode == "convolution") return place == 0;
  const auto left = draft.module().LhsContractingDims(draft.At(a));
  const auto right = draft.module().LhsContractingDims(draft.At(b));
  return !std::equal(left.begin(), left.end(), right.begin(), right.end());
}

// Subtracts the number of visits from `budget`; false once it is used up.
bool DependsOn(const Draft& draft, uint32_t node, uint32_t on, int64_t* budget) {
  std::vector<uint32_t> open = {node};
  std::unordered_set<uint32_t> seen = {node};
  while (!open.empty() && --*budget > 0) {
    const uint32_t at = open.back();
    open.pop_back();
    if (at == on) return true;
    // Operands come before their users.
    if (at < on && draft.At(at).computation == draft.At(on).computation) continue;
    for (const uint32_t operand : draft.graph().Operands(at)) {
      if (seen.insert(operand).second) open.push_back(operand);
    }
  }
  return false;
}

// Open products with a name and a line, by line and operand.
UsesByOperand OpenProducts(const Draft& draft) {
  UsesByOperand by_operand;
  for (uint32_t node = 0; node < draft.size(); ++node) {
    const Instruction& self = draft.At(node);
    if (!draft.IsOpen(node) || !IsMatrixWork(self.opcode) || !draft.HasLine(node)) continue;
    const auto operands = draft.module().Operands(self);
    if (draft.Name(node).kind == OpName::Kind::kEmpty || operands.size() < 2) continue;
    for (size_t place = 0; place < 2; ++place) {
      by_operand[{draft.LineOf(node), Carried(draft, operands[place])}].emplace_back(node, place);
    }
  }
  return by_operand;
}

// Whether `of`, which shares an operand and a line with `product`, is its gradient.
bool IsGradientOf(const Draft& draft, const Use& of, const Use& product, int64_t* budget) {
  if (product.first == of.first) return false;
  if (product.second == of.second && !DiffersFrom(draft, product.first, of.first, product.second)) {
    return false;
  }
  const uint32_t cotangent = draft.module().Operands(draft.At(of.first))[1 - of.second];
  return Carried(draft, cotangent) != product.first &&
         DependsOn(draft, cotangent, product.first, budget);
}

Gradients FindGradients(const Draft& draft) {
  int64_t budget = 20'000'000;  // Pairs and visited nodes.
  Gradients found;
  for (const auto& [key, uses] : OpenProducts(draft)) {
    for (const Use& product : uses) {
      for (const Use& gradient : uses) {
        if (--budget <= 0) return found;
        if (!IsGradientOf(draft, gradient, product, &budget)) continue;
        found.products.push_back(product.first);
        found.gradients.push_back(gradient.first);
        found.lines.insert(key.first);
      }
    }
  }
  return found;
}

}  // namespace

bool DecideProductGradients(Draft& draft) {
  const Gradients found = FindGradients(draft);
  if (!draft.style().has_backward && found.lines.size() < 2 && !MayHideGradients(draft)) {
    return false;
  }
  for (const uint32_t node : found.products) {
    draft.Decide(node, Phase::kForward);
    draft.SetWeak(node, true);
  }
  for (const uint32_t node : found.gradients) draft.Decide(node, Phase::kBackward);
  return !found.gradients.empty();
}

}  // namespace xlatrace::analysis::phases
