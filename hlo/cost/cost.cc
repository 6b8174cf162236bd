// SPDX-License-Identifier: Apache-2.0
#include "hlo/cost/cost.h"

#include <algorithm>
#include <utility>

#include "hlo/cost/cost_builder.h"
#include "hlo/cost/cost_shape.h"

namespace xlatrace::hlo {

using model::Computation;
using model::HloModule;
using model::Instruction;

namespace {

// Chains of calls can double a cost a thousand times.
constexpr double kMaxFigure = 1e300;

int64_t Whole(double value) {
  constexpr double kMaxWholeFigure = 9.2e18;
  if (!(value > 0)) return 0;
  return value >= kMaxWholeFigure ? INT64_MAX : static_cast<int64_t>(value);
}

}  // namespace

CostModel::CostModel(const HloModule& module, CostOptions options)
    : module_(module), options_(std::move(options)) {
  CostBuilder(*this).Run();
}

Cost CostModel::Public(const Figures& figures) {
  Cost cost;
  if (figures.flops_known) cost.flops = Whole(figures.flops);
  cost.transcendentals = Whole(figures.transcendentals);
  if (figures.bytes_known) cost.bytes_accessed = Whole(figures.bytes);
  if (figures.output_known) cost.output_bytes = Whole(figures.output_bytes);
  if (figures.transferred >= 0) cost.bytes_transferred = Whole(figures.transferred);
  cost.unknown = figures.unknown;
  return cost;
}

size_t CostModel::IndexOf(const Instruction& instruction) const {
  return static_cast<size_t>(&instruction - module_.instructions.data());
}

Cost CostModel::Of(const Instruction& instruction) const {
  return Public(instructions_[IndexOf(instruction)]);
}

Cost CostModel::OfComputation(uint32_t computation) const {
  return Public(computations_[computation]);
}

Cost CostModel::Total() const {
  return module_.entry < computations_.size() ? OfComputation(module_.entry) : Cost{};
}

std::optional<int64_t> CostModel::OperandBytes(const Instruction& instruction,
                                               size_t number) const {
  if (number >= instruction.operands.size) return std::nullopt;
  const double bytes = operand_bytes_[instruction.operands.begin + number];
  if (bytes < 0) return std::nullopt;
  return Whole(bytes);
}

std::optional<int64_t> CostModel::OutputBytes(const Instruction& instruction,
                                              std::span<const int64_t> index) const {
  if (index.empty()) return Of(instruction).output_bytes;
  std::string_view shape = instruction.shape;
  for (const int64_t element : index) shape = TupleElement(shape, element);
  if (shape.empty() || !instructions_[IndexOf(instruction)].output_known) return std::nullopt;
  if (instruction.opcode == "fusion") {
    return Whole(FusionOutputBytes(module_, instruction, shape, index));
  }
  return Whole(LeafBytes(shape));
}

CostBuilder::Users::Users(const HloModule& module, const Computation& computation)
    : first_(computation.first_instruction), begin_(computation.instruction_count + 1, 0) {
  const uint32_t count = computation.instruction_count;
  // Users come in order, so that an instruction which uses another twice does so in a row.
  std::vector<uint32_t> last(count, UINT32_MAX);
  const auto for_each = [&](auto use) {
    std::fill(last.begin(), last.end(), UINT32_MAX);
    for (uint32_t i = 0; i < count; ++i) {
      for (const uint32_t operand : module.Operands(module.instructions[first_ + i])) {
        const uint32_t at = operand - first_;
        if (at >= count || last[at] == i) continue;
        last[at] = i;
        use(at, i);
      }
    }
  };
  for_each([&](uint32_t used, uint32_t) { ++begin_[used + 1]; });
  for (uint32_t i = 0; i < count; ++i) begin_[i + 1] += begin_[i];
  users_.resize(begin_[count]);
  std::vector<uint32_t> fill(begin_.begin(), begin_.end() - 1);
  for_each([&](uint32_t used, uint32_t user) { users_[fill[used]++] = first_ + user; });
}

std::span<const uint32_t> CostBuilder::Users::Of(uint32_t instruction) const {
  const uint32_t at = instruction - first_;
  return std::span(users_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
}

CostBuilder::CostBuilder(CostModel& model)
    : model_(model),
      module_(model.module_),
      count_multiple_(model.options_.count_multiple_input_accesses.value_or(model.options_.kind ==
                                                                            CostKind::kGpu)),
      operand_use_(module_.operand_pool.size(), 1),
      use_(module_.instructions.size(), 1),
      read_bytes_(module_.instructions.size(), -1),
      parameters_(module_.computations.size()),
      bodies_(module_.computations.size()) {}

void CostBuilder::Run() {
  model_.instructions_.resize(module_.instructions.size());
  model_.computations_.resize(module_.computations.size());
  model_.operand_bytes_.resize(module_.operand_pool.size(), 0);
  for (const uint32_t index : CalleesFirst()) {
    const Computation& computation = module_.computations[index];
    Figures& sum = model_.computations_[index];
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const uint32_t at = computation.first_instruction + i;
      const Instruction& instruction = module_.instructions[at];
      model_.instructions_[at] = Handle({instruction, instruction.opcode, instruction.shape});
      Add(sum, model_.instructions_[at]);
    }
    if (!computation.is_fusion) continue;
    NoteParameters(index);
    if (gpu()) continue;
    const Users users(module_, computation);
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const uint32_t at = computation.first_instruction + i;
      const std::string_view opcode = module_.instructions[at].opcode;
      if (opcode == "parameter" || opcode == "get-tuple-element") {
        read_bytes_[at] = PlainReadBytes(at, users);
      }
    }
  }
}

