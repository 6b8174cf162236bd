// SPDX-License-Identifier: Apache-2.0

// What one step of the compiler did to a module: which instructions it kept, changed, renamed,
// fused, replaced, removed or added.
//
// Instructions keep their names from pass to pass, so those of the same name and opcode are the
// same. From these pairs on the two programs are walked together against the flow of data, operand
// by operand, looking through fusions, calls and tuples. What meets there with the same opcode and
// shape is the same operation under another name, or in a fusion; what meets with another opcode
// has been replaced.
//
// Where the walk leaves something over, operations of the same opcode, shape and op_name are taken
// for the same, in order: for dumps with many passes between them.
//
// An operation that a pass rewrites beyond recognition shows as removed and its successor as added.
// Constants, parameters, tuples and bitcasts are followed but not reported where they have changed
// inside of fusions only.
//
// Thread-safety: immutable once made. Linear in instructions and operands (the walk is cut off
// where a hostile module would make it quadratic; `complete` is then false).

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
  kChanged,   // Same name; shape, layout, operands or what is inside differ.
  kRenamed,   // `others`: what it is called after.
  kFused,     // `others`: the outermost fusions that hold it after.
  kReplaced,  // `others`: what its users use after.
  kRemoved,
};

enum class Birth : uint8_t {
  kKept,
  kChanged,
  kRenamed,   // `others`: what it was called before.
  kCopied,    // `others`: what it is a copy of, which is still there.
  kMade,      // A fusion or call; `others`: the operations in it that were outside of it before.
  kReplaces,  // `others`: what its users used before.
  kAdded,
};

template <typename Kind>
struct InstructionChange {
  Kind kind = Kind::kKept;
  // Instruction indices of the other module, in its order, each once.
  std::vector<uint32_t> others;
};

struct ModuleDiff {
  // Same index as the instructions of the module before and after.
  std::vector<InstructionChange<Fate>> fates;
  std::vector<InstructionChange<Birth>> births;
  // The instruction itself, or the outermost fusion or call around it.
  std::vector<uint32_t> container_before;
  std::vector<uint32_t> container_after;
  bool complete = true;
};

ModuleDiff Diff(const model::HloModule& before, const model::HloModule& after);

// The outermost fusion (or other inlining caller) of every instruction; itself where there is none.
std::vector<uint32_t> Containers(const model::HloModule& module);

// What differs between two instructions of the same name: "layout {1,0} -> {0,1}", "operand 0:
// a -> b", "now holds 3 more". Empty when nothing that is compared does.
std::string ChangeText(const model::HloModule& before, const model::Instruction& old,
                       const model::HloModule& after, const model::Instruction& now);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_MODULE_DIFF_H_
