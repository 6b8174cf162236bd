// SPDX-License-Identifier: Apache-2.0

// Finds instructions of a module by a regular expression over name, op_name, source file and line,
// shape, opcode and custom-call target.
//
// Syntax and guarantees are RE2's: time is linear in the text for any pattern, and memory is
// bounded. Text that contains the pattern literally matches, too, so that f32[8,16] and
// jvp(layer_0) need no backslashes. A pattern without upper-case letters ignores case.
//
// Thread-safety: a pattern is immutable and may be used by many threads.

#ifndef XLATRACE_DUMPS_FIND_PATTERN_H_
#define XLATRACE_DUMPS_FIND_PATTERN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/hlo_module.h"

namespace re2 {
class RE2;
}

namespace xlatrace::dumps {

enum FindField : uint8_t {
  kFindName = 1,
  kFindOpName = 2,
  kFindSource = 4,  // "path/train.py:105": the line itself, and its callers.
  kFindShape = 8,   // As printed, and without layouts.
  kFindOpcode = 16,
  kFindTarget = 32,
};
inline constexpr uint8_t kFindAllMask = 63;

// "name", "op_name", "source", "shape", "opcode", "target"; 0 for other texts.
uint8_t FindFieldFromText(std::string_view text);
// "name, op_name".
std::string FindFieldsText(uint8_t fields);

struct FindHit {
  uint32_t instruction = 0;
  uint8_t fields = 0;  // Fields that matched.
  // Higher is better: whole names before parts, names before op_names, these before sources,
  // opcodes and shapes. At most 100.
  int32_t score = 0;
};

class FindPattern {
 public:
  // `literal`: not a regular expression. Invalid expressions ("jvp(layer_0") are literal, too. An
  // error of code kUsage if the expression needs too much memory.
  static Result<FindPattern> Make(std::string_view pattern, bool literal);

  FindPattern(FindPattern&&) noexcept;
  FindPattern& operator=(FindPattern&&) noexcept;
  ~FindPattern();

  // Reason why the pattern was used literally; empty if it is a regular expression, or if `literal`
  // was requested.
  const std::string& why_plain() const { return why_plain_; }

  // Hits in the order of the module.
  std::vector<FindHit> Search(const model::HloModule& module, uint8_t fields = kFindAllMask) const;

 private:
  FindPattern();
  std::string literal_;  // The pattern as it was typed, a leading % left out.
  std::string why_plain_;
  std::unique_ptr<re2::RE2> plain_;
  std::unique_ptr<re2::RE2> regex_;  // Null: only as it was typed.
};

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_FIND_PATTERN_H_
