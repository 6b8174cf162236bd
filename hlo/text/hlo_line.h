// SPDX-License-Identifier: Apache-2.0

// Parses one line of HLO text: the name that it defines, its operands, its control predecessors and
// its called computations. Used for single lines: strings that a process registers, and names of
// ops in profiles. The parser covers only what classifying and joining lines requires;
// hlo/text/text_reader.h reads modules. Ownership: views into the line. Thread-safety: pure.

#ifndef XLATRACE_HLO_TEXT_HLO_LINE_H_
#define XLATRACE_HLO_TEXT_HLO_LINE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::hlo {

// XLA ends a truncated text with this (tsl/profiler/lib/nvtx_utils.cc).
inline constexpr std::string_view kCutMark = "\n[truncated]\n";

// `[ROOT ][%]name = shape opcode(operands), attributes` in pieces.
struct HloLineParts {
  std::string_view name;
  std::string_view shape;
  std::string_view opcode;
  // Text between the brackets; of a truncated line, its complete operands.
  std::string_view operands;
  std::string_view attributes;  // After the operands.
  bool cut = false;             // True if the operands do not end.
};

// Empty if the line has another form, or ends before its opcode.
std::optional<HloLineParts> SplitHloLine(std::string_view line);

// The operands of a line, without shapes, '%' and the element of a tuple. Constants and parameters
// have none, because the text in their brackets is not a name.
std::vector<std::string_view> OperandsOf(const HloLineParts& parts);

struct HloLine {
  enum class Role : uint8_t { kOther, kBody, kCondition, kBranch };
  struct Callee {
    std::string_view name;
    Role role = Role::kOther;
    uint32_t branch = 0;  // Number of the branch of a conditional.
  };
  std::string_view name;
  std::string_view shape;
  std::string_view opcode;
  std::vector<std::string_view> needs;  // Operands and control predecessors.
  std::vector<Callee> callees;          // calls=, to_apply=, body=...
  std::string op_name;                  // From the metadata, unescaped.
  int64_t stack_frame_id = 0;           // From the metadata; 0: none.
};

// False if it is not a whole line.
bool ParseHloLine(std::string_view line, HloLine* out);

// The longest complete beginning of a truncated line, without missing operands and attributes.
// Empty if the name is incomplete.
std::string RepairedHloLine(std::string_view line);

// `text` with every stack_frame_id outside of strings replaced by the result of `number`.
void AppendWithFrames(std::string_view text, const std::function<uint32_t(int64_t)>& number,
                      std::string* out);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_HLO_LINE_H_
