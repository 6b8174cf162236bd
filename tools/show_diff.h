// SPDX-License-Identifier: Apache-2.0

// `show HANDLE NEW.db --base BASE.db`: an op of the new run and of the base side by side: times,
// causes, and both HLO texts.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_SHOW_DIFF_H_
#define XLATRACE_TOOLS_SHOW_DIFF_H_

#include <string>

#include "base/error.h"

namespace xlatrace::tools {

struct ShowDiffOptions {
  int width = 100;
  bool ascii = false;
};

// `what`: a handle (o17) or the name of an instruction of the new run.
Result<std::string> ShowDiff(const std::string& base, const std::string& now,
                             const std::string& what, const ShowDiffOptions& options);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_SHOW_DIFF_H_
