// SPDX-License-Identifier: Apache-2.0
#include "dumps/module_diff.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "hlo/module_summary.h"

namespace xlatrace::dumps {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;

// Opcodes whose called computation is part of the graph: its operations run in their place.
bool IsTransparent(std::string_view opcode) { return opcode == "fusion" || opcode == "call"; }

bool IsCommutative(std::string_view opcode) {
  return opcode == "add" || opcode == "multiply" || opcode == "maximum" || opcode == "minimum" ||
         opcode == "and" || opcode == "or" || opcode == "xor";
}

// One of the two modules, with the links through its fusions.
class Side {
 public:
  explicit Side(const HloModule& module) : module_(module) {
    callers_.assign(module.computations.size(), kNoIndex);
    parameters_.resize(module.computations.size());
    for (uint32_t i = 0; i < module.instructions.size(); ++i) {
      const Instruction& instruction = module.instructions[i];
      if (instruction.opcode == "parameter" && instruction.parameter_number >= 0 &&
          instruction.parameter_number < 1'000'000) {
        auto& list = parameters_[instruction.computation];
        const auto number = static_cast<size_t>(instruction.parameter_number);
        if (list.size() <= number) list.resize(number + 1, kNoIndex);
        list[number] = i;
      }
      if (!IsTransparent(instruction.opcode)) continue;
      for (const uint32_t called : module.CalledComputations(instruction)) {
        // With several callers, its parameters have no single value.
        callers_[called] = callers_[called] == kNoIndex ? i : kSeveralCallersIndex;
      }
    }
    index_ = model::IndexByName(module);
  }

  const HloModule& module() const { return module_; }
  const Instruction& At(uint32_t i) const { return module_.instructions[i]; }
  std::string_view OpcodeOf(uint32_t i) const { return At(i).opcode; }

  uint32_t Find(std::string_view name) const {
    const auto it = index_.find(name);
    return it == index_.end() ? kNoIndex : it->second;
  }

  // The operation that computes the value of instruction `i`. It goes through parameters of fused
  // computations to the caller's operand, through fusions to their root, and through elements of
  // tuples.
  uint32_t Resolve(uint32_t i) const {
    // Operands come before users and callees form no cycle, so this ends; the limit is a safeguard.
    for (int step = 0; step < 10'000; ++step) {
      const Instruction& instruction = At(i);
      if (instruction.opcode == "parameter") {
        const uint32_t caller = callers_[instruction.computation];
        if (caller == kNoIndex || caller == kSeveralCallersIndex) return i;
        const auto operands = module_.Operands(At(caller));
        const int64_t number = instruction.parameter_number;
        if (number < 0 || number >= static_cast<int64_t>(operands.size())) return i;
        i = operands[static_cast<size_t>(number)];
      } else if (IsTransparent(instruction.opcode)) {
        const auto called = module_.CalledComputations(instruction);
        if (called.size() != 1 || module_.computations[called[0]].root == kNoIndex) return i;
        i = module_.computations[called[0]].root;
      } else if (instruction.opcode == "get-tuple-element" && instruction.operands.size == 1) {
        const uint32_t source = module_.Operands(instruction)[0];
        const uint32_t from = ResolveTuple(source);
        const Instruction& tuple = At(from);
        const int64_t element = instruction.tuple_index;
        if (tuple.opcode != "tuple" || element < 0 || element >= tuple.operands.size) return i;
        i = module_.Operands(tuple)[static_cast<size_t>(element)];
      } else {
        return i;
      }
    }
    return i;
  }

 private:
  static constexpr uint32_t kSeveralCallersIndex = kNoIndex - 1;

  // Through parameters and fusions only.
  uint32_t ResolveTuple(uint32_t i) const {
    for (int step = 0; step < 10'000; ++step) {
      const Instruction& instruction = At(i);
      if (instruction.opcode == "parameter") {
        const uint32_t caller = callers_[instruction.computation];
        if (caller == kNoIndex || caller == kSeveralCallersIndex) return i;
        const auto operands = module_.Operands(At(caller));
        const int64_t number = instruction.parameter_number;
        if (number < 0 || number >= static_cast<int64_t>(operands.size())) return i;
        i = operands[static_cast<size_t>(number)];
      } else if (IsTransparent(instruction.opcode)) {
        const auto called = module_.CalledComputations(instruction);
        if (called.size() != 1 || module_.computations[called[0]].root == kNoIndex) return i;
        i = module_.computations[called[0]].root;
      } else {
        return i;
      }
    }
    return i;
  }

