// SPDX-License-Identifier: Apache-2.0

// The effect of one compiler step on a module: kept, changed, renamed, fused, replaced, removed and
// added instructions.
//
// Instructions keep their names from pass to pass, so those with equal name and opcode are paired.
// From these pairs, both programs are walked against the data flow, operand by operand, through
// fusions, calls and tuples. Two instructions that meet with equal opcode and shape are the same
// operation under another name, or in a fusion. If their opcodes differ, the operation was
// replaced.
//
// The remaining operations with equal opcode, shape and op_name are paired in order. This is for
// dumps with many passes between them.
//
// If a pass rewrites an operation completely, it is shown as removed, and its successor as added.
// Constants, parameters, tuples and bitcasts are followed. Their changes are reported only outside
// of fusions.
//
// Thread-safety: immutable after construction. Linear in instructions and operands. (The walk stops
// if a hostile module would make it quadratic; `complete` is then false.)

#ifndef XLATRACE_DUMPS_MODULE_DIFF_H_
#define XLATRACE_DUMPS_MODULE_DIFF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::dumps {

enum class Fate : uint8_t {
  kKept,
  kChanged,   // Same name; another shape, layout, operands or content.
  kRenamed,   // `others`: the instruction with the new name.
  kFused,     // `others`: the outermost fusions that contain it after the step.
  kReplaced,  // `others`: the instructions that its users use after the step.
  kRemoved,
};

enum class Birth : uint8_t {
  kKept,
  kChanged,
  kRenamed,   // `others`: the instruction with the old name.
  kCopied,    // `others`: the original, which still exists.
  kMade,      // A fusion or call; `others`: its operations that were outside of it before.
  kReplaces,  // `others`: the instructions that its users used before.
  kAdded,
};

template <typename Kind>
struct InstructionChange {
  Kind kind = Kind::kKept;
  // Instruction indices of the other module, ascending, without duplicates.
  std::vector<uint32_t> others;
};

struct ModuleDiff {
  // Same indices as the instructions of the module before and after.
  std::vector<InstructionChange<Fate>> fates;
  std::vector<InstructionChange<Birth>> births;
  // The instruction itself, or the outermost fusion or call around it.
  std::vector<uint32_t> container_before;
  std::vector<uint32_t> container_after;
  bool complete = true;
};

ModuleDiff Diff(const model::HloModule& before, const model::HloModule& after);

// The outermost fusion (or other inlined caller) of every instruction; itself if there is none.
std::vector<uint32_t> Containers(const model::HloModule& module);

// Difference of two instructions with the same name: "layout {1,0} -> {0,1}", "operand 0: a -> b",
// "now holds 3 more". Empty if all compared attributes are equal.
std::string ChangeText(const model::HloModule& before, const model::Instruction& old,
                       const model::HloModule& after, const model::Instruction& now);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_MODULE_DIFF_H_
