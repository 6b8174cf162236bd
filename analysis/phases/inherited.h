// SPDX-License-Identifier: Apache-2.0

// Phases of what no name of its own decides: containers, elements of tuples, collectives, and all
// else, from what is inside of it, what it carries, its users and its operands.

#ifndef XLATRACE_ANALYSIS_PHASES_INHERITED_H_
#define XLATRACE_ANALYSIS_PHASES_INHERITED_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// The last stage. After it a node is open only in a main module without any name, or where neither
// users nor operands have a phase (then it is other).
void DecideInherited(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_INHERITED_H_
