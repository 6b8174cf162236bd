// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory/buffer_owner.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analysis/parameter_users.h"
#include "analysis/phases/draft.h"
#include "hlo/shape.h"

namespace xlatrace::analysis {
namespace {

using model::BufferOwner;
using model::Instruction;
using model::kNoIndex;
using model::Phase;

constexpr size_t kMaxVisited = 2000;       // Nodes of one search.
constexpr size_t kMaxMoves = 64;           // Moves of one value.
constexpr size_t kMaxDescribedSteps = 64;  // Nodes searched for a line.

bool IsForwardWork(Phase phase) {
  return phase == Phase::kForward || phase == Phase::kLoss || phase == Phase::kRecompute;
}

bool SameType(const hlo::ArrayShape& a, const hlo::ArrayShape& b) {
  return a.type == b.type && a.dims == b.dims;
}

bool IsMove(std::string_view opcode) {
  static constexpr std::array<std::string_view, 16> kOpcodes = {
      "parameter", "get-tuple-element", "tuple",       "bitcast",        "copy",   "copy-start",
      "copy-done", "convert",           "reshape",     "transpose",      "fusion", "while",
      "call",      "opt-barrier",       "conditional", "bitcast-convert"};
  return std::find(kOpcodes.begin(), kOpcodes.end(), opcode) != kOpcodes.end() ||
         opcode.starts_with("async-");
}

// The first instructions that do more with `node` than to move it. Helper calls of XLA (a join of
// slices, a bound on indices) have no op_name and pass the value on.
std::vector<uint32_t> FirstReaders(const ModuleGraph& graph, uint32_t node) {
  std::set<uint32_t> readers;
  std::set<uint32_t> seen = {node};
  std::vector<uint32_t> open = {node};
  for (size_t k = 0; k < open.size() && open.size() < kMaxVisited; ++k) {
    for (const uint32_t user : graph.Users(open[k])) {
      const Instruction& reader = graph.module().instructions[user];
      const bool passes = reader.opcode == "custom-call"
                              ? reader.metadata.op_name.empty()
                              : IsMove(reader.opcode) || reader.opcode == "slice" ||
                                    reader.opcode == "dynamic-slice" ||
                                    reader.opcode == "broadcast" ||
                                    reader.opcode.starts_with("all-gather");
      if (!passes) {
        readers.insert(user);
      } else if (seen.insert(user).second) {
        open.push_back(user);
      }
    }
  }
  return {readers.begin(), readers.end()};
}

// Reads a whole operand as a table: product, convolution, library call, lookup.
bool ReadsAsWeight(const ModuleGraph& graph, uint32_t user) {
  const std::string_view opcode = graph.module().instructions[user].opcode;
  return phases::IsMatrixWork(opcode) || opcode == "gather";
}

// "params['a']['b'].c" -> "params['a']['b']" -> "params['a']" -> "params" -> "".
std::string_view ParentPath(std::string_view path) {
  const size_t cut = path.find_last_of("[.");
  return cut == std::string_view::npos ? std::string_view() : path.substr(0, cut);
}

bool IsFloat(std::string_view shape) { return phases::IsFloatingShape(shape); }

}  // namespace

BufferOwners::BufferOwners(const ModuleGraph& graph, const ModuleLabels& labels)
    : graph_(graph), module_(graph.module()), labels_(labels) {
  const size_t size = module_.instructions.size();
  inputs_.assign(size, BufferOwner::kInputs);
  decided_.assign(size, false);
  updated_.assign(size, false);
  updated_by_optimizer_.assign(size, false);
  updated_by_gradient_.assign(size, false);
  std::vector<bool> optimizer(size, false);
  for (uint32_t i = 0; i < size; ++i) {
    if (IsEntryParameter(graph, i)) entry_inputs_.push_back(i);
    const Phase phase = labels.instructions[i].phase;
    optimizer[i] = phase == Phase::kOptimizer;
    has_gradient_ = has_gradient_ || phase == Phase::kBackward || phase == Phase::kOptimizer;
  }
  // Optimizer work reads the value, perhaps after moves, sums over devices and casts.
  into_optimizer_.assign(size, false);
  for (uint32_t i = static_cast<uint32_t>(size); i-- > 0;) {
    for (const uint32_t user : graph.Users(i)) {
      const std::string_view opcode = module_.instructions[user].opcode;
      const bool passes =
          IsMove(opcode) || phases::IsCollective(opcode) || opcode == "add" || opcode == "multiply";
      if (optimizer[user] || (passes && user > i && into_optimizer_[user])) {
        into_optimizer_[i] = true;
        break;
      }
    }
  }
  std::vector<bool> inputs(size, false);
  for (const uint32_t input : entry_inputs_) inputs[input] = true;
  from_inputs_ = graph.Dependents(inputs);
  FindUpdates();
  DecideInputs();
  DecideBySiblings();
  std::vector<bool> data(size, false), parameters(size, false);
  for (const uint32_t input : entry_inputs_) {
    if (inputs_[input] == BufferOwner::kParameters) parameters[input] = true;
    if (inputs_[input] == BufferOwner::kInputs || inputs_[input] == BufferOwner::kState) {
      data[input] = true;
    }
  }
  from_data_ = graph.Dependents(data);
  from_parameters_ = graph.Dependents(parameters);
}

// Inputs that an output of the same type replaces, by way of optimizer work or of other work.
void BufferOwners::FindUpdates() {
  if (module_.entry >= module_.computations.size()) return;
  const uint32_t root = module_.computations[module_.entry].root;
  if (root == kNoIndex) return;
  std::vector<uint32_t> outputs;
  if (module_.instructions[root].opcode == "tuple") {
    for (const uint32_t operand : module_.Operands(module_.instructions[root])) {
      outputs.push_back(operand);
    }
  } else {
    outputs.push_back(root);
  }
  std::vector<bool> backward(module_.instructions.size(), false);
  for (size_t i = 0; i < backward.size(); ++i) {
    backward[i] = labels_.instructions[i].phase == Phase::kBackward;
  }
  const std::vector<bool> from_gradients = graph_.Dependents(backward);
  std::vector<uint32_t> seen_in(module_.instructions.size(), 0);  // Number of the last search.
  uint32_t search = 0;
  std::vector<uint32_t> open;
  for (const uint32_t output : outputs) {
    const hlo::ArrayShape shape = hlo::FirstLeaf(module_.instructions[output].shape);
    for (const bool by_optimizer : {true, false}) {
      seen_in[output] = ++search;
      open.assign(1, output);
      for (size_t k = 0; k < open.size() && open.size() < kMaxVisited; ++k) {
        for (const uint32_t operand : graph_.Operands(open[k])) {
          if (seen_in[operand] == search) continue;
          const Instruction& read = module_.instructions[operand];
          if (IsEntryParameter(graph_, operand)) {
            if (SameType(hlo::FirstLeaf(read.shape), shape)) {
              updated_[operand] = true;
              if (by_optimizer) updated_by_optimizer_[operand] = true;
              if (from_gradients[output]) updated_by_gradient_[operand] = true;
            }
            continue;
          }
          const bool follows = !by_optimizer || IsMove(read.opcode) ||
                               labels_.instructions[operand].phase == Phase::kOptimizer ||
                               phases::IsCollective(read.opcode);
          if (!follows) continue;
          seen_in[operand] = search;
          open.push_back(operand);
        }
      }
    }
  }
}

// In a program without gradients: a product of the input and of a value that does not depend on it.
bool BufferOwners::IsWeight(uint32_t input) const {
  if (!IsFloat(module_.instructions[input].shape)) return false;
  std::vector<bool> seed(module_.instructions.size(), false);
  seed[input] = true;
  std::optional<std::vector<bool>> dependents;
  for (const uint32_t user : FirstReaders(graph_, input)) {
    if (!ReadsAsWeight(graph_, user)) continue;
    if (module_.instructions[user].opcode == "gather") return true;
    if (!dependents) dependents = graph_.Dependents(seed);
    for (const uint32_t operand : graph_.Operands(user)) {
      const uint32_t source = SourceOf(operand);
      const bool computed =
          !IsEntryParameter(graph_, source) && module_.instructions[source].opcode != "constant";
      if (computed && from_inputs_[source] && !(*dependents)[source]) return true;
    }
  }
  return false;
}

void BufferOwners::DecideInputs() {
  for (const uint32_t input : entry_inputs_) {
    bool forward = false, optimizer = false;
    for (const uint32_t user : FirstReaders(graph_, input)) {
      const Phase phase = labels_.instructions[user].phase;
      forward = forward || IsForwardWork(phase) || phase == Phase::kBackward;
      optimizer = optimizer || phase == Phase::kOptimizer;
    }
    const auto decide = [&](BufferOwner owner) {
      inputs_[input] = owner;
      decided_[input] = true;
    };
    const bool aliased =
        std::binary_search(module_.aliased_parameters.begin(), module_.aliased_parameters.end(),
                           static_cast<int64_t>(module_.instructions[input].parameter_number));
    if (has_gradient_) {
      if (forward && (updated_by_optimizer_[input] || (aliased && updated_by_gradient_[input]))) {
        decide(BufferOwner::kParameters);
      } else if (!forward && optimizer && updated_[input]) {
        decide(BufferOwner::kOptimizerState);
      } else if (forward && updated_[input] && aliased) {
        decide(BufferOwner::kState);
      }
    } else if (aliased) {
      decide(BufferOwner::kState);
    } else if (IsWeight(input)) {
      decide(BufferOwner::kParameters);
    }
  }
}

// Leaves of one argument tree share a purpose: the nearest subtree with decided leaves decides.
void BufferOwners::DecideBySiblings() {
  std::map<std::string_view, std::map<BufferOwner, int64_t>> trees;
  const auto path_of = [&](uint32_t input) {
    return std::string_view(module_.instructions[input].metadata.op_name);
  };
  for (const uint32_t input : entry_inputs_) {
    if (!decided_[input]) continue;
    const int64_t bytes = hlo::ByteSize(module_.instructions[input].shape);
    for (auto path = ParentPath(path_of(input)); !path.empty(); path = ParentPath(path)) {
      trees[path][inputs_[input]] += bytes;
    }
  }
  for (const uint32_t input : entry_inputs_) {
    if (decided_[input]) continue;
    for (auto path = ParentPath(path_of(input)); !path.empty(); path = ParentPath(path)) {
      const auto tree = trees.find(path);
      if (tree == trees.end()) continue;
      inputs_[input] =
          std::max_element(tree->second.begin(), tree->second.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; })
              ->first;
      break;
    }
  }
}

