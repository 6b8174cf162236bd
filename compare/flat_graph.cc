// SPDX-License-Identifier: Apache-2.0
#include "compare/flat_graph.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "hlo/cost/weights.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::compare {

namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;

// Maximum depth of nested calls; deeper calls represent themselves.
constexpr int kMaxGraphDepth = 200;

bool IsAnyOf(std::string_view opcode, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), opcode) != list.end();
}

bool MovesOnly(const Instruction& instruction) {
  if (instruction.operands.size == 0) return false;
  return IsAnyOf(instruction.opcode, {"copy", "reshape", "transpose", "copy-start"}) ||
         instruction.opcode.ends_with("-done");
}

// The result is the operand, without any work.
bool PassesOn(std::string_view opcode) {
  return IsAnyOf(opcode, {"bitcast", "opt-barrier", "optimization-barrier", "add-dependency",
                          "domain", "async-done", "async-update"});
}

bool IsCommutative(std::string_view opcode) {
  return IsAnyOf(opcode, {"add", "multiply", "maximum", "minimum", "and", "or", "xor"});
}

}  // namespace

class FlatGraphBuilder {
 public:
  explicit FlatGraphBuilder(FlatGraph& graph)
      : graph_(graph),
        module_(*graph.module_),
        identities_(IdentitiesOf(module_)),
        most_nodes_(4 * module_.instructions.size() + 1000) {
    launched_.resize(module_.instructions.size());
    MarkResults();
  }

  void Run() {
    if (module_.entry >= module_.computations.size()) return;
    const int64_t root = Expand(module_.entry, {}, kNoIndex, kNoIndex, 0);
    uint32_t position = 0;
    MarkOutputs(root, position);
    for (uint32_t i = 0; i < launched_.size(); ++i) {
      if (launched_[i]) graph_.units_.push_back(i);
    }
    FillUsers();
  }

 private:
  // A node (>= 0), a tuple of values (< -1: ~index - 1 in tuples_), or nothing (-1).
  using Value = int64_t;
  static constexpr Value kNothing = -1;
  static bool IsTuple(Value value) { return value < -1; }
  const std::vector<Value>& TupleOf(Value value) const {
    return tuples_[static_cast<size_t>(-2 - value)];
  }
  Value MakeTuple(std::vector<Value> elements) {
    tuples_.push_back(std::move(elements));
    return -1 - static_cast<Value>(tuples_.size());
  }

  // Results of a computation: its root, or the instruction behind a bitcast or tuple there.
  void MarkResults() {
    is_result_.resize(module_.instructions.size());
    std::vector<bool> seen(module_.instructions.size());
    for (const model::Computation& computation : module_.computations) {
      std::vector<uint32_t> open;
      if (computation.root != kNoIndex) open.push_back(computation.root);
      while (!open.empty()) {
        const uint32_t at = open.back();
        open.pop_back();
        if (seen[at]) continue;
        seen[at] = true;
        const Instruction& instruction = module_.instructions[at];
        if (instruction.opcode != "tuple" && !PassesOn(instruction.opcode)) {
          is_result_[at] = true;
          continue;
        }
        for (const uint32_t operand : module_.Operands(instruction)) open.push_back(operand);
      }
    }
  }

  // Orders operands before users. Most computations have that order already.
  std::vector<uint32_t> Ordered(const model::Computation& computation) const {
    std::vector<uint32_t> order;
    const uint32_t first = computation.first_instruction;
    std::vector<uint8_t> state(computation.instruction_count);  // 0 new, 1 open, 2 done.
    std::vector<std::pair<uint32_t, uint32_t>> open;
    for (uint32_t start = 0; start < computation.instruction_count; ++start) {
      if (state[start] != 0) continue;
      open.emplace_back(start, 0);
      state[start] = 1;
      while (!open.empty()) {
        auto& [at, next] = open.back();
        const auto operands = module_.Operands(module_.instructions[first + at]);
        if (next < operands.size()) {
          const uint32_t operand = operands[next++] - first;
          if (operand < state.size() && state[operand] == 0) {
            state[operand] = 1;
            open.emplace_back(operand, 0);
          }
          continue;
        }
        state[at] = 2;
        order.push_back(first + at);
        open.pop_back();
      }
    }
    return order;
  }

