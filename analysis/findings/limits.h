// SPDX-License-Identifier: Apache-2.0

// What a device reaches, as far as rules need it.

#ifndef XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_
#define XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_

#include "analysis/device_facts.h"
#include "analysis/findings/context.h"

namespace xlatrace::analysis::findings {

// Nothing of what is not known.
Limits LimitsOf(const DeviceFacts& device);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_
