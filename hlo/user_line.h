// SPDX-License-Identifier: Apache-2.0

// The user's line of an instruction, from the frame tables of its module (model/user_code.h).
//
// Thread-safety: pure functions of an immutable module.

#ifndef XLATRACE_HLO_USER_LINE_H_
#define XLATRACE_HLO_USER_LINE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"
#include "model/user_code.h"

namespace xlatrace::hlo {

struct SourceLineOf {
  std::string_view file;  // Empty: unknown.
  int32_t line = 0;       // 0: unknown.
};

// `declared`: as of UserCode.
inline model::UserCode UserCodeOf(const model::HloModule& module, std::string_view declared = {}) {
  model::UserCode user_code(declared);
  for (const model::StackFrame& frame : module.stack_frames) user_code.AddFile(frame.file);
  return user_code;
}

inline SourceLineOf UserLineOf(const model::HloModule& module, const model::OpMetadata& metadata,
                               const model::UserCode& user_code) {
  std::vector<const model::StackFrame*> frames;
  std::vector<model::FileKind> kinds;
  for (uint32_t at = metadata.stack_frame; at != 0; at = module.stack_frames[at - 1].parent) {
    frames.push_back(&module.stack_frames[at - 1]);
    kinds.push_back(user_code.KindOf(frames.back()->file));
  }
  if (frames.empty()) return {metadata.source_file, metadata.source_line};
  const model::StackFrame& user = *frames[model::FindUserFrame(kinds).position];
  return {user.file, user.line};
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_USER_LINE_H_