  // `unit`: the fusion around the computation; kNoIndex: its instructions are launched separately.
  Value Expand(uint32_t number, const std::vector<Value>& arguments, uint32_t unit, uint32_t region,
               int depth) {
    const model::Computation& computation = module_.computations[number];
    std::vector<Value> values(computation.instruction_count, kNothing);
    const uint32_t first = computation.first_instruction;
    const auto value_of = [&](uint32_t instruction) {
      return instruction - first < values.size() ? values[instruction - first] : kNothing;
    };
    for (const uint32_t i : Ordered(computation)) {
      const Instruction& instruction = module_.instructions[i];
      std::vector<Value> operands;
      for (const uint32_t operand : module_.Operands(instruction)) {
        operands.push_back(value_of(operand));
      }
      values[i - first] = Evaluate(i, operands, arguments, unit, region, depth);
    }
    return computation.root == kNoIndex ? kNothing : value_of(computation.root);
  }

  Value Evaluate(uint32_t i, const std::vector<Value>& operands,
                 const std::vector<Value>& arguments, uint32_t unit, uint32_t region, int depth) {
    const Instruction& instruction = module_.instructions[i];
    const std::string_view opcode = instruction.opcode;
    if (opcode == "parameter") {
      const auto at = static_cast<size_t>(std::max(instruction.parameter_number, 0));
      if (at < arguments.size() && arguments[at] != kNothing) return arguments[at];
      return AddNode(i, {}, unit, region);
    }
    if (opcode == "tuple" || opcode == "after-all") return MakeTuple(operands);
    if (opcode == "get-tuple-element" && operands.size() == 1) {
      const auto at = static_cast<size_t>(std::max<int32_t>(instruction.tuple_index, 0));
      if (IsTuple(operands[0])) {
        const std::vector<Value>& tuple = TupleOf(operands[0]);
        return at < tuple.size() ? tuple[at] : kNothing;
      }
      return AddNode(i, operands, unit, region);
    }
    if (PassesOn(opcode) && !operands.empty()) {
      return operands.size() == 1 || opcode != "opt-barrier" ? operands[0] : MakeTuple(operands);
    }
    const auto called = module_.CalledComputations(instruction);
    const bool can_expand = depth < kMaxGraphDepth && graph_.nodes_.size() < most_nodes_;
    if ((opcode == "fusion" || opcode == "call" || opcode == "async-start") && called.size() == 1 &&
        can_expand) {
      const bool is_unit = opcode != "call";
      if (unit == kNoIndex) launched_[i] = true;
      return Expand(called[0], operands,
                    unit != kNoIndex ? unit
                    : is_unit        ? i
                                     : kNoIndex,
                    is_unit ? region : i, depth + 1);
    }
    if (opcode == "while" && called.size() == 2 && !operands.empty() && can_expand) {
      launched_[i] = true;
      // Identifies the body of the loop: its result has the shape of its parameter, the condition
      // returns one pred.
      std::vector<Value> results;
      Value result = operands[0];
      for (const uint32_t computation : called) {
        const Value value = Expand(computation, {operands[0]}, unit, i, depth + 1);
        const uint32_t root = module_.computations[computation].root;
        if (root != kNoIndex && module_.instructions[root].shape.starts_with("pred[]")) {
          results.push_back(value);
        } else {
          result = value;
          results.push_back(value);
        }
      }
      AddNode(i, results, unit, region);
      return result;
    }
    if (opcode == "conditional" && can_expand) {
      std::vector<Value> results = {operands.empty() ? kNothing : operands[0]};
      for (size_t branch = 0; branch < called.size(); ++branch) {
        const Value argument = branch + 1 < operands.size() ? operands[branch + 1] : kNothing;
        results.push_back(Expand(called[branch], {argument}, unit, i, depth + 1));
      }
      return AddNode(i, results, unit, region);
    }
    if (operands.size() > 1 &&
        hlo::InfoOf(hlo::BaseOpcode(opcode)).work == hlo::OpWork::kCollective &&
        !opcode.ends_with("-done")) {
      return AddCollective(i, operands, unit, region);
    }
    const Value node = AddNode(i, operands, unit, region);
    if (MovesOnly(instruction) && operands[0] >= 0) {
      graph_.nodes_[static_cast<size_t>(node)].moves_only = true;
      moved_from_.emplace(static_cast<uint32_t>(node), static_cast<uint32_t>(operands[0]));
    }
    return node;
  }

