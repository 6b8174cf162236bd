// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/hlo_facts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "analysis/findings/attention_scores.h"
#include "base/text.h"
#include "hlo/backend_config.h"
#include "hlo/cost/weights.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::analysis::findings {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;

constexpr int64_t kMinScoreRows = 512;  // Smallest side of square attention scores. Not measured.
constexpr int64_t kTensorCoreBytes = 16;
constexpr int64_t kMinFreshBytes = 1 << 20;  // Smaller ones reuse freed memory.
constexpr int kMaxChainSteps = 16;           // In a chain that only passes data on.

bool IsShort(std::string_view type) { return type == "bf16" || type == "f16"; }

bool PassesOnValues(std::string_view opcode) {
  return opcode == "bitcast" || opcode == "copy" || opcode == "reshape" || opcode == "transpose" ||
         opcode == "broadcast" || opcode == "get-tuple-element" || opcode == "slice" ||
         opcode == "bitcast-convert" || opcode == "dynamic-slice" || opcode == "pad";
}

class Reader {
 public:
  explicit Reader(const HloModule& module) : module_(module), cost_(module) {
    FindCallers();
    FindLoops();
    FindStacks();
  }

  HloFacts Read(const std::vector<uint32_t>& nodes, model::UserCode user_code) {
    HloFacts facts;
    for (const model::StackFrame& frame : module_.stack_frames) user_code.AddFile(frame.file);
    for (const model::StackFrame& frame : module_.stack_frames) {
      facts.frames.push_back({std::string(frame.file), frame.line, std::string(frame.function),
                              frame.parent, user_code.KindOf(frame.file)});
    }
    facts.has_aliases = !module_.aliased_parameters.empty();
    if (module_.entry != kNoIndex) {
      for (const Instruction& i : module_.InstructionsOf(module_.computations[module_.entry])) {
        if (i.opcode != "parameter") continue;
        ++facts.parameters;
        if (!facts.parameter_shapes.empty()) facts.parameter_shapes += ", ";
        facts.parameter_shapes += i.shape.substr(0, i.shape.find('{'));
      }
    }
    facts.ops.reserve(nodes.size());
    for (const uint32_t node : nodes) {
      facts.ops.push_back(node == kNoIndex ? OpFacts() : Of(node));
    }
    FindProducers(nodes, facts.ops);
    FindFreshResults(nodes, facts.ops);
    return facts;
  }

 private:
  const Instruction& At(uint32_t node) const { return module_.instructions[node]; }
  uint32_t IndexOf(const Instruction& i) const {
    return static_cast<uint32_t>(&i - module_.instructions.data());
  }

  // The instruction that calls each computation, if there is exactly one.
  void FindCallers() {
    caller_.assign(module_.computations.size(), kNoIndex);
    for (uint32_t i = 0; i < module_.instructions.size(); ++i) {
      for (const uint32_t callee : module_.CalledComputations(At(i))) caller_[callee] = i;
    }
  }

