// SPDX-License-Identifier: Apache-2.0

// Fusions: intermediate data stays in registers, so only parameters, constants and results count.

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "hlo/cost/cost_builder.h"
#include "hlo/cost/cost_shape.h"

namespace xlatrace::hlo {

using model::Computation;
using model::HloModule;
using model::Instruction;

namespace {

// Smaller constants are immediates of the code.
constexpr double kMaxImmediateElements = 1;
constexpr double kMaxGpuImmediateElements = 8;

const Computation* BodyOf(const HloModule& module, const Instruction& fusion) {
  const auto callees = module.CalledComputations(fusion);
  return callees.empty() ? nullptr : &module.computations[callees[0]];
}

const Instruction* OperandOf(const HloModule& module, const Instruction& instruction,
                             size_t number) {
  const auto operands = module.Operands(instruction);
  return number < operands.size() ? &module.instructions[operands[number]] : nullptr;
}

// The instruction that computes the part of the fusion's result at `index`. As in upstream, this is
// the root, or an operand of a root tuple.
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
    for (const std::string_view part : TupleElements(shape)) {
      sum += OutputBytesAt(module, body, part, index);
      ++index.back();
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
  const auto callees = module_.CalledComputations(op.instruction);
  if (callees.empty()) {
    SetUnknown(figures);
    return figures;
  }
  const FusionBody& body = BodyFigures(callees[0]);
  if (op.instruction.fusion_kind == "kCustom" && body.special != model::kNoIndex) {
    // The kernel is one that was written for the gather or scatter inside.
    const Instruction& inner = module_.instructions[body.special];
    for (size_t i = 0; i < std::min(inner.operands.size, op.instruction.operands.size); ++i) {
      OperandBytes(op, i) = model_.operand_bytes_[inner.operands.begin + i];
    }
    return FiguresOf(inner);
  }
  if (!body.known) {
    SetUnknown(figures);
    return figures;
  }
  const Figures& sum = model_.computations_[callees[0]];
  figures = Figures();
  figures.flops = gpu() ? body.flops : sum.flops;
  figures.transcendentals = sum.transcendentals;
  figures.unknown = sum.unknown;
  figures.output_bytes = FusionOutputBytes(module_, op.instruction, op.shape, {});
  figures.bytes = figures.output_bytes + body.constants;
  for (size_t i = 0; i < op.instruction.operands.size && i < body.reads.size(); ++i) {
    OperandBytes(op, i) = body.reads[i];
    OperandUse(op, i) = body.uses[i];
    figures.bytes += body.reads[i];
  }
  return figures;
}

const CostBuilder::FusionBody& CostBuilder::BodyFigures(uint32_t computation) {
  FusionBody& body = bodies_[computation];
  if (body.done) return body;
  body.done = true;
  const Computation& inside = module_.computations[computation];
  for (uint32_t i = 0; i < inside.instruction_count; ++i) {
    const uint32_t at = inside.first_instruction + i;
    const std::string_view opcode = module_.instructions[at].opcode;
    if (opcode != "gather" && opcode != "scatter") continue;
    body.special = at;
    break;
  }
  if (parameters_[computation].empty()) NoteParameters(computation);
  ForgetUpdatedOperands(inside);
  if (gpu()) body.known = Utilize(inside, &body.flops);
  body.constants = ConstantBytes(inside);
  const Users users(module_, inside);
  for (const uint32_t at : parameters_[computation]) {
    const bool missing = at == model::kNoIndex;
    body.reads.push_back(missing ? 0 : TupleReads(module_.instructions[at].shape, at, users));
    body.uses.push_back(missing ? 0 : use_[at]);
  }
  return body;
}

// An operand that a root updates in place need not be read for it.
void CostBuilder::ForgetUpdatedOperands(const Computation& computation) {
  const Instruction& root = module_.instructions[computation.root];
  const auto forget = [&](const Instruction& writer) {
    if (writer.opcode == "dynamic-update-slice" && writer.operands.size > 0) {
      operand_use_[writer.operands.begin] = 0;
    }
  };
  forget(root);
  if (root.opcode != "tuple") return;
  for (const uint32_t part : module_.Operands(root)) forget(module_.instructions[part]);
}

double CostBuilder::ConstantBytes(const Computation& computation) const {
  double sum = 0;
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    const uint32_t at = computation.first_instruction + i;
    const Instruction& inner = module_.instructions[at];
    if (inner.opcode != "constant") continue;
    if (Elements(inner.shape) <= (gpu() ? kMaxGpuImmediateElements : kMaxImmediateElements))
      continue;
    sum += LeafBytes(inner.shape) * (count_multiple_ ? use_[at] : std::min(use_[at], 1.0));
  }
  return sum;
}

// A tuple is read leaf by leaf through get-tuple-element. If a leaf has no get-tuple-element, its
// cost is that of reading the tuple itself, which is its table of pointers. XLA counts the same.
double CostBuilder::TupleReads(std::string_view shape, uint32_t node, const Users& users) {
  if (!IsTuple(shape)) return ReadBytes(node, users);
  std::unordered_map<int64_t, uint32_t> parts;
  for (const uint32_t user : users.Of(node)) {
    const Instruction& get = module_.instructions[user];
    if (get.opcode == "get-tuple-element") parts.try_emplace(get.tuple_index, user);
  }
  double sum = 0;
  int64_t index = 0;
  for (const std::string_view part : TupleElements(shape)) {
    const auto it = parts.find(index++);
    sum += TupleReads(part, it == parts.end() ? node : it->second, users);
  }
  return sum;
}

double CostBuilder::ReadBytes(uint32_t node, const Users& users) {
  if (!gpu()) {
    if (read_bytes_[node] < 0) read_bytes_[node] = PlainReadBytes(node, users);
    return read_bytes_[node];
  }
  const double use = count_multiple_ ? use_[node] : std::min(use_[node], 1.0);
  return std::round(ShapeBytes(module_.instructions[node].shape) * use);
}

// A slice reads its part. Broadcasts and reshapes each have their own read. All others share one
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
      const auto callees = module_.CalledComputations(user);
      const auto operands = module_.Operands(user);
      for (size_t i = 0; i < operands.size() && !callees.empty(); ++i) {
        const uint32_t inner = operands[i] == node ? ParameterOf(callees[0], i) : model::kNoIndex;
        if (inner != model::kNoIndex) sum += NestedReadBytes(at, inner, users);
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

// Bytes that a nested fusion reads through its parameter `inner`. If the fusion is only an
// operation on the parameter, slices of its result read only their part.
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
