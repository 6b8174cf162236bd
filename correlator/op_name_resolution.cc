// SPDX-License-Identifier: Apache-2.0
#include "correlator/op_name_resolution.h"

#include <algorithm>
#include <utility>

#include "correlator/op_names.h"
#include "hlo/collective_results.h"
#include "hlo/shape.h"

namespace xlatrace::correlator {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;
using model::OpNameMethod;

// Limit on the instructions without a name in one search. In real modules, named neighbours are a
// few steps away, and a run with 100,000 such instructions must not become quadratic. A combined
// collective has hundreds of operands, each after a step or two.
constexpr size_t kUserLimit = 64;
constexpr size_t kOperandLimit = 1024;
constexpr int kCallerLimit = 64;

// Users of every instruction, in instruction order, as one array with offsets.
class UserLists {
 public:
  explicit UserLists(const HloModule& module) : begin_(module.instructions.size() + 1, 0) {
    const size_t n = module.instructions.size();
    for (const Instruction& instruction : module.instructions) {
      for (const uint32_t operand : module.Operands(instruction)) {
        if (operand < n) ++begin_[operand + 1];
      }
    }
    for (size_t i = 0; i < n; ++i) begin_[i + 1] += begin_[i];
    users_.resize(begin_[n]);
    std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (uint32_t i = 0; i < n; ++i) {
      for (const uint32_t operand : module.Operands(module.instructions[i])) {
        if (operand < n) users_[next[operand]++] = i;
      }
    }
  }

  std::span<const uint32_t> Of(uint32_t instruction) const {
    return std::span(users_).subspan(begin_[instruction],
                                     begin_[instruction + 1] - begin_[instruction]);
  }

 private:
  std::vector<uint32_t> begin_;
  std::vector<uint32_t> users_;
};

// These finish the work of their operands. The all-reduce of a gradient belongs to the backward op
// that made the gradient, not to the optimizer that reads it.
bool IsReductionOverDevices(std::string_view opcode) {
  return opcode.starts_with("all-reduce") || opcode.starts_with("reduce-scatter");
}

bool IsSecondHalf(std::string_view opcode) {
  return opcode.ends_with("-done") || opcode == "async-update";
}

// A caller whose callee runs once, in its place: operands are parameters, and users read the root.
bool IsWrapper(std::string_view opcode) { return opcode == "async-start" || opcode == "call"; }

class Resolver {
 public:
  Resolver(const HloModule& module, std::span<const ComputationUse> uses,
           std::span<const ResolvedName> body_names)
      : module_(module),
        uses_(uses),
        body_names_(body_names),
        users_(module),
        visited_(module.instructions.size(), 0) {
    // Names that neighbours may inherit.
    direct_.resize(module.instructions.size());
    for (uint32_t i = 0; i < direct_.size(); ++i) direct_[i] = Direct(i);
    for (const auto& [collective, views] : hlo::NamedCollectiveResults(module)) {
      NameAfterResults(collective, views);
    }
  }

  OpNames Run() {
    result_.names = direct_;
    std::vector<ResolvedName>& names = result_.names;
    for (uint32_t i = 0; i < names.size(); ++i) {
      if (names[i].op_name.empty() && RoleOf(i) != ComputationRole::kApplied) names[i] = Search(i);
    }
    // Bodies inherit from their callers, so callers come first.
    for (uint32_t i = 0; i < names.size(); ++i) {
      if (names[i].op_name.empty()) names[i] = FromCaller(i);
    }
    return std::move(result_);
  }

 private:
  ComputationRole RoleOf(uint32_t instruction) const {
    const uint32_t computation = module_.instructions[instruction].computation;
    return computation < uses_.size() ? uses_[computation].role : ComputationRole::kUnreached;
  }

  ResolvedName Own(uint32_t index, OpNameMethod method) const {
    return {FirstOpName(module_.instructions[index].metadata.op_name), method, index};
  }