  Value AddCollective(uint32_t i, const std::vector<Value>& operands, uint32_t unit,
                      uint32_t region) {
    std::vector<Value> parts;
    for (size_t k = 0; k < operands.size(); ++k) {
      const Value part = AddNode(i, {operands[k]}, unit, region);
      const std::string_view shape =
          hlo::TupleElement(module_.instructions[i].shape, static_cast<int64_t>(k));
      if (!shape.empty()) SetShape(shape, graph_.identities_[static_cast<size_t>(part)]);
      graph_.nodes_[static_cast<size_t>(part)].weight /= static_cast<double>(operands.size());
      parts.push_back(part);
    }
    return MakeTuple(std::move(parts));
  }

  Value AddNode(uint32_t i, const std::vector<Value>& operands, uint32_t unit, uint32_t region) {
    const Instruction& instruction = module_.instructions[i];
    FlatNode node;
    node.instruction = i;
    node.unit = unit == kNoIndex ? i : unit;
    node.region = region;
    node.operands.begin = static_cast<uint32_t>(graph_.edges_.size());
    uint32_t position = 0;
    note_moves_ = !MovesOnly(instruction);
    for (const Value operand : operands) AddOperand(operand, position++);
    node.operands.size = static_cast<uint32_t>(graph_.edges_.size()) - node.operands.begin;
    node.commutative = IsCommutative(instruction.opcode);
    node.is_source = instruction.opcode == "parameter" || instruction.opcode == "constant";
    const bool is_region = instruction.opcode == "while" || instruction.opcode == "conditional";
    const double least = hlo::InfoOf(instruction.opcode).work == hlo::OpWork::kNone ? 1e-6 : 1e-3;
    node.weight = is_region ? least : std::max(hlo::Weight(module_, instruction), least);
    if (unit == kNoIndex && !node.is_source && instruction.opcode != "get-tuple-element") {
      launched_[i] = true;
    }
    return Keep(node, i, unit);
  }

  // Adds the last created node, or returns an existing node with the same computation.
  Value Keep(const FlatNode& node, uint32_t i, uint32_t unit) {
    const auto number = static_cast<uint32_t>(graph_.nodes_.size());
    // True for the result of a unit: outside of fusions all instructions, inside only the root.
    const bool is_result = unit == kNoIndex || is_result_[i];
    const bool can_merge = unit != kNoIndex && !MovesOnly(module_.instructions[i]);
    const uint64_t key = can_merge || is_result ? KeyOf(node, i) : 0;
    if (key != 0) {
      const auto [known, is_new] = by_key_.try_emplace(key, Known{number, is_result});
      Known& other = known->second;
      if (!is_new && can_merge && !(is_result && other.is_result)) {
        FlatNode& kept = graph_.nodes_[other.node];
        if (is_result) {
          other.is_result = true;
          kept.unit = node.unit;
          kept.region = node.region;
        }
        if (last_member_.try_emplace(other.node, kept.unit).first->second != node.unit)
          ++kept.copies;
        last_member_[other.node] = node.unit;
        graph_.members_.push_back({other.node, node.unit, node.region, is_result});
        graph_.edges_.resize(node.operands.begin);
        while (!mover_uses_.empty() && mover_uses_.back().second.node == number) {
          mover_uses_.back().second.node = other.node;
          merged_uses_.push_back(mover_uses_.back());
          mover_uses_.pop_back();
        }
        return static_cast<Value>(other.node);
      }
    }
    graph_.nodes_.push_back(node);
    graph_.identities_.push_back(identities_[i]);
    graph_.members_.push_back({number, node.unit, node.region, is_result});
    return static_cast<Value>(number);
  }