// The value that a chain of moves copies; the instruction itself if it computes.
uint32_t BufferOwners::SourceOf(uint32_t instruction, int depth) const {
  for (size_t step = 0; step < kMaxMoves; ++step) {
    const Instruction& self = module_.instructions[instruction];
    uint32_t source = kNoIndex;
    if (IsEntryParameter(graph_, instruction)) return instruction;
    if (self.opcode == "dynamic-update-slice") {
      const auto operands = module_.Operands(self);
      if (operands.size() > 1) source = operands[1];
    } else if (self.opcode == "custom-call" && self.metadata.op_name.empty() && depth < 2) {
      // A helper call of XLA that joins slices of one value.
      for (const uint32_t operand : module_.Operands(self)) {
        const uint32_t part = SourceOf(operand, depth + 1);
        if (source != kNoIndex && source != part) return instruction;
        source = part;
      }
    } else if (IsMove(self.opcode) || self.opcode.ends_with("slice")) {
      for (const uint32_t operand : graph_.Operands(instruction)) {
        if (IsScalarShape(module_.instructions[operand].shape)) continue;
        if (source != kNoIndex) return instruction;
        source = operand;
      }
    }
    if (source == kNoIndex || module_.instructions[source].opcode == "constant") return instruction;
    instruction = source;
  }
  return instruction;
}