  ResolvedName Direct(uint32_t index) const {
    if (RoleOf(index) == ComputationRole::kApplied) return {};
    if (index < body_names_.size() && !body_names_[index].op_name.empty()) {
      return body_names_[index];
    }
    const Instruction& instruction = module_.instructions[index];
    if (!instruction.metadata.op_name.empty()) return Own(index, OpNameMethod::kOwn);
    if (!IsControlFlow(instruction.opcode)) return {};
    for (const uint32_t callee : module_.CalledComputations(instruction)) {
      if (callee >= module_.computations.size()) continue;
      const model::Computation& body = module_.computations[callee];
      for (uint32_t i = 0; i < body.instruction_count; ++i) {
        const uint32_t inner = body.first_instruction + i;
        const Instruction& candidate = module_.instructions[inner];
        if (candidate.metadata.op_name.empty() || TakesNoTime(candidate.opcode)) continue;
        return Own(inner, OpNameMethod::kBody);
      }
    }
    return {};
  }

  void NameAfterResults(uint32_t collective, const std::vector<hlo::NamedResult>& views) {
    if (!direct_[collective].op_name.empty()) return;
    std::vector<Piece> pieces;
    for (const hlo::NamedResult& view : views) {
      const ResolvedName& name = direct_[view.instruction];
      if (name.op_name.empty()) continue;
      pieces.push_back({name.from, name.op_name, static_cast<double>(view.bytes)});
    }
    if (pieces.empty()) return;
    std::vector<Share> shares = GroupPieces(module_, std::move(pieces));
    direct_[collective] = {shares.front().op_name, OpNameMethod::kUser, shares.front().from};
    if (shares.size() > 1) result_.operand_shares[collective] = std::move(shares);
  }

  // The instruction that calls this one's computation as a wrapper, or kNoIndex.
  uint32_t WrapperOf(uint32_t index) const {
    const uint32_t computation = module_.instructions[index].computation;
    if (computation >= uses_.size() || uses_[computation].caller == kNoIndex) return kNoIndex;
    const uint32_t caller = uses_[computation].caller;
    return IsWrapper(module_.instructions[caller].opcode) ? caller : kNoIndex;
  }

  // True for reductions over devices, also inside an async wrapper.
  bool ServesItsOperands(uint32_t index) const {
    for (int step = 0; step < kCallerLimit; ++step) {
      const Instruction& instruction = module_.instructions[index];
      if (IsReductionOverDevices(instruction.opcode)) return true;
      if (instruction.opcode == "async-start") {
        const auto callees = module_.CalledComputations(instruction);
        if (callees.empty() || callees.front() >= module_.computations.size()) return false;
        index = module_.computations[callees.front()].root;
      } else if (IsSecondHalf(instruction.opcode) && instruction.operands.size > 0) {
        index = module_.Operands(instruction).front();
      } else {
        return false;
      }
      if (index >= module_.instructions.size()) return false;
    }
    return false;
  }

  ResolvedName Search(uint32_t index) {
    const std::string_view opcode = module_.instructions[index].opcode;
    if (opcode == "parameter" || opcode == "constant") return {};
    argument_ = kNoIndex;
    const auto operands = module_.Operands(module_.instructions[index]);
    if (IsSecondHalf(opcode) && !operands.empty() && operands.front() < direct_.size() &&
        !direct_[operands.front()].op_name.empty()) {
      const ResolvedName& first_half = direct_[operands.front()];
      return {first_half.op_name, OpNameMethod::kOperand, first_half.from};
    }
    const bool operands_first = ServesItsOperands(index);
    for (const bool ask_operands : {operands_first, !operands_first}) {
      const ResolvedName found = ask_operands ? SearchOperands(index) : SearchUsers(index);
      if (!found.op_name.empty()) return found;
    }
    // Between an argument and a result there is only the argument's own path, which still contains
    // the layer ("params['dense']['kernel']").
    if (argument_ != kNoIndex) return Own(argument_, OpNameMethod::kOperand);
    return {};
  }

  void StartSearch(uint32_t start, size_t limit) {
    queue_.assign(1, start);
    limit_ = limit;
    ++search_;
    visited_[start] = search_;
  }

  void Enqueue(uint32_t index) {
    if (queue_.size() >= limit_ || visited_[index] == search_) return;
    visited_[index] = search_;
    queue_.push_back(index);
  }

