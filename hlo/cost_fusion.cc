// Fusions: intermediate data stays in registers, so only parameters, constants and results count.

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "hlo/cost_builder.h"
#include "hlo/cost_shape.h"

namespace xlatrace::hlo {

using model::Computation;
using model::HloModule;
using model::Instruction;

namespace {

// Smaller constants are immediates of the code.
constexpr double kImmediateElements = 1;
constexpr double kGpuImmediateElements = 8;

const Computation* BodyOf(const HloModule& module, const Instruction& fusion) {
  const auto callees = module.CalledComputations(fusion);
  return callees.empty() ? nullptr : &module.computations[callees[0]];
}

const Instruction* OperandOf(const HloModule& module, const Instruction& instruction,
                             size_t number) {
  const auto operands = module.Operands(instruction);
  return number < operands.size() ? &module.instructions[operands[number]] : nullptr;
}

// The instruction that computes the part of the fusion's result at `index`, as far as upstream
// looks: the root, or an operand of a root tuple.
const Instruction& Writer(const HloModule& module, const Computation& body,
                          std::span<const int64_t> index) {
  const Instruction& root = module.instructions[body.root];
  if (index.size() != 1 || root.opcode != "tuple") return root;
  const Instruction* const part =
      index[0] < 0 ? nullptr : OperandOf(module, root, static_cast<size_t>(index[0]));
  return part == nullptr ? root : *part;
}

double OutputBytesAt(const HloModule& module, const Computation& body, std::string_view shape,
                     std::vector<int64_t>& index) {
  if (IsTuple(shape)) {
    double sum = 0;
    index.push_back(0);
    for (;; ++index.back()) {
      const std::string_view part = TupleElement(shape, index.back());
      if (part.empty()) break;
      sum += OutputBytesAt(module, body, part, index);
    }
    index.pop_back();
    return sum;
  }
  const Instruction& writer = Writer(module, body, index);
  if (writer.opcode == "dynamic-update-slice") {
    const Instruction* const update = OperandOf(module, writer, 1);
    return update == nullptr ? 0 : ShapeBytes(update->shape);
  }
  return LeafBytes(shape);
}

}  // namespace

double FusionOutputBytes(const HloModule& module, const Instruction& fusion, std::string_view shape,
                         std::span<const int64_t> index) {
  const Computation* const body = BodyOf(module, fusion);
  if (body == nullptr) return LeafBytes(shape);
  std::vector<int64_t> path(index.begin(), index.end());
  return OutputBytesAt(module, *body, shape, path);
}

CostBuilder::Figures CostBuilder::Fusion(const Op& op, Figures figures) {
  const Computation* const body = BodyOf(module_, op.instruction);
  if (body == nullptr) {
    SetUnknown(figures);
    return figures;
  }
  if (op.instruction.fusion_kind == "kCustom") {
    // The kernel is one that was written for the gather or scatter inside.
    for (const Instruction& inner : module_.InstructionsOf(*body)) {
      if (inner.opcode != "gather" && inner.opcode != "scatter") continue;
      for (size_t i = 0; i < inner.operands.size; ++i) {
        OperandBytes(op, i) = model_.operand_bytes_[inner.operands.begin + i];
      }
      return FiguresOf(inner);
    }
  }
  const Figures& sum = model_.computations_[module_.CalledComputations(op.instruction)[0]];
  figures = Figures();
  figures.flops = sum.flops;
  figures.transcendentals = sum.transcendentals;
  figures.unknown = sum.unknown;
  FusionOutputs(op, *body, figures);
  if (gpu() && !Utilize(*body, figures)) {
    SetUnknown(figures);
    return figures;
  }
  FusionConstants(*body, figures);
  FusionInputs(op, *body, figures);
  return figures;
}

void CostBuilder::FusionOutputs(const Op& op, const Computation& body, Figures& figures) {
  std::vector<int64_t> index;
  figures.output_bytes = OutputBytesAt(module_, body, op.shape, index);
  figures.bytes += figures.output_bytes;
  // What is updated in place need not be read by the instruction that updates.
  const Instruction& root = module_.instructions[body.root];
  const auto unused = [&](const Instruction& writer) {
    if (writer.opcode == "dynamic-update-slice" && writer.operands.size > 0) {
      operand_use_[writer.operands.begin] = 0;
    }
  };
  unused(root);
  if (root.opcode != "tuple") return;
  for (const uint32_t part : module_.Operands(root)) unused(module_.instructions[part]);
}

void CostBuilder::FusionConstants(const Computation& body, Figures& figures) const {
  for (uint32_t i = 0; i < body.instruction_count; ++i) {
    const uint32_t at = body.first_instruction + i;
    const Instruction& inner = module_.instructions[at];
    if (inner.opcode != "constant") continue;
    if (Elements(inner.shape) <= (gpu() ? kGpuImmediateElements : kImmediateElements)) continue;
    const double use = count_multiple_ ? use_[at] : std::min(use_[at], 1.0);
    figures.bytes += LeafBytes(inner.shape) * use;
  }
}

void CostBuilder::FusionInputs(const Op& op, const Computation& body, Figures& figures) {
  const Users users(module_, body);
  for (uint32_t i = 0; i < body.instruction_count; ++i) {
    const uint32_t at = body.first_instruction + i;
    const Instruction& parameter = module_.instructions[at];
    if (parameter.opcode != "parameter" || parameter.parameter_number < 0) continue;
    const double bytes =
        IsTuple(parameter.shape) ? TupleReads(parameter.shape, at, users) : ReadBytes(at, users);
    figures.bytes += bytes;
    const auto number = static_cast<size_t>(parameter.parameter_number);
    OperandBytes(op, number) = bytes;
    OperandUse(op, number) = use_[at];
  }
}

// A tuple is read leaf by leaf through get-tuple-element. A leaf that nobody takes out counts as
// what reads of the tuple itself cost (as upstream does: its table of pointers).
double CostBuilder::TupleReads(std::string_view shape, uint32_t node, const Users& users) {
  if (!IsTuple(shape)) return ReadBytes(node, users);
  std::unordered_map<int64_t, uint32_t> parts;
  for (const uint32_t user : users.Of(node)) {
    const Instruction& get = module_.instructions[user];
    if (get.opcode == "get-tuple-element") parts.try_emplace(get.tuple_index, user);
  }
  double sum = 0;
  for (int64_t index = 0;; ++index) {
    const std::string_view part = TupleElement(shape, index);
    if (part.empty()) return sum;
    const auto it = parts.find(index);
    sum += TupleReads(part, it == parts.end() ? node : it->second, users);
  }
}

double CostBuilder::ReadBytes(uint32_t node, const Users& users) {
  if (!gpu()) {
    if (read_bytes_[node] < 0) read_bytes_[node] = PlainReadBytes(node, users);
    return read_bytes_[node];
  }
  const double use = count_multiple_ ? use_[node] : std::min(use_[node], 1.0);
  return std::round(ShapeBytes(module_.instructions[node].shape) * use);
}

// Slices read what they take; broadcasts and reshapes read by themselves; all others share one
// read.
double CostBuilder::PlainReadBytes(uint32_t node, const Users& users) {
  const double all = ShapeBytes(module_.instructions[node].shape);
  double sum = 0;
  bool shared = false;
  const auto share = [&] {
    if (!shared) sum += all;
    shared = true;
  };
  for (const uint32_t at : users.Of(node)) {
    const Instruction& user = module_.instructions[at];
    const bool first = !module_.Operands(user).empty() && module_.Operands(user)[0] == node;
    if (user.opcode == "fusion") {
      const Computation* const body = BodyOf(module_, user);
      if (body == nullptr) continue;
      const auto operands = module_.Operands(user);
      for (uint32_t i = 0; i < body->instruction_count; ++i) {
        const uint32_t inner = body->first_instruction + i;
        const Instruction& parameter = module_.instructions[inner];
        const auto number = static_cast<uint64_t>(parameter.parameter_number);
        if (parameter.opcode == "parameter" && number < operands.size() &&
            operands[number] == node) {
          sum += NestedReadBytes(at, inner, users);
        }
      }
    } else if (user.opcode == "slice" || (user.opcode == "dynamic-slice" && first)) {
      sum += ShapeBytes(user.shape);
    } else if (user.opcode == "dynamic-update-slice" && first) {
      continue;  // In place.
    } else if (user.opcode == "broadcast" || user.opcode == "reshape") {
      sum += all;
    } else {
      share();
    }
  }
  return sum;
}

// What a nested fusion reads through its parameter `inner`. One that is no more than an operation
// on the parameter is looked through: slices of its result read only that much.
double CostBuilder::NestedReadBytes(uint32_t fusion, uint32_t inner, const Users& users) {
  const Computation& body = module_.computations[module_.instructions[inner].computation];
  const auto root_operands = module_.Operands(module_.instructions[body.root]);
  const bool simple = root_operands.empty() || root_operands[0] == inner;
  const double all = ShapeBytes(module_.instructions[fusion].shape);
  double sum = 0;
  bool shared = false;
  for (const uint32_t at : users.Of(fusion)) {
    const Instruction& user = module_.instructions[at];
    const bool first = !module_.Operands(user).empty() && module_.Operands(user)[0] == fusion;
    const bool dynamic = user.opcode == "dynamic-slice" || user.opcode == "dynamic-update-slice";
    if (simple && (user.opcode == "slice" || (user.opcode == "dynamic-slice" && first))) {
      sum += ShapeBytes(user.shape);
    } else if (simple && user.opcode == "dynamic-update-slice" && first) {
      continue;
    } else if (!shared) {
      shared = true;
      sum += simple && dynamic ? all : std::max(read_bytes_[inner], 0.0);
    }
  }
  return sum;
}

}  // namespace xlatrace::hlo
