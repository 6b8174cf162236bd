// SPDX-License-Identifier: Apache-2.0

// Looks into one line of HLO text: what it defines, reads, waits for and calls.
//
// For lines that stand alone: strings that a process registers, names of ops in profiles. Only as
// much as it takes to say what a line is and to put lines together again; hlo/text/text_reader.h
// reads modules. Ownership: views into the line. Thread-safety: pure.

#ifndef XLATRACE_HLO_TEXT_HLO_LINE_H_
#define XLATRACE_HLO_TEXT_HLO_LINE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::hlo {

// XLA ends what it cut with this (tsl/profiler/lib/nvtx_utils.cc).
inline constexpr std::string_view kCutMark = "\n[truncated]\n";

// `[ROOT ][%]name = shape opcode(operands), attributes` in pieces.
struct HloLineParts {
  std::string_view name;
  std::string_view shape;
  std::string_view opcode;
  std::string_view operands;    // Between the brackets; of a line that was cut, what is whole.
  std::string_view attributes;  // Behind them.
  bool cut = false;             // The operands do not end.
};

// Nothing when the line is not that, or not up to its opcode.
std::optional<HloLineParts> SplitHloLine(std::string_view line);

// What a line reads, without shapes, '%' and the element of a tuple. Constants and parameters read
// nothing: what stands in their brackets is no name.
std::vector<std::string_view> OperandsOf(const HloLineParts& parts);

struct HloLine {
  enum class Role : uint8_t { kOther, kBody, kCondition, kBranch };
  struct Callee {
    std::string_view name;
    Role role = Role::kOther;
    uint32_t branch = 0;  // Which one of a conditional.
  };
  std::string_view name;
  std::string_view shape;
  std::string_view opcode;
  std::vector<std::string_view> needs;  // Operands and control predecessors.
  std::vector<Callee> callees;          // calls=, to_apply=, body=...
  std::string op_name;                  // Of the metadata, unescaped.
  int64_t stack_frame_id = 0;           // Of the metadata; 0: none.
};

// False when it is no whole line.
bool ParseHloLine(std::string_view line, HloLine* out);

// The longest whole beginning of a line that was cut: without the operands and attributes that are
// not there any more. Empty when not even the name is.
std::string RepairedHloLine(std::string_view line);

// `text` with every stack_frame_id outside of strings replaced by what `number` gives for it.
void AppendWithFrames(std::string_view text, const std::function<uint32_t(int64_t)>& number,
                      std::string* out);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_HLO_LINE_H_
