// SPDX-License-Identifier: Apache-2.0

// The life of one instruction through a compilation: where it was made and of what, how it changed,
// what became of it.
//
// Reads the dumps of the passes and compares neighbours (dumps/module_diff.h). Forward it follows
// what the instruction is called after, or is fused into, to the end; backward what it was made of,
// down to the operations of the framework. Errors: a dump that cannot be read is left out, with a
// warning.
//
// Thread-safety: re-entrant. Memory: two modules at a time, or all of them where they are small.

#ifndef XLATRACE_DUMPS_INSTRUCTION_HISTORY_H_
#define XLATRACE_DUMPS_INSTRUCTION_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dumps/module_diff.h"
#include "dumps/pass_timeline.h"

namespace xlatrace::dumps {

// An instruction as history tells of it; owns its strings.
struct InstructionNote {
  std::string name;
  std::string opcode;
  std::string shape;
  std::string op_name;
  std::string source_file;
  int32_t source_line = 0;
  std::string inside;  // The outermost fusion around it; empty: none.
};

struct HistoryEvent {
  enum class Kind : uint8_t {
    kFirst,     // There from the first dump.
    kMade,      // A fusion of `others`.
    kAdded,     // New, of nothing.
    kReplaces,  // Instead of `others`.
    kCopied,    // A copy of `others`.
    kChanged,   // `text` says how.
    kRenamed,   // From `others` (backward) to `name`.
    kFused,     // `name` went into `others`.
    kReplaced,  // `name` by `others`.
    kRemoved,
    kLast,  // There in the last dump.
  };
  Kind kind = Kind::kFirst;
  size_t step = 0;  // Index of the dump that shows it.
  InstructionNote instruction;
  std::vector<InstructionNote> others;
  std::string text;
};

struct InstructionHistory {
  std::vector<HistoryEvent> events;  // In the order of the compilation.
  // The operations of the first dump that it comes from, directly or not.
  std::vector<InstructionNote> origins;
  size_t origins_step = 0;
  std::vector<std::string> warnings;
};

// An error when no dump holds `name` (a leading '%' is let pass); the hint names similar ones.
Result<InstructionHistory> HistoryOf(const std::vector<PassStep>& steps, std::string_view name);

// How instructions of the last dump came to be: histories without what became of them.
struct InstructionHistories {
  // One for each name asked for; nothing where the last dump does not hold it.
  std::vector<std::optional<InstructionHistory>> of;
  // Stopped before the first dump: what happened before `from_step` is not told, and origins are
  // those of that dump.
  bool stopped = false;
  size_t from_step = 0;
  std::vector<std::string> warnings;
};

// Every dump is read once, and each compared with its neighbour once, however many names there are:
// two modules are in memory. `go_on` is asked before each dump; when it says no, what was found so
// far is the answer. An error when the last dump cannot be read.
Result<InstructionHistories> OriginsOf(const std::vector<PassStep>& steps,
                                       const std::vector<std::string>& names,
                                       const std::function<bool()>& go_on);

InstructionNote NoteOf(const model::HloModule& module, const std::vector<uint32_t>& containers,
                       uint32_t instruction);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_INSTRUCTION_HISTORY_H_
