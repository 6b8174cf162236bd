// SPDX-License-Identifier: Apache-2.0
#include "analysis/live_values.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/memory_sharing.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::analysis {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;

constexpr size_t kMaxLeaves = 4'000'000;
constexpr int kMaxLoopDepth = 64;  // Nested loops.

using Leaf = uint32_t;  // Index of a place.
using LeafList = std::vector<Leaf>;

// A place whose sharing is not yet decided; then a node of a forest.
struct Place {
  uint32_t parent;
  LiveValue value;
  int32_t last_use = -1;  // -1: no reader.
  uint32_t user = kNoIndex;
  bool fixed = false;  // Shares memory with no other place: a parameter, a constant.
  bool live_out = false;
  bool carried = false;            // By a loop, into its body.
  int32_t own_last_use = -1;       // Last use of this leaf, without values that share its memory.
  uint32_t definition = kNoIndex;  // Instruction and leaf of its shape. A carried value is defined
  uint32_t leaf = 0;               // by a parameter of the loop's computation.
};

bool PassesOnBuffer(std::string_view opcode) {
  return opcode == "tuple" || opcode == "get-tuple-element" || opcode == "bitcast" ||
         opcode == "opt-barrier" || opcode == "domain" || opcode == "add-dependency";
}

class Builder {
 public:
  explicit Builder(const HloModule& module) : module_(module) {}

  Result<LiveValues> Build() {
    if (!module_.is_scheduled || module_.entry >= module_.computations.size()) {
      return MakeError("the module has no schedule: the order in which values live is not known",
                       "take the module after optimizations");
    }
    leaves_.resize(module_.instructions.size());
    visited_.resize(module_.computations.size());
    if (!Flatten(module_.entry, {}, 0)) {
      return MakeError("the module holds too many values to follow them");
    }
    const uint32_t root = module_.computations[module_.entry].root;
    if (root == kNoIndex) return MakeError("the entry computation has no root");
    const auto end = static_cast<int32_t>(out_.order.size()) - 1;
    for (const Leaf leaf : leaves_[root]) {
      Place& place = At(leaf);
      place.live_out = true;
      place.last_use = end;
      places_[leaf].own_last_use = end;
      place.user = kNoIndex;
    }
    CollectRanges(end);
    ShareInPlace();
    Donate(root);
    Collect(end);
    return std::move(out_);
  }

 private:
  uint32_t Find(uint32_t i) {
    while (places_[i].parent != i) {
      places_[i].parent = places_[places_[i].parent].parent;
      i = places_[i].parent;
    }
    return i;
  }
  Place& At(Leaf leaf) { return places_[Find(leaf)]; }

  // Gives both one memory. The first writer names the place.
  void Unite(Leaf a, Leaf b) {
    uint32_t to = Find(a), from = Find(b);
    if (to == from) return;
    const auto rank = [&](uint32_t i) {
      return std::pair(!places_[i].fixed, places_[i].value.first);
    };
    if (rank(from) < rank(to)) std::swap(to, from);
    Place& kept = places_[to];
    const Place& gone = places_[from];
    kept.value.first = std::min(kept.value.first, gone.value.first);
    kept.value.bytes = std::max(kept.value.bytes, gone.value.bytes);
    if (kept.value.updated_by == kNoIndex) kept.value.updated_by = gone.value.updated_by;
    if (gone.last_use > kept.last_use) {
      kept.last_use = gone.last_use;
      kept.user = gone.user;
    }
    kept.last_use = std::max(kept.last_use, gone.value.first);
    kept.live_out = kept.live_out || gone.live_out;
    if (kept.live_out) kept.user = kNoIndex;
    places_[from].parent = to;
  }

  void Use(Leaf leaf, int32_t position, uint32_t user) {
    places_[leaf].own_last_use = std::max(places_[leaf].own_last_use, position);
    Place& place = At(leaf);
    if (position <= place.last_use) return;
    place.last_use = position;
    place.user = user;
  }

  Leaf NewPlace(uint32_t instruction, const hlo::ArrayShape& shape, size_t of_shape,
                int32_t position) {
    const auto leaf = static_cast<Leaf>(places_.size());
    Place& place = places_.emplace_back();
    place.parent = leaf;
    place.value.instruction = instruction;
    place.definition = instruction;
    place.leaf = static_cast<uint32_t>(of_shape);
    place.value.bytes = shape.memory_space == hlo::kHostMemorySpaceNumber ? 0 : shape.bytes();
    place.value.first = position;
    return leaf;
  }