  const HloModule& module_;
  std::vector<uint32_t> callers_;
  std::vector<std::vector<uint32_t>> parameters_;
  std::unordered_map<std::string_view, uint32_t> index_;
};

// Returns the values of its operand in another shape, order or place. Compilers add and remove such
// instructions everywhere, and their neighbours stay the same.
bool MovesOnly(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  return instruction.operands.size == 1 &&
         (opcode == "reshape" || opcode == "bitcast" || opcode == "copy" || opcode == "transpose");
}

bool IsSameOperation(const Instruction& a, const Instruction& b) {
  if (a.opcode != b.opcode) return false;
  if (a.shape == b.shape) return true;
  if (!a.metadata.op_name.empty() && a.metadata.op_name == b.metadata.op_name) return true;
  return hlo::WithoutLayout(a.shape) == hlo::WithoutLayout(b.shape);
}

class Differ {
 public:
  Differ(const HloModule& before, const HloModule& after) : before_(before), after_(after) {
    same_.resize(before.instructions.size());
    replaced_.resize(before.instructions.size());
    same_back_.resize(after.instructions.size());
    replaced_back_.resize(after.instructions.size());
    most_pairs_ = 24 * (before.instructions.size() + after.instructions.size()) + 1000;
  }

  ModuleDiff Run() {
    Seed();
    Walk();
    PairByOrigin();
    Walk();
    ModuleDiff diff;
    diff.complete = complete_;
    diff.container_before = Containers(before_.module());
    diff.container_after = Containers(after_.module());
    diff.fates.resize(before_.module().instructions.size());
    diff.births.resize(after_.module().instructions.size());
    for (uint32_t b = 0; b < diff.fates.size(); ++b) diff.fates[b] = FateOf(b, diff);
    for (uint32_t a = 0; a < diff.births.size(); ++a) diff.births[a] = BirthOf(a, diff);
    return diff;
  }

 private:
  // Index of the instruction of the same name and opcode on the other side.
  uint32_t Survivor(uint32_t b) const {
    const uint32_t a = after_.Find(before_.At(b).name);
    return a != kNoIndex && after_.OpcodeOf(a) == before_.OpcodeOf(b) ? a : kNoIndex;
  }
  uint32_t Ancestor(uint32_t a) const {
    const uint32_t b = before_.Find(after_.At(a).name);
    return b != kNoIndex && before_.OpcodeOf(b) == after_.OpcodeOf(a) ? b : kNoIndex;
  }

  void Seed() {
    for (uint32_t b = 0; b < before_.module().instructions.size(); ++b) {
      const uint32_t a = Survivor(b);
      if (a != kNoIndex) PushOperands(b, a);
    }
    std::unordered_map<std::string_view, uint32_t> roots;
    for (const model::Computation& computation : after_.module().computations) {
      if (computation.root != kNoIndex) roots.emplace(computation.name, computation.root);
    }
    for (const model::Computation& computation : before_.module().computations) {
      if (computation.root == kNoIndex) continue;
      const auto it = roots.find(computation.name);
      if (it != roots.end()) Push(computation.root, it->second);
    }
    const HloModule& old = before_.module();
    const HloModule& now = after_.module();
    if (old.entry < old.computations.size() && now.entry < now.computations.size() &&
        old.computations[old.entry].root != kNoIndex &&
        now.computations[now.entry].root != kNoIndex) {
      Push(old.computations[old.entry].root, now.computations[now.entry].root);
    }
  }

  void Push(uint32_t b, uint32_t a) {
    b = before_.Resolve(b);
    a = after_.Resolve(a);
    if (seen_.size() >= most_pairs_) {
      complete_ = false;
      return;
    }
    if (seen_.insert(uint64_t{b} << 32 | a).second) stack_.emplace_back(b, a);
  }

  void PushOperands(uint32_t b, uint32_t a) {
    const auto old = before_.module().Operands(before_.At(b));
    const auto now = after_.module().Operands(after_.At(a));
    const size_t count = std::min(old.size(), now.size());
    if (count == 2 && IsCommutative(before_.OpcodeOf(b)) &&
        before_.At(before_.Resolve(old[0])).name == after_.At(after_.Resolve(now[1])).name) {
      Push(old[0], now[1]);
      Push(old[1], now[0]);
      return;
    }
    for (size_t k = 0; k < count; ++k) Push(old[k], now[k]);
  }