  // Breadth first: the nearest user with a name.
  ResolvedName SearchUsers(uint32_t start) {
    StartSearch(start, kUserLimit);
    for (size_t at = 0; at < queue_.size(); ++at) {
      const uint32_t index = queue_[at];
      const auto users = users_.Of(index);
      for (const uint32_t user : users.first(std::min(users.size(), kUserLimit))) {
        if (!direct_[user].op_name.empty()) {
          return {direct_[user].op_name, OpNameMethod::kUser, direct_[user].from};
        }
        if (!ServesItsOperands(user)) Enqueue(user);
      }
      if (module_.instructions[index].is_root && WrapperOf(index) != kNoIndex) {
        Enqueue(WrapperOf(index));
      }
    }
    return {};
  }

  // Breadth first: all nearest operands with names, by bytes.
  ResolvedName SearchOperands(uint32_t start) {
    StartSearch(start, kOperandLimit);
    std::vector<Piece> pieces;
    for (size_t at = 0; at < queue_.size(); ++at) {
      const uint32_t index = queue_[at];
      for (uint32_t operand : module_.Operands(module_.instructions[index])) {
        if (operand >= direct_.size()) continue;
        if (module_.instructions[operand].opcode == "parameter") operand = Outside(operand);
        const std::string_view opcode = module_.instructions[operand].opcode;
        if (opcode == "constant") continue;
        if (opcode == "parameter") {
          if (argument_ == kNoIndex && !direct_[operand].op_name.empty()) argument_ = operand;
        } else if (!direct_[operand].op_name.empty()) {
          // If an instruction selects one element of a tuple, only the element.
          const int64_t bytes = std::min(hlo::ByteSize(module_.instructions[operand].shape),
                                         hlo::ByteSize(module_.instructions[index].shape));
          pieces.push_back(
              {direct_[operand].from, direct_[operand].op_name, static_cast<double>(bytes)});
        } else {
          Enqueue(operand);
        }
      }
    }
    if (pieces.empty()) return {};
    std::vector<Share> shares = GroupPieces(module_, std::move(pieces));
    const ResolvedName largest = {shares.front().op_name, OpNameMethod::kOperand,
                                  shares.front().from};
    if (shares.size() > 1) result_.operand_shares[start] = std::move(shares);
    return largest;
  }

  // The value outside of a wrapped computation for its parameter.
  uint32_t Outside(uint32_t parameter) const {
    for (int step = 0; step < kCallerLimit; ++step) {
      const uint32_t caller = WrapperOf(parameter);
      if (caller == kNoIndex) break;
      const auto operands = module_.Operands(module_.instructions[caller]);
      const auto number = static_cast<size_t>(module_.instructions[parameter].parameter_number);
      if (number >= operands.size()) break;
      parameter = operands[number];
      if (module_.instructions[parameter].opcode != "parameter") break;
    }
    return parameter;
  }

  ResolvedName FromCaller(uint32_t index) const {
    const std::vector<ResolvedName>& names = result_.names;
    const bool applied = RoleOf(index) == ComputationRole::kApplied;
    const std::string_view opcode = module_.instructions[index].opcode;
    if (!applied && (opcode == "parameter" || opcode == "constant")) return {};
    uint32_t at = index;
    for (int step = 0; step < kCallerLimit; ++step) {
      const uint32_t computation = module_.instructions[at].computation;
      if (computation >= uses_.size() || uses_[computation].caller == kNoIndex) break;
      at = uses_[computation].caller;
      if (!names[at].op_name.empty() && RoleOf(at) != ComputationRole::kApplied) {
        return {names[at].op_name, OpNameMethod::kUser, names[at].from};
      }
    }
    // A reducer whose caller has no name either keeps its own relative name, for its own row only.
    if (!module_.instructions[index].metadata.op_name.empty()) {
      return Own(index, OpNameMethod::kOwn);
    }
    return {};
  }

  const HloModule& module_;
  std::span<const ComputationUse> uses_;
  std::span<const ResolvedName> body_names_;
  UserLists users_;
  std::vector<ResolvedName> direct_;
  OpNames result_;
  // State of the current search; reused.
  std::vector<uint32_t> queue_;
  std::vector<uint32_t> visited_;  // By instruction: the last search that queued it.
  uint32_t search_ = 0;
  size_t limit_ = 0;
  uint32_t argument_ = kNoIndex;  // First named argument of the entry in the search.
};

}  // namespace

OpNames ResolveOpNames(const HloModule& module, std::span<const ComputationUse> uses,
                       std::span<const ResolvedName> body_names) {
  return Resolver(module, uses, body_names).Run();
}

}  // namespace xlatrace::correlator
