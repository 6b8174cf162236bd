#include "correlator/op_name_resolution.h"

#include <algorithm>
#include <array>

namespace xlatrace::correlator {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;
using model::OpNameMethod;

// How many instructions one search may look at: named neighbours are a few steps away in real
// modules, and a run with 100,000 unnamed instructions must not become quadratic.
constexpr size_t kSearchLimit = 64;
constexpr int kCallerLimit = 64;

// Users of every instruction, in instruction order, as one array and offsets into it.
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

// These finish what their operands began: the gradient all-reduce belongs to the backward op that
// made the gradient, not to the optimizer that reads it.
bool ServesItsOperands(std::string_view opcode) {
  return opcode.ends_with("-done") || opcode == "async-update" ||
         opcode.starts_with("all-reduce") || opcode.starts_with("reduce-scatter");
}

class Resolver {
 public:
  Resolver(const HloModule& module, std::span<const ComputationUse> uses,
           std::span<const ResolvedName> body_names)
      : module_(module), uses_(uses), body_names_(body_names), users_(module) {
    // Names that may be passed on to neighbours.
    direct_.resize(module.instructions.size());
    for (uint32_t i = 0; i < direct_.size(); ++i) direct_[i] = Direct(i);
  }

  std::vector<ResolvedName> Run() {
    std::vector<ResolvedName> names = direct_;
    for (uint32_t i = 0; i < names.size(); ++i) {
      if (names[i].op_name.empty() && RoleOf(i) != ComputationRole::kApplied) names[i] = Search(i);
    }
    // Bodies take what is missing from their callers, so callers must be settled first.
    for (uint32_t i = 0; i < names.size(); ++i) {
      if (names[i].op_name.empty()) names[i] = FromCaller(names, i);
    }
    return names;
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

  ResolvedName Search(uint32_t index) {
    const std::string_view opcode = module_.instructions[index].opcode;
    if (opcode == "parameter" || opcode == "constant") return {};
    uint32_t argument = kNoIndex;
    const bool operands_first = ServesItsOperands(opcode);
    for (const bool operands : {operands_first, !operands_first}) {
      ResolvedName found = Walk(index, operands, &argument);
      if (!found.op_name.empty()) return found;
    }
    // Between an argument and a result there is nothing but the argument's own path, which still
    // tells the layer ("params['dense']['kernel']").
    if (argument != kNoIndex) return Own(argument, OpNameMethod::kOperand);
    return {};
  }

  // Breadth first over users or operands, through what has no name.
  ResolvedName Walk(uint32_t start, bool operands, uint32_t* argument) {
    queue_.assign(1, start);
    for (size_t at = 0; at < queue_.size(); ++at) {
      const auto neighbours =
          operands ? module_.Operands(module_.instructions[queue_[at]]) : users_.Of(queue_[at]);
      for (const uint32_t next : neighbours) {
        if (next >= direct_.size()) continue;
        const std::string_view opcode = module_.instructions[next].opcode;
        if (opcode == "parameter") {
          if (*argument == kNoIndex && !direct_[next].op_name.empty()) *argument = next;
          continue;
        }
        if (opcode == "constant") continue;
        if (!direct_[next].op_name.empty()) {
          return {direct_[next].op_name, operands ? OpNameMethod::kOperand : OpNameMethod::kUser,
                  direct_[next].from};
        }
        if (queue_.size() >= kSearchLimit) break;
        if (std::find(queue_.begin(), queue_.end(), next) == queue_.end()) queue_.push_back(next);
      }
    }
    return {};
  }

  ResolvedName FromCaller(std::span<const ResolvedName> names, uint32_t index) const {
    const bool applied = RoleOf(index) == ComputationRole::kApplied;
    const std::string_view opcode = module_.instructions[index].opcode;
    if (!applied && (opcode == "parameter" || opcode == "constant")) return {};
    uint32_t at = index;
    for (int step = 0; step < kCallerLimit; ++step) {
      const uint32_t computation = module_.instructions[at].computation;
      if (computation >= uses_.size()) break;
      const ComputationUse& use = uses_[computation];
      if (use.role == ComputationRole::kLaunched || use.caller == kNoIndex) break;
      at = use.caller;
      if (!names[at].op_name.empty() && RoleOf(at) != ComputationRole::kApplied) {
        return {names[at].op_name, OpNameMethod::kUser, names[at].from};
      }
    }
    // A reducer whose caller has no name either: its own relative name, for its own row only.
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
  std::vector<uint32_t> queue_;  // Reused between searches.
};

}  // namespace

std::string_view FirstOpName(std::string_view op_name) {
  int depth = 0;
  for (size_t i = 0; i < op_name.size(); ++i) {
    switch (op_name[i]) {
      case '[':
      case '(':
        ++depth;
        break;
      case ']':
      case ')':
        --depth;
        break;
      case ';':
        if (depth <= 0 && i > 0) return op_name.substr(0, i);
        break;
      default:
        break;
    }
  }
  return op_name;
}

std::vector<ResolvedName> ResolveOpNames(const HloModule& module,
                                         std::span<const ComputationUse> uses,
                                         std::span<const ResolvedName> body_names) {
  return Resolver(module, uses, body_names).Run();
}

}  // namespace xlatrace::correlator