  uint64_t KeyOf(const FlatNode& node, uint32_t i) const {
    const Instruction& instruction = module_.instructions[i];
    const OpIdentity& op = identities_[i];
    uint64_t key = Mix(Mix(op.work, op.literal), Mix(op.shape, op.scope));
    const model::OpDetails& details = module_.DetailsOf(instruction);
    for (const int64_t dim : module_.Dims(details.dimensions)) {
      key = Mix(key, static_cast<uint64_t>(dim));
    }
    for (const int64_t dim : module_.LhsContractingDims(instruction)) {
      key = Mix(key, static_cast<uint64_t>(dim));
    }
    for (uint32_t k = 0; k < node.operands.size; ++k) {
      const FlatEdge& edge = graph_.edges_[node.operands.begin + k];
      key = Mix(key, Mix(edge.node, edge.position));
    }
    // The inputs of a fusion come from outside. Without operands, only constants are known to be
    // equal.
    return node.operands.size == 0 && instruction.opcode != "constant" &&
                   instruction.opcode != "iota"
               ? 0
               : key | 1;
  }

  // Adds an operand of the node that is about to be added. Elements of a tuple are operands of the
  // same position. A moved value is read from its origin. Each move on the way is recorded, unless
  // the reader itself is a move.
  void AddOperand(Value operand, uint32_t position) {
    if (operand >= 0) {
      auto node = static_cast<uint32_t>(operand);
      for (auto moved = moved_from_.find(node); moved != moved_from_.end();
           moved = moved_from_.find(node)) {
        if (note_moves_) {
          mover_uses_.push_back({node, {static_cast<uint32_t>(graph_.nodes_.size()), position}});
        }
        node = moved->second;
      }
      graph_.edges_.push_back({node, position});
    } else if (IsTuple(operand)) {
      const std::vector<Value>& tuple = TupleOf(operand);
      for (size_t element = 0; element < tuple.size(); ++element) {
        if (tuple[element] < 0) continue;
        AddOperand(tuple[element], position + (static_cast<uint32_t>(element) << 8));
      }
    }
  }

  void MarkOutputs(Value value, uint32_t& position) {
    if (value >= 0) {
      ++position;
      auto node = static_cast<uint32_t>(value);
      while (true) {
        if (graph_.nodes_[node].output == 0) graph_.nodes_[node].output = position;
        const auto moved = moved_from_.find(node);
        if (moved == moved_from_.end()) break;
        node = moved->second;
      }
    } else if (IsTuple(value)) {
      for (const Value element : std::vector<Value>(TupleOf(value))) MarkOutputs(element, position);
    } else {
      ++position;
    }
  }

  void FillUsers() {
    std::vector<FlatNode>& nodes = graph_.nodes_;
    const auto each = [&](const auto& use) {
      for (uint32_t user = 0; user < nodes.size(); ++user) {
        if (nodes[user].moves_only) continue;
        for (const FlatEdge& edge : graph_.OperandsOf(user)) use(edge.node, user, edge.position);
      }
      for (const auto& [node, edge] : mover_uses_) use(node, edge.node, edge.position);
      for (const auto& [node, edge] : merged_uses_) use(node, edge.node, edge.position);
    };
    each([&](uint32_t node, uint32_t, uint32_t) { ++nodes[node].users.size; });
    uint32_t at = 0;
    for (FlatNode& node : nodes) {
      node.users.begin = at;
      at += std::exchange(node.users.size, 0);
    }
    graph_.user_edges_.resize(at);
    each([&](uint32_t node, uint32_t user, uint32_t position) {
      graph_.user_edges_[nodes[node].users.begin + nodes[node].users.size++] = {user, position};
    });
  }

  FlatGraph& graph_;
  const HloModule& module_;
  std::vector<OpIdentity> identities_;  // Per instruction.
  size_t most_nodes_;
  std::vector<std::vector<Value>> tuples_;
  std::unordered_map<uint32_t, uint32_t> moved_from_;  // Node to operand, if it only moves data.
  bool note_moves_ = true;
  std::vector<std::pair<uint32_t, FlatEdge>> mover_uses_;
  std::vector<std::pair<uint32_t, FlatEdge>> merged_uses_;
  std::vector<bool> launched_, is_result_;
  struct Known {
    uint32_t node;
    bool is_result;
  };
  std::unordered_map<uint64_t, Known> by_key_;
  std::unordered_map<uint32_t, uint32_t> last_member_;  // Last unit of each node.
};

FlatGraph::FlatGraph(const HloModule& module) : module_(&module) { FlatGraphBuilder(*this).Run(); }

}  // namespace xlatrace::compare
