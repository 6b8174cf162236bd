// SPDX-License-Identifier: Apache-2.0

// Achievable rates of a device, for the rules.

#ifndef XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_
#define XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_

#include "analysis/device_facts.h"
#include "analysis/findings/context.h"

namespace xlatrace::analysis::findings {

// Unknown rates stay empty.
Limits LimitsOf(const DeviceFacts& device);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_