  void Walk() {
    while (!stack_.empty()) {
      const auto [b, a] = stack_.back();
      stack_.pop_back();
      if (before_.At(b).name == after_.At(a).name && before_.OpcodeOf(b) == after_.OpcodeOf(a)) {
        continue;  // A seed: its operands are already queued.
      }
      const bool b_lives = Survivor(b) != kNoIndex;
      const bool a_lived = Ancestor(a) != kNoIndex;
      if (b_lives && a_lived) continue;  // Both still exist: an operand was exchanged.
      if (!a_lived && IsSameOperation(before_.At(b), after_.At(a))) {
        same_[b].push_back(a);
        same_back_[a].push_back(b);
        PushOperands(b, a);
      } else if (!a_lived && MovesOnly(after_.At(a)) && !MovesOnly(before_.At(b))) {
        // A copy or another shape of the target.
        if (b_lives) replaced_back_[a].push_back(b);
        Push(b, after_.module().Operands(after_.At(a))[0]);
      } else if (!b_lives && MovesOnly(before_.At(b)) && !MovesOnly(after_.At(a))) {
        replaced_[b].push_back(a);
        Push(before_.module().Operands(before_.At(b))[0], a);
      } else if (!b_lives) {
        replaced_[b].push_back(a);
        if (!a_lived) replaced_back_[a].push_back(b);
      } else if (!a_lived) {
        replaced_back_[a].push_back(b);
      }
    }
  }

  // Pairs the remaining ones with equal opcode, shape and op_name, in order. Many steps at once
  // leave little common structure, but frameworks name each operation.
  void PairByOrigin() {
    const auto key = [](const Instruction& instruction) {
      return fmt::format("{}\n{}\n{}", instruction.opcode, hlo::WithoutLayout(instruction.shape),
                         instruction.metadata.op_name);
    };
    std::unordered_map<std::string, std::vector<uint32_t>> olds;
    for (uint32_t b = 0; b < before_.module().instructions.size(); ++b) {
      const Instruction& instruction = before_.At(b);
      if (!same_[b].empty() || instruction.metadata.op_name.empty() ||
          !hlo::IsOperation(instruction.opcode) || IsTransparent(instruction.opcode) ||
          Survivor(b) != kNoIndex) {
        continue;
      }
      olds[key(instruction)].push_back(b);
    }
    if (olds.empty()) return;
    std::unordered_map<std::string, std::vector<uint32_t>> news;
    for (uint32_t a = 0; a < after_.module().instructions.size(); ++a) {
      const Instruction& instruction = after_.At(a);
      if (!same_back_[a].empty() || instruction.metadata.op_name.empty() ||
          IsTransparent(instruction.opcode) || Ancestor(a) != kNoIndex) {
        continue;
      }
      std::string text = key(instruction);
      if (olds.contains(text)) news[std::move(text)].push_back(a);
    }
    for (const auto& [text, list] : news) {
      const std::vector<uint32_t>& from = olds[text];
      for (size_t k = 0; k < list.size(); ++k) {
        // A single one may have copies in several fusions; among several, the order decides.
        if (from.size() == 1 || k < from.size()) Push(from[from.size() == 1 ? 0 : k], list[k]);
      }
    }
  }

