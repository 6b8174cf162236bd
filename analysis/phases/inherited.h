// SPDX-License-Identifier: Apache-2.0

// Phases of instructions whose own name does not decide: containers, elements of tuples,
// collectives and others. They follow from the contents, the carried values, the users and the
// operands.

#ifndef XLATRACE_ANALYSIS_PHASES_INHERITED_H_
#define XLATRACE_ANALYSIS_PHASES_INHERITED_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// The last stage. After this stage, a node is undecided only in a main module without any name. A
// node gets phase `other` if neither its users nor its operands have a phase.
void DecideInherited(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_INHERITED_H_
