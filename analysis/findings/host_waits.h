// In which calls the host waits for the device: what a finding about waiting names.
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_FINDINGS_HOST_WAITS_H_
#define XLATRACE_ANALYSIS_FINDINGS_HOST_WAITS_H_

#include "analysis/findings/context.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// Adds the call in which the host waits longest (cudaStreamSynchronize, with its version's suffix
// off), the time in it and how often it was called, in the basis. Nothing where calls are not
// recorded. The device may be busy meanwhile: it is no idle time.
void AddHostWaits(const Context& context, Finding& finding);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HOST_WAITS_H_