  Leaf Carried(Leaf of) {
    const auto leaf = static_cast<Leaf>(places_.size());
    Place place{.parent = leaf, .value = At(of).value};
    place.value.first = static_cast<int32_t>(out_.order.size());
    place.carried = true;
    places_.push_back(place);
    return leaf;
  }

  // Where each element of a tuple begins among its leaves, and their number.
  const std::vector<uint32_t>& ElementsOf(uint32_t instruction) {
    auto [it, is_new] = elements_.try_emplace(instruction);
    if (is_new) {
      const std::string_view shape = module_.instructions[instruction].shape;
      uint32_t sum = 0;
      int depth = 0;
      size_t begin = 1;
      for (size_t i = 0; i < shape.size(); ++i) {
        const char c = shape[i];
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == ']' || c == '}') --depth;
        if (depth != 0 && !(depth == 1 && c == ',')) continue;
        it->second.push_back(sum);
        if (i > begin)
          sum += static_cast<uint32_t>(hlo::Leaves(shape.substr(begin, i - begin)).size());
        begin = i + 1;
        if (depth == 0) break;
      }
      it->second.push_back(sum);
    }
    return it->second;
  }

  std::span<const Leaf> LeavesOf(uint32_t instruction) const { return leaves_[instruction]; }

  LeafList AllOperandLeaves(const Instruction& instruction) const {
    LeafList all;
    for (const uint32_t operand : module_.Operands(instruction)) {
      all.insert(all.end(), leaves_[operand].begin(), leaves_[operand].end());
    }
    return all;
  }

  // The leaves of `i` that are those of its operands; the rest is made anew by `Define`.
  LeafList PassedOn(const Instruction& instruction) {
    const auto operands = module_.Operands(instruction);
    if (instruction.opcode == "tuple") return AllOperandLeaves(instruction);
    if (operands.empty()) return {};
    const std::span<const Leaf> of = LeavesOf(operands[0]);
    if (instruction.opcode != "get-tuple-element") return {of.begin(), of.end()};
    const std::vector<uint32_t>& elements = ElementsOf(operands[0]);
    const auto index = static_cast<size_t>(std::max(instruction.tuple_index, 0));
    if (index + 1 >= elements.size() || elements[index + 1] > of.size()) return {};
    return {of.begin() + elements[index], of.begin() + elements[index + 1]};
  }

  // A start passes its operands on together with its results ((operands), results, context). A done
  // returns the results of its start.
  LeafList StartOrDone(const Instruction& instruction, size_t leaf_count) {
    const auto operands = module_.Operands(instruction);
    if (operands.empty()) return {};
    if (instruction.opcode.ends_with("-start")) {
      if (instruction.opcode == "copy-start" || instruction.opcode == "recv") return {};
      LeafList all = AllOperandLeaves(instruction);
      return leaf_count > all.size() ? all : LeafList{};
    }
    const std::span<const Leaf> start = LeavesOf(operands[0]);
    size_t skip = 0;
    const Instruction& begun = module_.instructions[operands[0]];
    if (instruction.opcode.ends_with("-done") && start.size() > leaf_count &&
        begun.opcode != "copy-start" && begun.opcode != "recv") {
      skip = std::min(start.size() - leaf_count, AllOperandLeaves(begun).size());
      if (begun.opcode.ends_with("-update")) skip = 0;
    }
    const size_t count = std::min(leaf_count, start.size() - skip);
    return {start.begin() + static_cast<std::ptrdiff_t>(skip),
            start.begin() + static_cast<std::ptrdiff_t>(skip + count)};
  }

  // False: too much of it.
  bool Flatten(uint32_t computation, const std::vector<LeafList>& arguments, int depth) {
    if (depth > kMaxLoopDepth) return false;
    visited_[computation] = true;
    const model::Computation& c = module_.computations[computation];
    const bool entry = computation == module_.entry;
    for (uint32_t i = c.first_instruction; i < c.first_instruction + c.instruction_count; ++i) {
      const Instruction& instruction = module_.instructions[i];
      const std::vector<hlo::ArrayShape> shapes = hlo::Leaves(instruction.shape);
      if (places_.size() + shapes.size() > kMaxLeaves) return false;
      LeafList& mine = leaves_[i];
      const auto number = static_cast<size_t>(std::max(instruction.parameter_number, 0));
      if (instruction.opcode == "parameter" && !entry) {
        if (number < arguments.size()) mine = arguments[number];
        for (size_t k = 0; k < mine.size(); ++k) {
          Place& place = places_[mine[k]];
          if (!place.carried || place.definition != kNoIndex) continue;
          place.definition = i;
          place.leaf = static_cast<uint32_t>(k);
          place.value.first = static_cast<int32_t>(out_.order.size());
        }
      } else if (PassesOnBuffer(instruction.opcode)) {
        mine = PassedOn(instruction);
      } else if (instruction.opcode == "copy-start" && shapes.size() > 1) {
        // (copy, operand, context): the second is the operand itself
        // (HloDataflowAnalysis::UpdateCopyStartValueSet).
        mine.push_back(NewPlace(i, shapes[0], 0, static_cast<int32_t>(out_.order.size())));
        const LeafList read = AllOperandLeaves(instruction);
        mine.insert(mine.end(), read.begin(), read.end());
      } else if (hlo::IsAsync(instruction.opcode) || instruction.opcode.starts_with("async-") ||
                 instruction.opcode == "recv-done") {
        mine = StartOrDone(instruction, shapes.size());
        if (!Wrapped(instruction, mine, depth)) return false;
      } else if (!Call(instruction, mine, depth)) {
        return false;
      }
      const auto position = static_cast<int32_t>(out_.order.size());
      out_.order.push_back(i);
      if (mine.size() > shapes.size()) mine.resize(shapes.size());
      while (mine.size() < shapes.size()) {
        mine.push_back(NewPlace(i, shapes[mine.size()], mine.size(), position));
      }
      if (instruction.opcode == "parameter" && entry) Fix(mine, LiveKind::kParameter);
      if (instruction.opcode == "constant") Fix(mine, LiveKind::kConstant);
      if (PassesOnBuffer(instruction.opcode)) continue;
      for (const uint32_t operand : module_.Operands(instruction)) {
        for (const Leaf leaf : leaves_[operand]) Use(leaf, position, i);
        // An asynchronous start reads its operands until it is done.
        if (instruction.opcode.ends_with("-done")) {
          done_[operand] = position;
          if (SharesAcrossTime(module_.instructions[operand]))
            continue;  // ShareInPlace sees to it.
          for (const uint32_t read : module_.Operands(module_.instructions[operand])) {
            for (const Leaf leaf : leaves_[read]) Use(leaf, position, i);
          }
        }
      }
    }
    return true;
  }

  // HloLiveRange::NormalizeAliasedBuffers: of values in one memory, each ends where the next
  // begins.
  void CollectRanges(int32_t end) {
    std::vector<std::vector<uint32_t>> groups(places_.size());
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (places_[i].definition != kNoIndex) groups[Find(i)].push_back(i);
    }
    for (uint32_t group = 0; group < groups.size(); ++group) {
      std::vector<uint32_t>& members = groups[group];
      const auto first_of = [&](uint32_t i) { return places_[i].value.first; };
      std::stable_sort(members.begin(), members.end(),
                       [&](uint32_t a, uint32_t b) { return first_of(a) < first_of(b); });
      const size_t begin = out_.ranges.size();
      for (const uint32_t i : members) {
        const Place& place = places_[i];
        ValueRange range{.instruction = place.definition,
                         .leaf = place.leaf,
                         .group = group,
                         .first = first_of(i),
                         .last = std::max(place.own_last_use, first_of(i)),
                         .is_carried = place.carried};
        if (place.fixed && place.value.kind == LiveKind::kParameter) {
          range.first = 0;
          range.last = end;
        }
        if (out_.ranges.size() > begin) {
          ValueRange& before = out_.ranges.back();
          range.last = std::max(range.last, before.last);
          before.last = std::min(before.last, range.first - 1);
        }
        out_.ranges.push_back(range);
      }
    }
    std::sort(out_.ranges.begin(), out_.ranges.end(), [](const ValueRange& a, const ValueRange& b) {
      return std::pair(a.instruction, a.leaf) < std::pair(b.instruction, b.leaf);
    });
  }

  void Fix(const LeafList& leaves, LiveKind kind) {
    for (const Leaf leaf : leaves) {
      places_[leaf].fixed = true;
      places_[leaf].value.kind = kind;
    }
  }

  // Runs through the computation of an async-start. Its results follow the operands in `mine`.
  bool Wrapped(const Instruction& instruction, LeafList& mine, int depth) {
    if (instruction.opcode != "async-start") return true;
    std::vector<LeafList> given;
    for (const uint32_t operand : module_.Operands(instruction)) given.push_back(leaves_[operand]);
    for (const uint32_t called : module_.CalledComputations(instruction)) {
      if (visited_[called]) continue;
      if (!Flatten(called, given, depth + 1)) return false;
      const uint32_t root = module_.computations[called].root;
      if (root == kNoIndex) continue;
      mine.insert(mine.end(), leaves_[root].begin(), leaves_[root].end());
    }
    return true;
  }

  // An all-reduce adds up in the memory of its operand, if no other instruction reads that later.
  static bool SharesAcrossTime(const Instruction& start) {
    return start.opcode == "all-reduce-start";
  }

  // Runs through the computations that a loop, branch or call enters; their result is its result.
  bool Call(const Instruction& instruction, LeafList& result, int depth) {
    const std::string_view opcode = instruction.opcode;
    const bool loop = opcode == "while", branch = opcode == "conditional";
    if (!loop && !branch && opcode != "call") return true;
    std::vector<LeafList> given;
    for (const uint32_t operand : module_.Operands(instruction)) given.push_back(leaves_[operand]);
    if (loop && !given.empty()) result = given[0];
    size_t called_number = 0;
    const auto computations = module_.CalledComputations(instruction);
    std::vector<uint32_t> in_order(computations.begin(), computations.end());
    if (loop) std::reverse(in_order.begin(), in_order.end());  // The condition runs first.
    for (const uint32_t called : in_order) {
      ++called_number;
      if (visited_[called]) continue;  // Shared by two calls: followed once.
      std::vector<LeafList> arguments = given;
      if (branch) {
        arguments.clear();
        if (called_number < given.size()) arguments.push_back(given[called_number]);
      }
      // A loop-carried value is a separate value in each round, in one memory.
      if (loop) {
        for (LeafList& list : arguments) {
          for (Leaf& leaf : list) leaf = Carried(leaf);
        }
      }
      if (!Flatten(called, arguments, depth + 1)) return false;
      if (loop && !arguments.empty()) {
        for (size_t k = 0; k < arguments[0].size(); ++k) Unite(given[0][k], arguments[0][k]);
      }
      const uint32_t root = module_.computations[called].root;
      if (root == kNoIndex) continue;
      const LeafList& made = leaves_[root];
      const auto position = static_cast<int32_t>(out_.order.size());
      for (const Leaf leaf : made) Use(leaf, position, root);
      // The condition of a loop computes a flag, which is not carried on.
      if (loop && made.size() != result.size()) continue;
      if (result.empty()) result = made;
      for (size_t k = 0; k < std::min(result.size(), made.size()); ++k) Unite(result[k], made[k]);
    }
    return true;
  }

  // Puts results into the memory of operands without later reader.
  void ShareInPlace() {
    for (size_t at = 0; at < out_.order.size(); ++at) {
      const uint32_t i = out_.order[at];
      const Instruction& instruction = module_.instructions[i];
      const auto position = static_cast<int32_t>(at);
      if (leaves_[i].empty() || PassesOnBuffer(instruction.opcode) ||
          module_.Operands(instruction).empty()) {
        continue;
      }
      ShareOf(i, position);
      NoteUpdate(i);
      const auto done = done_.find(i);
      if (done == done_.end() || !SharesAcrossTime(instruction)) continue;
      for (const uint32_t operand : module_.Operands(instruction)) {
        for (const Leaf leaf : leaves_[operand]) Use(leaf, done->second, i);
      }
    }
  }

  void NoteUpdate(uint32_t i) {
    const auto operands = module_.Operands(module_.instructions[i]);
    for (size_t k = 0; k < leaves_[i].size(); ++k) {
      Place& place = At(leaves_[i][k]);
      for (size_t o = 0; o < operands.size() && place.value.updated_by == kNoIndex; ++o) {
        const LeafList& of = leaves_[operands[o]];
        if (of.size() == 1 && &At(of[0]) == &place && UpdatesOperand(module_, i, k, o)) {
          place.value.updated_by = i;
        }
      }
    }
  }

  void ShareOf(uint32_t i, int32_t position) {
    const Instruction& instruction = module_.instructions[i];
    for (size_t k = 0; k < leaves_[i].size(); ++k) {
      const Leaf made = leaves_[i][k];
      if (At(made).value.first != position || At(made).value.bytes == 0) continue;
      for (size_t o = 0; o < instruction.operands.size; ++o) {
        const LeafList& of = leaves_[module_.Operands(instruction)[o]];
        if (of.size() != 1) continue;
        const Place& operand = At(of[0]);
        const Place& read = places_[of[0]];
        if (read.own_last_use != position || operand.value.bytes != At(made).value.bytes ||
            Find(of[0]) == Find(made)) {
          continue;
        }
        const bool shares =
            read.carried ? UpdatesOperand(module_, i, k, o)
                         : !operand.fixed && !operand.live_out && CanShareMemory(module_, i, k, o);
        if (!shares) continue;
        Unite(of[0], made);
        break;
      }
    }
  }

  // Parameters whose memory results take over, by their shapes, and those where one could.
  void Donate(uint32_t root) {
    const model::Computation& entry = module_.computations[module_.entry];
    const std::vector<hlo::ArrayShape> results = hlo::Leaves(module_.instructions[root].shape);
    const LeafList& made = leaves_[root];
    std::vector<bool> taken(results.size(), false);
    std::vector<uint32_t> parameters;
    for (uint32_t i = entry.first_instruction;
         i < entry.first_instruction + entry.instruction_count; ++i) {
      if (module_.instructions[i].opcode == "parameter") parameters.push_back(i);
    }
    std::stable_sort(parameters.begin(), parameters.end(), [&](uint32_t a, uint32_t b) {
      return module_.instructions[a].parameter_number < module_.instructions[b].parameter_number;
    });
    // A result that is in the memory of a parameter already, then one of the same shape.
    const auto match = [&](const hlo::ArrayShape& shape, Leaf parameter) {
      for (const bool same : {true, false}) {
        for (size_t k = 0; k < std::min(results.size(), made.size()); ++k) {
          if (taken[k] || results[k].type != shape.type || results[k].dims != shape.dims) continue;
          if (same ? Find(made[k]) != Find(parameter) : At(made[k]).fixed) continue;
          taken[k] = true;
          return k;
        }
      }
      return results.size();
    };
    for (const bool donated : {true, false}) {
      for (const uint32_t p : parameters) {
        const Instruction& parameter = module_.instructions[p];
        const bool aliased =
            std::binary_search(module_.aliased_parameters.begin(), module_.aliased_parameters.end(),
                               static_cast<int64_t>(parameter.parameter_number));
        if (aliased != donated) continue;
        const std::vector<hlo::ArrayShape> shapes = hlo::Leaves(parameter.shape);
        for (size_t k = 0; k < leaves_[p].size(); ++k) {
          const size_t result = match(shapes[k], leaves_[p][k]);
          if (result == results.size()) continue;
          Place& place = At(leaves_[p][k]);
          if (donated) {
            place.value.donated = true;
            Unite(leaves_[p][k], made[result]);
          } else if (Find(made[result]) != Find(leaves_[p][k])) {
            place.value.donatable = place.value.bytes > 0;
          }
        }
      }
    }
  }

  void Collect(int32_t end) {
    std::vector<int64_t> change(out_.order.size() + 1, 0);
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (places_[i].parent != i || places_[i].value.bytes <= 0) continue;
      const Place& place = places_[i];
      LiveValue value = place.value;
      value.last = std::max(place.last_use, value.first);
      value.last_user = place.user;
      if (place.fixed) {
        value.first = 0;
        value.last = end;
        value.last_user = kNoIndex;
      } else if (place.live_out) {
        value.kind = LiveKind::kResult;
        value.last = end;
      }
      change[static_cast<size_t>(value.first)] += value.bytes;
      change[static_cast<size_t>(value.last) + 1] -= value.bytes;
      out_.values.push_back(value);
    }
    std::stable_sort(out_.values.begin(), out_.values.end(),
                     [](const LiveValue& a, const LiveValue& b) { return a.first < b.first; });
    int64_t now = 0;
    for (size_t i = 0; i < out_.order.size(); ++i) {
      now += change[i];
      if (now > out_.peak_bytes) {
        out_.peak_bytes = now;
        out_.peak_position = static_cast<int32_t>(i);
      }
    }
  }

  const HloModule& module_;
  LiveValues out_;
  std::vector<Place> places_;
  std::vector<LeafList> leaves_;  // By instruction.
  std::vector<bool> visited_;     // Computations.
  std::unordered_map<uint32_t, std::vector<uint32_t>> elements_;
  std::unordered_map<uint32_t, int32_t> done_;  // Position of the done, by start.
};

}  // namespace

Result<LiveValues> LiveValuesOf(const HloModule& module) { return Builder(module).Build(); }

}  // namespace xlatrace::analysis