BufferOwner BufferOwners::OfValue(uint32_t instruction, std::string_view shape) const {
  const Instruction& self = module_.instructions[instruction];
  if (self.opcode == "constant") return BufferOwner::kConstants;
  bool collective = phases::IsCollective(self.opcode);
  if (self.opcode == "async-start") {
    for (const uint32_t called : module_.CalledComputations(self)) {
      for (const Instruction& inner : module_.InstructionsOf(module_.computations[called])) {
        collective = collective || phases::IsCollective(inner.opcode);
      }
    }
  }
  if (collective) return BufferOwner::kCollective;
  const hlo::ArrayShape leaf = hlo::FirstLeaf(shape);
  if (self.opcode == "custom-call" && hlo::IsTuple(self.shape) && leaf.dims.size() == 1 &&
      (leaf.type == "s8" || leaf.type == "u8")) {
    return BufferOwner::kWorkspace;
  }
  const uint32_t source = SourceOf(instruction);
  if (IsEntryParameter(graph_, source)) return inputs_[source];
  const Phase phase = labels_.instructions[source].phase;
  if (!from_data_[source]) {
    if (from_parameters_[source]) return BufferOwner::kParameters;
    if (phase == Phase::kOptimizer) return BufferOwner::kOptimizerState;
  }
  if (phase == Phase::kOptimizer) return BufferOwner::kTemporary;
  if (phase == Phase::kBackward) return BufferOwner::kGradients;
  if (IsForwardWork(phase)) return BufferOwner::kActivations;
  if (!from_data_[source]) return BufferOwner::kTemporary;
  if (has_gradient_ && into_optimizer_[source]) return BufferOwner::kGradients;
  return BufferOwner::kActivations;
}

