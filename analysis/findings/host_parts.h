// SPDX-License-Identifier: Apache-2.0

// Parts of the program in which the host was while the device was idle, by the outermost ranges of
// the thread that launches: "## backward ##", "## optimizer ##".
//
// Thread-safety: pure functions of the context.

#ifndef XLATRACE_ANALYSIS_FINDINGS_HOST_PARTS_H_
#define XLATRACE_ANALYSIS_FINDINGS_HOST_PARTS_H_

#include "analysis/findings/context.h"
#include "analysis/findings/idle.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// Divides the time of the claimed gaps over range texts. Adds the three largest texts with at least
// a tenth of the time. A range that lasts most of a step (the step's own mark) is replaced by the
// ranges within it. Calls of the runtime and frames of Python are not parts. For each device, the
// thread counts whose ranges cover most of the gaps. Adds nothing if ranges are not recorded, or if
// no text has a tenth.
void AddHostParts(const Context& context, const GapClaims& claims, Finding& finding);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HOST_PARTS_H_