void CostBuilder::NoteParameters(uint32_t computation) {
  const Computation& body = module_.computations[computation];
  std::vector<uint32_t>& parameters = parameters_[computation];
  for (uint32_t i = 0; i < body.instruction_count; ++i) {
    const uint32_t at = body.first_instruction + i;
    const auto number = static_cast<uint64_t>(module_.instructions[at].parameter_number);
    if (number >= body.instruction_count) continue;  // None, or damage.
    if (parameters.size() <= number) parameters.resize(number + 1, model::kNoIndex);
    parameters[number] = at;
  }
}

uint32_t CostBuilder::ParameterOf(uint32_t computation, size_t number) const {
  const std::vector<uint32_t>& parameters = parameters_[computation];
  return number < parameters.size() ? parameters[number] : model::kNoIndex;
}

// Depth first with a stack of our own: damaged files chain calls as deep as they are long. Readers
// guarantee that calls form no cycle.
std::vector<uint32_t> CostBuilder::CalleesFirst() const {
  std::vector<uint32_t> order;
  std::vector<uint8_t> seen(module_.computations.size(), 0);
  struct Open {
    uint32_t computation;
    uint32_t instruction;  // Position in the computation.
    uint32_t callee;       // Position among that instruction's callees.
  };
  std::vector<Open> stack;
  for (uint32_t start = 0; start < module_.computations.size(); ++start) {
    if (seen[start]) continue;
    seen[start] = 1;
    stack.push_back({start, 0, 0});
    while (!stack.empty()) {
      Open& top = stack.back();
      const Computation& computation = module_.computations[top.computation];
      if (top.instruction == computation.instruction_count) {
        order.push_back(top.computation);
        stack.pop_back();
        continue;
      }
      const auto callees = module_.CalledComputations(
          module_.instructions[computation.first_instruction + top.instruction]);
      if (top.callee == callees.size()) {
        ++top.instruction;
        top.callee = 0;
        continue;
      }
      const uint32_t callee = callees[top.callee++];
      if (seen[callee]) continue;
      seen[callee] = 1;
      stack.push_back({callee, 0, 0});
    }
  }
  return order;
}

void CostBuilder::Add(Figures& sum, const Figures& part) {
  const auto add = [](double& to, double value) { to = std::min(to + value, kMaxFigure); };
  if (part.flops_known) add(sum.flops, part.flops);
  if (part.bytes_known) add(sum.bytes, part.bytes);
  if (part.output_known) add(sum.output_bytes, part.output_bytes);
  add(sum.transcendentals, part.transcendentals);
  if (part.transferred >= 0) {
    if (sum.transferred < 0) sum.transferred = 0;
    add(sum.transferred, part.transferred);
  }
  sum.unknown = std::max(sum.unknown, sum.unknown + part.unknown);
}

const Instruction* CostBuilder::Operand(const Op& op, size_t number) const {
  const auto operands = module_.Operands(op.instruction);
  return number < operands.size() ? &module_.instructions[operands[number]] : nullptr;
}

std::string_view CostBuilder::OperandShape(const Op& op, size_t number) const {
  const Instruction* const operand = Operand(op, number);
  return operand == nullptr ? std::string_view() : operand->shape;
}

double& CostBuilder::OperandBytes(const Op& op, size_t number) {
  if (number >= op.instruction.operands.size) return discard_;
  return model_.operand_bytes_[op.instruction.operands.begin + number];
}

double& CostBuilder::OperandUse(const Op& op, size_t number) {
  if (number >= op.instruction.operands.size) return discard_;
  return operand_use_[op.instruction.operands.begin + number];
}

const CostBuilder::Figures& CostBuilder::FiguresOf(const Instruction& instruction) const {
  return model_.instructions_[model_.IndexOf(instruction)];
}

}  // namespace xlatrace::hlo