  void FindProducers(const std::vector<uint32_t>& nodes, std::vector<OpFacts>& ops) const {
    std::vector<uint32_t> users(module_.instructions.size(), 0);
    for (const Instruction& i : module_.instructions) {
      for (const uint32_t operand : module_.Operands(i)) ++users[operand];
    }
    std::vector<uint32_t> position(module_.instructions.size(), 0);
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (nodes[k] != kNoIndex) position[nodes[k]] = static_cast<uint32_t>(k + 1);
    }
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (nodes[k] == kNoIndex) continue;
      for (const uint32_t operand : module_.Operands(At(nodes[k]))) {
        const uint32_t product = position[MadeBy(operand)];
        if (product != 0 && ops[product - 1].dot) ops[k].products_read.push_back(product);
      }
      for (uint32_t operand : module_.Operands(At(nodes[k]))) {
        const auto inner = module_.Operands(At(operand));
        if (users[operand] == 1 && At(operand).opcode == "bitcast" && !inner.empty()) {
          operand = inner[0];
        }
        if (users[operand] != 1 || position[operand] == 0) continue;
        const int64_t bytes = hlo::ByteSize(At(operand).shape);
        if (bytes <= ops[k].passed_bytes) continue;
        ops[k].producer = position[operand];
        ops[k].passed_bytes = bytes;
      }
    }
  }

  // The instruction that computed a value. Skips instructions that only forward the value.
  uint32_t MadeBy(uint32_t node) const {
    for (int step = 0; step < kMaxChainSteps; ++step) {
      const std::string_view opcode = At(node).opcode;
      const auto operands = module_.Operands(At(node));
      if ((opcode != "bitcast" && opcode != "get-tuple-element") || operands.empty()) break;
      node = operands[0];
    }
    return node;
  }

  static std::string_view WithoutLayout(std::string_view shape) {
    return shape.substr(0, shape.find('{'));
  }

  // JAX names parameters after the argument and the path to the leaf in it (op_name of their
  // metadata, jax/_src/interpreters/partial_eval.py: DebugInfo.arg_names).
  static std::string ArgumentOf(const Instruction& parameter) {
    const std::string_view path = parameter.metadata.op_name;
    size_t end = 0;
    while (end < path.size() &&
           (std::isalnum(static_cast<unsigned char>(path[end])) != 0 || path[end] == '_')) {
      ++end;
    }
    if (end == 0 || (end < path.size() && path[end] != '[' && path[end] != '.')) return {};
    // An argument in `*args` has only a number.
    if (path.substr(0, end) == "args") {
      const size_t close = path.find(']');
      return path.substr(end, 1) == "[" && close != path.npos
                 ? std::string(path.substr(0, close + 1))
                 : std::string();
    }
    return std::string(path.substr(0, end));
  }

  void FindFreshResults(const std::vector<uint32_t>& nodes, std::vector<OpFacts>& ops) const {
    if (module_.entry == kNoIndex || module_.computations[module_.entry].root == kNoIndex) return;
    std::map<std::string_view, int> lenders;  // By shape: parameters with unshared memory.
    std::map<std::string_view, int> shared;   // Results that share memory with a parameter.
    std::map<std::string_view, std::set<std::string>> arguments;  // Arguments of the lenders.
    for (const Instruction& i : module_.InstructionsOf(module_.computations[module_.entry])) {
      if (i.opcode != "parameter") continue;
      const bool aliased = std::binary_search(module_.aliased_parameters.begin(),
                                              module_.aliased_parameters.end(), i.parameter_number);
      ++(aliased ? shared : lenders)[WithoutLayout(i.shape)];
      if (!aliased) arguments[WithoutLayout(i.shape)].insert(ArgumentOf(i));
    }
    const Instruction& root = At(module_.computations[module_.entry].root);
    std::vector<uint32_t> results = {IndexOf(root)};
    if (root.opcode == "tuple") {
      const auto operands = module_.Operands(root);
      results.assign(operands.begin(), operands.end());
    }
    std::map<uint32_t, int64_t> fresh;     // By the instruction that makes them.
    std::map<uint32_t, std::string> lent;  // Which argument could, where only one could.
    for (const uint32_t result : results) {
      const std::string_view shape = WithoutLayout(At(result).shape);
      if (At(MadeBy(result)).opcode == "parameter" || --shared[shape] >= 0) continue;
      const int64_t bytes = hlo::ByteSize(At(result).shape);
      if (bytes < kMinFreshBytes || --lenders[shape] < 0) continue;
      fresh[MadeBy(result)] += bytes;
      if (arguments[shape].size() == 1) lent[MadeBy(result)] = *arguments[shape].begin();
    }
    for (size_t k = 0; k < nodes.size(); ++k) {
      const auto found = fresh.find(nodes[k]);
      if (found == fresh.end()) continue;
      ops[k].fresh_result_bytes = found->second;
      if (ops[k].argument.empty()) ops[k].argument = lent[nodes[k]];
    }
  }

  void FindLoops() {
    in_loop_.assign(module_.computations.size(), false);
    // Callers follow their callees, so walking backwards reaches the outer one first.
    for (size_t c = module_.computations.size(); c-- > 0;) {
      uint32_t at = caller_[c];
      for (int depth = 0; at != kNoIndex && depth < kMaxChainSteps; ++depth) {
        if (At(at).opcode == "while") {
          in_loop_[c] = true;
          break;
        }
        at = caller_[At(at).computation];
      }
    }
  }

  // True if the instruction only repeats one value.
  bool Fills(uint32_t node) const {
    std::vector<uint32_t> body;
    Collect(node, 0, body);
    bool broadcasts = false;
    for (const uint32_t inner : body) {
      const std::string_view opcode = At(inner).opcode;
      broadcasts |= opcode == "broadcast";
      if (opcode != "broadcast" && opcode != "fusion" && opcode != "call" &&
          opcode != "parameter" && opcode != "constant" && opcode != "bitcast") {
        return false;
      }
    }
    return broadcasts;
  }

  // Marks inputs of loops: filled arrays among them are the stacks of the loop's results.
  void FindStacks() {
    starts_stack_.assign(module_.instructions.size(), false);
    for (const Instruction& loop : module_.instructions) {
      if (loop.opcode != "while") continue;
      const auto state = module_.Operands(loop);
      if (state.empty() || At(state[0]).opcode != "tuple") continue;
      for (const uint32_t value : module_.Operands(At(state[0]))) {
        const auto copied = module_.Operands(At(value));
        const bool copy = At(value).opcode == "copy" && !copied.empty();
        const uint32_t filled = copy ? copied[0] : value;
        if (hlo::ByteSize(At(filled).shape) == 0 || !Fills(filled)) continue;
        starts_stack_[filled] = true;
        starts_stack_[value] = true;
      }
    }
  }

  // The instruction itself, and its whole content if it is a fusion or a wrapper.
  void Collect(uint32_t node, int depth, std::vector<uint32_t>& into) const {
    into.push_back(node);
    const Instruction& i = At(node);
    if (depth > 4 || (i.opcode != "fusion" && i.opcode != "call" &&
                      !i.opcode.starts_with("async-") && i.opcode != "custom-call")) {
      return;
    }
    for (const uint32_t callee : module_.CalledComputations(i)) {
      const model::Computation& c = module_.computations[callee];
      for (uint32_t k = 0; k < c.instruction_count; ++k) {
        Collect(c.first_instruction + k, depth + 1, into);
      }
    }
  }

  // The operand that a fused computation's parameter stands for, or the node itself.
  uint32_t Outside(uint32_t node) const {
    for (int step = 0; step < kMaxChainSteps; ++step) {
      const Instruction& i = At(node);
      if (i.opcode != "parameter") return node;
      const uint32_t caller = caller_[i.computation];
      if (caller == kNoIndex || At(caller).opcode == "while") return node;
      const auto operands = module_.Operands(At(caller));
      if (i.parameter_number < 0 || static_cast<size_t>(i.parameter_number) >= operands.size()) {
        return node;
      }
      node = operands[static_cast<size_t>(i.parameter_number)];
    }
    return node;
  }

  // Walks operands through instructions that only pass data on, into fusions of such instructions,
  // and out of the computation. Stops at the first node that `is_it` accepts.
  template <typename IsIt>
  uint32_t Back(uint32_t node, IsIt is_it) const {
    for (int step = 0; step < kMaxChainSteps; ++step) {
      node = Outside(node);
      const Instruction& i = At(node);
      if (is_it(i)) return node;
      if (i.opcode == "fusion" && !module_.CalledComputations(i).empty()) {
        const uint32_t root = module_.computations[module_.CalledComputations(i)[0]].root;
        if (root == kNoIndex) return kNoIndex;
        node = root;
        if (is_it(At(node))) return node;
        if (!PassesOnValues(At(node).opcode)) return kNoIndex;
      } else if (!PassesOnValues(i.opcode)) {
        return kNoIndex;
      }
      const auto operands = module_.Operands(At(node));
      if (operands.empty()) return kNoIndex;
      node = operands[0];
    }
    return kNoIndex;
  }

  bool IsProduct(const Instruction& i) const {
    return i.opcode == "dot" ||
           (i.opcode == "custom-call" && (Has(i.custom_call_target, "__cublas$gemm") ||
                                          Has(i.custom_call_target, "__cublas$lt$matmul")));
  }

  static int64_t Elements(const hlo::ArrayShape& shape) {
    int64_t elements = 1;
    for (const int64_t dimension : shape.dims) elements *= dimension;
    return elements;
  }

  // The product of the dimensions that `name` lists: "lhs_contracting_dims={1}" of a dot, or
  // "lhs_contracting_dimensions":["1"] of a library call. 0: `name` is absent.
  static int64_t Listed(std::string_view text, std::string_view name,
                        const hlo::ArrayShape& shape) {
    size_t at = text.find(name);
    if (at == text.npos) return 0;
    at = text.find_first_of("{[", at);
    if (at == text.npos) return 0;
    const size_t end = text.find_first_of("}]", at);
    int64_t product = 1;
    size_t dimension = 0;
    bool digits = false;
    for (; at < std::min(end, text.size()) + 1 && at < text.size(); ++at) {
      if (text[at] >= '0' && text[at] <= '9') {
        dimension = (digits ? dimension * 10 : 0) + static_cast<size_t>(text[at] - '0');
        digits = true;
        if (dimension > shape.dims.size()) return 0;
        continue;
      }
      if (digits) {
        if (dimension >= shape.dims.size()) return 0;
        product *= shape.dims[dimension];
      }
      digits = false;
    }
    return product;
  }

  static void SizesOf(const std::array<hlo::ArrayShape, 3>& shapes, std::string_view text,
                      DotFacts& dot) {
    const int64_t k = Listed(text, "lhs_contracting_dim", shapes[0]);
    const int64_t batch = std::max<int64_t>(Listed(text, "lhs_batch_dim", shapes[0]), 1);
    if (k <= 0) return;
    dot.k = k;
    dot.batch = batch;
    dot.m = Elements(shapes[0]) / std::max<int64_t>(k * batch, 1);
    dot.n = Elements(shapes[1]) / std::max<int64_t>(k * batch, 1);
  }

  DotFacts DotOf(const Instruction& i) const {
    DotFacts dot;
    const auto operands = module_.Operands(i);
    if (operands.size() < 2) return dot;
    const std::array<uint32_t, 2> inputs{operands[0], operands[1]};
    const hlo::ArrayShape result = hlo::FirstLeaf(i.shape);
    dot.result_type = result.type;
    std::array<hlo::ArrayShape, 3> shapes{hlo::FirstLeaf(At(inputs[0]).shape),
                                          hlo::FirstLeaf(At(inputs[1]).shape), result};
    dot.lhs_type = shapes[0].type;
    dot.rhs_type = shapes[1].type;
    const std::string_view config = i.backend_config;
    SizesOf(shapes, config.find("contracting") != config.npos ? config : i.attributes, dot);
    for (const std::string_view text : {i.attributes, config}) {
      if (Has(text, "HIGHEST") || Has(text, "highest")) dot.precision = "highest";
    }
    for (const hlo::ArrayShape& shape : shapes) {
      if (shape.dims.size() < 2 || shape.minor_to_major.empty() || shape.element_bits < 8) continue;
      const auto minor = static_cast<size_t>(shape.minor_to_major[0]);
      if (minor >= shape.dims.size()) continue;
      const int64_t dimension = shape.dims[minor];
      const int64_t row = dimension * shape.element_bits / 8;
      if (dimension >= 64 && row % kTensorCoreBytes != 0) dot.odd_dimension = dimension;
    }
    for (const uint32_t input : inputs) {
      if (hlo::FirstLeaf(At(input).shape).type == "f32") {
        const uint32_t convert =
            Back(input, [](const Instruction& at) { return at.opcode == "convert"; });
        if (convert != kNoIndex) {
          const auto from = module_.Operands(At(convert));
          if (!from.empty() && IsShort(hlo::FirstLeaf(At(from[0]).shape).type)) {
            dot.upcast_from = hlo::FirstLeaf(At(from[0]).shape).type;
          }
        }
      }
      const uint32_t pad = Back(input, [](const Instruction& at) { return at.opcode == "pad"; });
      if (pad == kNoIndex) continue;
      const auto from = module_.Operands(At(pad));
      if (from.empty()) continue;
      const hlo::ArrayShape before = hlo::FirstLeaf(At(from[0]).shape);
      const hlo::ArrayShape after = hlo::FirstLeaf(At(pad).shape);
      for (size_t d = 0; d < before.dims.size() && d < after.dims.size(); ++d) {
        if (before.dims[d] >= 64 && after.dims[d] > before.dims[d]) {
          dot.padded_from = before.dims[d];
          dot.padded_to = after.dims[d];
        }
      }
    }
    return dot;
  }

  std::optional<ScatterFacts> ScatterOf(const Instruction& i) const {
    const auto called = module_.CalledComputations(i);
    if (called.empty()) return std::nullopt;
    const uint32_t root = module_.computations[called[0]].root;
    if (root == kNoIndex || At(root).opcode != "add") return std::nullopt;
    const auto operands = module_.Operands(i);
    if (operands.size() < 3) return std::nullopt;
    const hlo::ArrayShape updates =
        hlo::FirstLeaf(At(operands[(operands.size() - 1) / 2 + 1]).shape);
    const hlo::ArrayShape table = hlo::FirstLeaf(i.shape);
    if (table.dims.empty() || updates.dims.empty()) return std::nullopt;
    ScatterFacts scatter;
    scatter.type = table.type;
    scatter.update_bytes = updates.bytes();
    scatter.table_rows = *std::max_element(table.dims.begin(), table.dims.end());
    scatter.row_elements = table.elements() / std::max<int64_t>(scatter.table_rows, 1);
    scatter.table_rows = table.dims[0];
    scatter.row_elements = table.elements() / std::max<int64_t>(table.dims[0], 1);
    scatter.updates = updates.elements() / std::max<int64_t>(scatter.row_elements, 1);
    return scatter;
  }

  // Kind of movement of a computation that only moves data.
  Movement MovementOf(const std::vector<uint32_t>& body) const {
    Movement movement = Movement::kNone;
    bool fills = false;  // Writes a repeated value: nothing is copied.
    const auto atLeast = [&](Movement at) {
      if (movement == Movement::kNone || movement == Movement::kCopy) movement = at;
    };
    for (const uint32_t node : body) {
      const Instruction& i = At(node);
      if (i.opcode == "fusion" || i.opcode == "parameter" || i.opcode == "constant" ||
          i.opcode == "bitcast" || i.opcode == "tuple" || i.opcode == "get-tuple-element") {
        continue;
      }
      if (i.opcode == "copy") {
        const auto operands = module_.Operands(i);
        const bool same =
            !operands.empty() && hlo::FirstLeaf(At(operands[0]).shape).minor_to_major ==
                                     hlo::FirstLeaf(i.shape).minor_to_major;
        atLeast(same ? Movement::kCopy : Movement::kLayout);
      } else if (i.opcode == "transpose") {
        atLeast(Movement::kTranspose);
      } else if (i.opcode == "convert") {
        atLeast(Movement::kConvert);
      } else if (i.opcode == "pad" || i.opcode == "concatenate" || i.opcode == "reverse") {
        atLeast(Movement::kPad);
      } else if (i.opcode == "broadcast") {
        fills = true;
      } else if (i.opcode != "reshape" && i.opcode != "slice") {
        return Movement::kNone;
      }
    }
    return fills ? Movement::kNone : movement;
  }

  int64_t SquareScores(std::string_view shape) {
    for (const hlo::ArrayShape& leaf : hlo::Leaves(shape)) {
      const size_t rank = leaf.dims.size();
      if (rank < 2) continue;
      const int64_t rows = leaf.dims[rank - 2];
      if (rows < kMinScoreRows || rows != leaf.dims[rank - 1]) continue;
      if (!score_elements_) score_elements_ = ScoreElements(module_);
      if (score_elements_->contains(leaf.elements())) return rows;
    }
    return 0;
  }

  static bool InHostMemory(std::string_view shape) {
    if (!Has(shape, "S(5)")) return false;
    for (const hlo::ArrayShape& leaf : hlo::Leaves(shape)) {
      if (leaf.memory_space == hlo::kHostMemorySpaceNumber) return true;
    }
    return false;
  }

  OpFacts Of(uint32_t node) {
    OpFacts facts;
    facts.known = true;
    const Instruction& i = At(node);
    facts.frame = i.metadata.stack_frame;
    const hlo::Cost cost = cost_.Of(i);
    facts.flops = cost.flops;
    facts.bytes = cost.bytes_accessed;
    facts.in_loop = in_loop_[i.computation];
    facts.starts_stack = starts_stack_[node];
    facts.square_scores = SquareScores(i.shape);
    facts.host_memory = InHostMemory(i.shape);
    for (const uint32_t operand : module_.Operands(i)) {
      if (facts.square_scores == 0) facts.square_scores = SquareScores(At(operand).shape);
      facts.host_memory = facts.host_memory || InHostMemory(At(operand).shape);
    }
    std::vector<uint32_t> body;
    Collect(node, 0, body);
    facts.movement = MovementOf(body);
    ReadBody(body, facts);
    if (facts.host_memory) ReadHostMemory(body, facts);
    if (facts.movement == Movement::kCopy) ReadCopy(node, body, facts);
    return facts;
  }

  void ReadBody(const std::vector<uint32_t>& body, OpFacts& facts) const {
    double heaviest = -1;
    for (const uint32_t inner : body) {
      const Instruction& i = At(inner);
      if (IsProduct(i)) {
        const double weight = hlo::Weight(module_, i);
        if (weight <= heaviest) continue;
        heaviest = weight;
        facts.dot = DotOf(i);
        TakeLine(i, facts);
      } else if (i.opcode == "scatter") {
        if (auto scatter = ScatterOf(i)) {
          facts.scatter = std::move(scatter);
          TakeLine(i, facts);
        }
      } else if (i.opcode == "while") {
        facts.iterations = std::max(facts.iterations, hlo::TripCount(module_, i).value_or(0));
      } else if (i.opcode == "dynamic-update-slice") {
        const auto operands = module_.Operands(i);
        if (operands.size() > 1) facts.slice_bytes += hlo::ByteSize(At(operands[1]).shape);
      } else if (i.opcode == "sort") {
        const hlo::ArrayShape shape = hlo::FirstLeaf(i.shape);
        facts.sorted_elements = shape.elements();
        facts.sorted_type = shape.type;
        TakeLine(i, facts);
      }
      if (i.opcode == "custom-call" && !IsProduct(i)) {
        facts.target = i.custom_call_target;
        facts.host_callback =
            Has(i.custom_call_target, "python") && Has(i.custom_call_target, "callback");
      }
    }
  }

  // The line that reads memory of the host, rather than that of the fusion's root.
  void ReadHostMemory(const std::vector<uint32_t>& body, OpFacts& facts) const {
    for (const uint32_t inner : body) {
      const Instruction& i = At(inner);
      if (i.opcode == "fusion" || i.metadata.source_file.empty()) continue;
      for (const uint32_t operand : module_.Operands(i)) {
        if (!InHostMemory(At(Outside(operand)).shape)) continue;
        TakeLine(i, facts);
        return;
      }
    }
  }

  static void TakeLine(const Instruction& i, OpFacts& facts) {
    if (i.metadata.source_file.empty()) return;
    facts.inner_file = i.metadata.source_file;
    facts.inner_line = i.metadata.source_line;
    if (i.metadata.stack_frame != 0) facts.frame = i.metadata.stack_frame;
  }

  // Does it copy an entry parameter, and nothing else?
  void ReadCopy(uint32_t node, const std::vector<uint32_t>& body, OpFacts& facts) const {
    const Instruction& whole = At(node);
    for (const uint32_t inner : body) {
      if (At(inner).opcode != "copy") continue;
      uint32_t at = inner;
      for (int step = 0; step < kMaxChainSteps; ++step) {
        at = Outside(at);
        const Instruction& i = At(at);
        if (i.opcode == "parameter") break;
        if (i.opcode != "copy" && i.opcode != "bitcast") return;
        const auto operands = module_.Operands(i);
        if (operands.empty()) return;
        at = operands[0];
      }
      const Instruction& source = At(at);
      if (source.opcode != "parameter" || source.computation != module_.entry) return;
      if (hlo::ByteSize(source.shape) != hlo::ByteSize(whole.shape)) return;
      facts.copied_parameter = source.parameter_number;
      facts.argument = ArgumentOf(source);
      facts.parameter_is_donated =
          std::binary_search(module_.aliased_parameters.begin(), module_.aliased_parameters.end(),
                             source.parameter_number);
    }
  }

  const HloModule& module_;
  hlo::CostModel cost_;
  std::vector<uint32_t> caller_;  // Per computation.
  std::vector<bool> in_loop_;
  std::vector<bool> starts_stack_;  // Per instruction.
  // Sizes of arrays of scores, read when needed.
  std::optional<std::set<int64_t>> score_elements_;
};

}  // namespace

HloFacts FactsOf(const HloModule& module, const std::vector<uint32_t>& nodes,
                 model::UserCode user_code) {
  return Reader(module).Read(nodes, std::move(user_code));
}

}  // namespace xlatrace::analysis::findings
