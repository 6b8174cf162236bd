// SPDX-License-Identifier: Apache-2.0

// Which part of the program the host was in while the device was idle, by the outermost ranges of
// the thread that leads it: "## backward ##", "## optimizer ##".
//
// Thread-safety: pure functions of the context.

#ifndef XLATRACE_ANALYSIS_FINDINGS_HOST_PARTS_H_
#define XLATRACE_ANALYSIS_FINDINGS_HOST_PARTS_H_

#include "analysis/findings/context.h"
#include "analysis/findings/idle.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// Adds, of the claimed gaps, what lies within ranges of one text, the three largest texts that hold
// a tenth or more. A range that lasts most of a step (the step's own mark) gives way to those in
// it; calls of the runtime and Python's frames are no parts. Of each device that thread of its
// process counts whose ranges cover most of the gaps. Nothing where ranges are not recorded, or no
// text holds a tenth.
void AddHostParts(const Context& context, const GapClaims& claims, Finding& finding);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HOST_PARTS_H_
