// What a device can do at best, as far as rules need it: achievable rates, per second.

#ifndef XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_
#define XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_

#include "analysis/findings/context.h"

namespace xlatrace::analysis::findings {

// Nothing for a CPU, and for what the recording does not tell.
Limits LimitsOf(const model::Device& device);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_LIMITS_H_
