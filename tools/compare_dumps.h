// SPDX-License-Identifier: Apache-2.0

// `diff DUMP DUMP` compares two compilations of one model by structure and by cost model. The text
// states that no time was measured.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_COMPARE_DUMPS_H_
#define XLATRACE_TOOLS_COMPARE_DUMPS_H_

#include <string>

#include "base/error.h"

namespace xlatrace::tools {

struct CompareDumpsOptions {
  std::string module;  // Only modules whose name contains this text; empty: all.
  bool json = false;
  size_t rows = 0;  // Most rows of each list; 0: 12.
};

// A folder that --xla_dump_to filled, an HLO text or an HLO proto each.
Result<std::string> CompareDumps(const std::string& base, const std::string& now,
                                 const CompareDumpsOptions& options);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_COMPARE_DUMPS_H_
