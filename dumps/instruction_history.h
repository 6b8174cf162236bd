// SPDX-License-Identifier: Apache-2.0

// The history of one instruction during compilation: its creation and origins, its changes, and its
// end.
//
// It reads the dumps of the passes and compares neighbours (dumps/module_diff.h). Forward, it
// follows the instruction through renames and fusions to the end. Backward, it follows its origins
// down to the operations of the framework. Errors: a dump that cannot be read is omitted, with a
// warning.
//
// Thread-safety: re-entrant. Memory: two modules at a time, or all of them if they are small.

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

// An instruction in a history; owns its strings.
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
    kFirst,     // In the first dump already.
    kMade,      // A fusion of `others`.
    kAdded,     // New, without origin.
    kReplaces,  // Replaces `others`.
    kCopied,    // A copy of `others`.
    kChanged,   // `text` describes the change.
    kRenamed,   // `others` (earlier) became `name`.
    kFused,     // `name` went into `others`.
    kReplaced,  // `name` was replaced by `others`.
    kRemoved,
    kLast,  // Still in the last dump.
  };
  Kind kind = Kind::kFirst;
  size_t step = 0;  // Index of the dump after the event.
  InstructionNote instruction;
  std::vector<InstructionNote> others;
  std::string text;
};

struct InstructionHistory {
  std::vector<HistoryEvent> events;  // In the order of the compilation.
  // Operations of the first dump from which it comes, directly or indirectly.
  std::vector<InstructionNote> origins;
  size_t origins_step = 0;
  std::vector<std::string> warnings;
};

// An error if no dump contains `name` (a leading '%' is ignored); the hint lists similar names.
Result<InstructionHistory> HistoryOf(const std::vector<PassStep>& steps, std::string_view name);

// Histories of instructions of the last dump, only backward.
struct InstructionHistories {
  // One per requested name; nullopt if the last dump does not contain it.
  std::vector<std::optional<InstructionHistory>> of;
  // Stopped before the first dump: earlier events than `from_step` are missing, and origins are
  // those of that dump.
  bool stopped = false;
  size_t from_step = 0;
  std::vector<std::string> warnings;
};

// Reads every dump once and compares it with its neighbour once, for any number of names; two
// modules are in memory. Calls `go_on` before each dump; if it returns false, returns the results
// so far. An error if the last dump cannot be read.
Result<InstructionHistories> OriginsOf(const std::vector<PassStep>& steps,
                                       const std::vector<std::string>& names,
                                       const std::function<bool()>& go_on);

InstructionNote NoteOf(const model::HloModule& module, const std::vector<uint32_t>& containers,
                       uint32_t instruction);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_INSTRUCTION_HISTORY_H_
