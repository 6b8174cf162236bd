// SPDX-License-Identifier: Apache-2.0

// Which instructions the decided forward and backward work depends on, and which depend on it.
//
// "Depends" has the meaning of module_graph.h: within one pass through the program.

#ifndef XLATRACE_ANALYSIS_PHASES_RELATIONS_H_
#define XLATRACE_ANALYSIS_PHASES_RELATIONS_H_

#include <vector>

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// Per node. "After" starts at work on the program's inputs only, "before" at all work.
struct Relations {
  std::vector<bool> after_forward;  // Depends on forward or loss work.
  std::vector<bool> after_backward;
  std::vector<bool> before_forward;  // Per instruction: forward or loss work depends on it.
  // Per instruction: backward or recomputing work depends on it.
  std::vector<bool> before_backward;
  // Per instruction: forward work other than the loss depends on it.
  std::vector<bool> before_layers;
  bool has_backward = false;
};

Relations RelationsOf(const Draft& draft);

// Instructions that depend on the gradients decided so far.
std::vector<bool> AfterBackward(const Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_RELATIONS_H_