  static std::vector<uint32_t> Unique(std::vector<uint32_t> list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  InstructionChange<Fate> FateOf(uint32_t b, const ModuleDiff& diff) const {
    const Instruction& instruction = before_.At(b);
    if (const uint32_t a = Survivor(b); a != kNoIndex) {
      const bool moved_in = diff.container_before[b] == b && diff.container_after[a] != a;
      if (moved_in) return {Fate::kFused, {diff.container_after[a]}};
      const bool changed =
          !ChangeText(before_.module(), instruction, after_.module(), after_.At(a)).empty();
      return {changed ? Fate::kChanged : Fate::kKept, {a}};
    }
    if (IsTransparent(instruction.opcode)) return FateOfFusion(b, diff);
    std::vector<uint32_t> into;
    std::vector<uint32_t> renamed;
    for (const uint32_t a : same_[b]) {
      const uint32_t container = diff.container_after[a];
      const bool fused = container != a &&
                         !(diff.container_before[b] != b &&
                           after_.At(container).name == before_.At(diff.container_before[b]).name);
      (fused ? into : renamed).push_back(fused ? container : a);
    }
    if (!renamed.empty()) return {Fate::kRenamed, Unique(std::move(renamed))};
    if (!into.empty()) return {Fate::kFused, Unique(std::move(into))};
    std::vector<uint32_t> by;
    for (const uint32_t a : replaced_[b]) by.push_back(diff.container_after[a]);
    if (!by.empty()) return {Fate::kReplaced, Unique(std::move(by))};
    return {Fate::kRemoved, {}};
  }

  // The fate of a fusion is that of its operations.
  InstructionChange<Fate> FateOfFusion(uint32_t b, const ModuleDiff& diff) const {
    std::vector<uint32_t> into;
    size_t held = 0;
    const HloModule& old = before_.module();
    for (const uint32_t called : old.CalledComputations(before_.At(b))) {
      const model::Computation& body = old.computations[called];
      for (uint32_t i = body.first_instruction; i < body.first_instruction + body.instruction_count;
           ++i) {
        if (!hlo::IsOperation(old.instructions[i].opcode)) continue;
        ++held;
        if (const uint32_t a = Survivor(i); a != kNoIndex) into.push_back(diff.container_after[a]);
        for (const uint32_t a : same_[i]) into.push_back(diff.container_after[a]);
      }
    }
    into = Unique(std::move(into));
    if (into.empty()) {
      const auto& by = replaced_[before_.Resolve(b)];
      if (by.empty()) return {Fate::kRemoved, {}};
      std::vector<uint32_t> containers;
      for (const uint32_t a : by) containers.push_back(diff.container_after[a]);
      return {Fate::kReplaced, Unique(std::move(containers))};
    }
    const bool one = into.size() == 1;
    const bool still_fusion = one && IsTransparent(after_.OpcodeOf(into[0]));
    if (still_fusion && OperationsIn(after_, into[0]) <= held)
      return {Fate::kRenamed, std::move(into)};
    const bool any_fusion = std::any_of(
        into.begin(), into.end(), [&](uint32_t a) { return IsTransparent(after_.OpcodeOf(a)); });
    return {any_fusion ? Fate::kFused : Fate::kReplaced, std::move(into)};
  }

  static size_t OperationsIn(const Side& side, uint32_t i) {
    size_t count = 0;
    for (const uint32_t called : side.module().CalledComputations(side.At(i))) {
      for (const Instruction& inside :
           side.module().InstructionsOf(side.module().computations[called])) {
        if (hlo::IsOperation(inside.opcode)) ++count;
      }
    }
    return count;
  }

  InstructionChange<Birth> BirthOf(uint32_t a, const ModuleDiff& diff) const {
    const Instruction& instruction = after_.At(a);
    if (const uint32_t b = Ancestor(a); b != kNoIndex) {
      const bool changed =
          !ChangeText(before_.module(), before_.At(b), after_.module(), instruction).empty();
      return {changed ? Birth::kChanged : Birth::kKept, {b}};
    }
    if (IsTransparent(instruction.opcode)) return BirthOfFusion(a, diff);
    if (!same_back_[a].empty()) {
      const bool lives = std::all_of(same_back_[a].begin(), same_back_[a].end(),
                                     [&](uint32_t b) { return Survivor(b) != kNoIndex; });
      return {lives ? Birth::kCopied : Birth::kRenamed, Unique(same_back_[a])};
    }
    if (!replaced_back_[a].empty()) return {Birth::kReplaces, Unique(replaced_back_[a])};
    return {Birth::kAdded, {}};
  }

  InstructionChange<Birth> BirthOfFusion(uint32_t a, const ModuleDiff& diff) const {
    std::vector<uint32_t> from;
    const HloModule& now = after_.module();
    std::vector<uint32_t> open(now.CalledComputations(after_.At(a)).begin(),
                               now.CalledComputations(after_.At(a)).end());
    size_t held = 0;
    while (!open.empty()) {
      const model::Computation& body = now.computations[open.back()];
      open.pop_back();
      for (uint32_t i = body.first_instruction; i < body.first_instruction + body.instruction_count;
           ++i) {
        if (IsTransparent(now.instructions[i].opcode)) {
          for (const uint32_t called : now.CalledComputations(now.instructions[i]))
            open.push_back(called);
          continue;
        }
        if (!hlo::IsOperation(now.instructions[i].opcode)) continue;
        ++held;
        if (const uint32_t b = Ancestor(i); b != kNoIndex) from.push_back(b);
        from.insert(from.end(), same_back_[i].begin(), same_back_[i].end());
      }
    }
    from = Unique(std::move(from));
    if (from.empty()) {
      const auto& replaced = replaced_back_[after_.Resolve(a)];
      if (!replaced.empty()) return {Birth::kReplaces, Unique(replaced)};
      return {Birth::kAdded, {}};
    }
    // All operations of one old fusion and no others: the fusion has a new name.
    const uint32_t container = diff.container_before[from.front()];
    const bool one = std::all_of(from.begin(), from.end(), [&](uint32_t b) {
      return diff.container_before[b] == container && container != b;
    });
    if (one && OperationsIn(before_, container) >= held) {
      return {Survivor(container) == kNoIndex ? Birth::kRenamed : Birth::kCopied, {container}};
    }
    return {Birth::kMade, std::move(from)};
  }

  Side before_;
  Side after_;
  std::vector<std::pair<uint32_t, uint32_t>> stack_;
  std::unordered_set<uint64_t> seen_;
  std::vector<std::vector<uint32_t>> same_;
  std::vector<std::vector<uint32_t>> replaced_;
  std::vector<std::vector<uint32_t>> same_back_;
  std::vector<std::vector<uint32_t>> replaced_back_;
  size_t most_pairs_ = 0;
  bool complete_ = true;
};

size_t OperationsInside(const HloModule& module, const Instruction& instruction) {
  size_t count = 0;
  for (const uint32_t called : module.CalledComputations(instruction)) {
    for (const Instruction& inside : module.InstructionsOf(module.computations[called])) {
      if (hlo::IsOperation(inside.opcode)) ++count;
    }
  }
  return count;
}

}  // namespace

std::vector<uint32_t> Containers(const HloModule& module) {
  std::vector<uint32_t> caller(module.computations.size(), kNoIndex);
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    if (module.instructions[i].opcode != "fusion") continue;
    for (const uint32_t called : module.CalledComputations(module.instructions[i])) {
      if (caller[called] == kNoIndex) caller[called] = i;
    }
  }
  std::vector<uint32_t> containers(module.instructions.size());
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    uint32_t at = i;
    // Calls form no cycle; the limit is a safeguard.
    for (size_t step = 0; step < caller.size(); ++step) {
      const uint32_t next = caller[module.instructions[at].computation];
      if (next == kNoIndex) break;
      at = next;
    }
    containers[i] = at;
  }
  return containers;
}