bool BufferOwners::HasLine(uint32_t instruction) const {
  const Instruction& self = module_.instructions[instruction];
  if (self.opcode == "parameter") return false;
  return self.metadata.stack_frame != 0 || !self.metadata.source_file.empty();
}

uint32_t BufferOwners::ReaderOf(uint32_t input) const {
  const bool of_optimizer = inputs_[input] == BufferOwner::kOptimizerState;
  uint32_t reader = kNoIndex;
  for (const uint32_t user : FirstReaders(graph_, input)) {
    if (!HasLine(user)) continue;
    const Phase phase = labels_.instructions[user].phase;
    if (of_optimizer ? phase == Phase::kOptimizer : IsForwardWork(phase)) return user;
    if (reader == kNoIndex) reader = user;
  }
  return reader;
}

uint32_t BufferOwners::DescribedBy(uint32_t instruction) const {
  const uint32_t source = SourceOf(instruction);
  if (IsEntryParameter(graph_, source)) {
    const uint32_t reader = ReaderOf(source);
    return reader == kNoIndex ? NearestWithLine(source) : reader;
  }
  if (HasLine(source)) return source;
  return HasLine(instruction) ? instruction : NearestWithLine(source);
}

uint32_t BufferOwners::NearestWithLine(uint32_t source) const {
  // The nearest instruction with a line, of the same phase if there is one.
  for (const bool same_phase : {true, false}) {
    std::set<uint32_t> seen = {source};
    std::vector<uint32_t> open = {source};
    for (size_t k = 0; k < open.size() && open.size() < kMaxDescribedSteps; ++k) {
      std::vector<uint32_t> next(graph_.Operands(open[k]).begin(), graph_.Operands(open[k]).end());
      next.insert(next.end(), graph_.Users(open[k]).begin(), graph_.Users(open[k]).end());
      for (const uint32_t node : next) {
        if (!seen.insert(node).second) continue;
        const bool same = labels_.instructions[node].phase == labels_.instructions[source].phase;
        if (HasLine(node) && (same || !same_phase)) return node;
        open.push_back(node);
      }
    }
  }
  return source;
}

}  // namespace xlatrace::analysis
