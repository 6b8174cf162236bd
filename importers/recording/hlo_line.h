// Looks into one line of HLO text: what it defines, reads, waits for and calls.
//
// Only as much as it takes to put lines together again; hlo/text/text_reader.h is the reader.
// Ownership: views into the line. Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_RECORDING_HLO_LINE_H_
#define XLATRACE_IMPORTERS_RECORDING_HLO_LINE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::importers {

// XLA ends what it cut with this (tsl/profiler/lib/nvtx_utils.cc).
inline constexpr std::string_view kCutMark = "\n[truncated]\n";

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

// `[ROOT ][%]name = shape opcode(operands), attributes`; false when it is not that.
bool ParseHloLine(std::string_view line, HloLine* out);

// The longest whole beginning of a line that was cut: without the operands and attributes that are
// not there any more. Empty when not even the name is.
std::string RepairedHloLine(std::string_view line);

// `text` with every stack_frame_id outside of strings replaced by what `number` gives for it.
void AppendWithFrames(std::string_view text, const std::function<uint32_t(int64_t)>& number,
                      std::string* out);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_HLO_LINE_H_