std::string ChangeText(const HloModule& before, const Instruction& old, const HloModule& after,
                       const Instruction& now) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (old.shape != now.shape) {
    const std::string old_shape = hlo::WithoutLayout(old.shape);
    if (old_shape != hlo::WithoutLayout(now.shape)) {
      add(fmt::format("shape {} -> {}", old.shape, now.shape));
    } else if (old_shape.size() + 2 < old.shape.size() || old_shape.size() + 2 < now.shape.size()) {
      add(fmt::format("layout {} -> {}", old.shape, now.shape));
    }
  }
  if (old.fusion_kind != now.fusion_kind)
    add(fmt::format("{} -> {}", old.fusion_kind, now.fusion_kind));
  if (old.opcode == "fusion" && now.opcode == "fusion") {
    const size_t was = OperationsInside(before, old);
    const size_t is = OperationsInside(after, now);
    if (is > was) add(fmt::format("holds {} operations more", is - was));
    if (is < was) add(fmt::format("holds {} operations less", was - is));
  }
  const auto old_operands = before.Operands(old);
  const auto new_operands = after.Operands(now);
  if (old_operands.size() != new_operands.size()) {
    add(fmt::format("{} operands -> {}", old_operands.size(), new_operands.size()));
  } else {
    size_t changed = 0;
    size_t first = 0;
    for (size_t k = 0; k < old_operands.size(); ++k) {
      if (before.instructions[old_operands[k]].name == after.instructions[new_operands[k]].name)
        continue;
      if (changed++ == 0) first = k;
    }
    if (changed > 0) {
      add(fmt::format("operand {}: {} -> {}", first, before.instructions[old_operands[first]].name,
                      after.instructions[new_operands[first]].name));
      if (changed > 1) text += fmt::format(" and {} more", changed - 1);
    }
  }
  if (old.custom_call_target != now.custom_call_target) {
    add(fmt::format("target {} -> {}", old.custom_call_target, now.custom_call_target));
  }
  return text;
}

ModuleDiff Diff(const HloModule& before, const HloModule& after) {
  return Differ(before, after).Run();
}

}  // namespace xlatrace::dumps
