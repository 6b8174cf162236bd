// SPDX-License-Identifier: Apache-2.0

// How much of each instruction inside a fusion XLA:GPU computes, per element of its result.
// Examples: 0.1 if only a tenth is used, 40 if each element is computed again for 40 users.
//
// The walk starts at the root. An elementwise instruction computes the elements that its users'
// users need, in one pass. So it carries a set of "roots": the places behind which other access
// begins. Any other instruction makes its operand such a root. A value that two roots need is
// computed twice.

#include <algorithm>
#include <cmath>
#include <iterator>

#include "hlo/cost/cost_builder.h"
#include "hlo/cost/cost_opcode.h"
#include "hlo/cost/cost_shape.h"

namespace xlatrace::hlo {

using model::Computation;
using model::Instruction;

namespace {

// Limit of entries of root sets in one fusion. Only hostile files exceed it; then cost is unknown.
constexpr size_t kMaxRootEntries = size_t{1} << 25;

using Roots = std::vector<uint32_t>;  // Sorted.

void Merge(const Roots& from, Roots& into) {
  if (into.empty()) {
    into = from;
    return;
  }
  Roots merged;
  merged.reserve(into.size() + from.size());
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
  into.swap(merged);
}

// Needed elements rounded up to whole ones; a value just above a whole number is that number.
double RoundUpElements(double use, double elements) {
  if (elements <= 0) return 0;
  constexpr double kRoundingTolerance = 1e-9;
  const double wanted = use * elements;
  const double nearest = std::round(wanted);
  const bool is_whole = std::abs(wanted - nearest) <= kRoundingTolerance * std::max(1.0, wanted);
  return (is_whole ? nearest : std::ceil(wanted)) / elements;
}

// Users before operands. Readers leave operands before their users nearly always.
std::vector<uint32_t> UsersFirst(const model::HloModule& module, const Computation& body) {
  const uint32_t first = body.first_instruction;
  const uint32_t count = body.instruction_count;
  std::vector<uint32_t> users(count, 0);
  for (const Instruction& instruction : module.InstructionsOf(body)) {
    for (const uint32_t operand : module.Operands(instruction)) ++users[operand - first];
  }
  std::vector<uint32_t> order;
  order.reserve(count);
  for (uint32_t i = count; i > 0; --i) {
    if (users[i - 1] == 0) order.push_back(i - 1);
  }
  for (size_t next = 0; next < order.size(); ++next) {
    for (const uint32_t operand : module.Operands(module.instructions[first + order[next]])) {
      if (--users[operand - first] == 0) order.push_back(operand - first);
    }
  }
  return order;
}

}  // namespace

bool CostBuilder::IsElementwise(const Instruction& instruction) const {
  if (instruction.opcode == "fusion") {
    const auto callees = module_.CalledComputations(instruction);
    if (callees.empty() || instruction.fusion_kind != "kLoop") return false;
    const auto inside = module_.InstructionsOf(module_.computations[callees[0]]);
    return std::all_of(inside.begin(), inside.end(), [](const Instruction& inner) {
      return inner.opcode == "parameter" || inner.opcode == "constant" ||
             IsElementwiseOpcode(inner.opcode);
    });
  }
  if (instruction.opcode == "bitcast-convert") {
    const auto operands = module_.Operands(instruction);
    return !operands.empty() && BitsOf(FirstLeaf(instruction.shape).type) ==
                                    BitsOf(FirstLeaf(module_.instructions[operands[0]].shape).type);
  }
  return IsElementwiseOpcode(instruction.opcode);
}

bool CostBuilder::Utilize(const Computation& body, double* flops) {
  const uint32_t first = body.first_instruction;
  std::vector<Roots> roots(body.instruction_count);
  std::vector<double> root_use(body.instruction_count, 0);
  root_use[body.root - first] = 1;
  roots[body.root - first] = {body.root - first};
  *flops = 0;
  size_t entries = 0;
  for (const uint32_t at : UsersFirst(module_, body)) {
    const Instruction& instruction = module_.instructions[first + at];
    double use = 0;
    for (const uint32_t root : roots[at]) use += root_use[root];
    use = std::min(use, 1e300);
    use_[first + at] = use;
    const Figures& own = model_.instructions_[first + at];
    if (own.flops_known) *flops = std::min(*flops + use * own.flops, 1e300);
    const bool passes_on = instruction.opcode == "tuple" ||
                           instruction.opcode == "get-tuple-element" || IsElementwise(instruction);
    for (uint32_t i = 0; i < instruction.operands.size; ++i) {
      const uint32_t slot = instruction.operands.begin + i;
      const uint32_t operand = module_.operand_pool[slot] - first;
      if (passes_on) {
        entries += roots[at].size();
        if (entries > kMaxRootEntries) return false;
        Merge(roots[at], roots[operand]);
      } else {
        Merge({operand}, roots[operand]);
        root_use[operand] += RoundUpElements(use * operand_use_[slot],
                                             Elements(module_.instructions[first + operand].shape));
      }
    }
    roots[at] = Roots();  // All users of its operands' sets are done with it.
  }
  return true;
}

}  // namespace xlatrace::hlo
