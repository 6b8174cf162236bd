// In which calls the host waits for the device, or makes ready what it works with: what findings
// about waiting and about a late host name.
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_FINDINGS_HOST_WAITS_H_
#define XLATRACE_ANALYSIS_FINDINGS_HOST_WAITS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/findings/context.h"
#include "analysis/findings/idle.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// Adds the call in which the host waits longest (cudaStreamSynchronize, with its version's suffix
// off), the time in it and how often it was called, in the basis. Nothing where calls are not
// recorded. The device may be busy meanwhile: it is no idle time. Gives, and adds, the ranges that
// most of these calls were made in ("aten::to > aten::copy_"); empty where no place has most.
std::string AddHostWaits(const Context& context, Finding& finding);

// Of the claimed gaps those in which no wait of the host ended: they lie between the launches that
// follow a wait, while the queue fills again.
int64_t RefillingNs(const Context& context, const GapClaims& claims);

// Calls that get memory, load code or make contexts, streams and graphs, by name (cudaMalloc): a
// process that is set up needs few of them.
struct SetUpCalls {
  int64_t ns = 0;                                             // Within the gaps.
  std::vector<std::pair<int64_t, std::string_view>> by_time;  // The longest first.
};
// Those of the gaps that are claimed.
SetUpCalls SetUpCallsIn(const Context& context, const GapClaims& claims);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HOST_WAITS_H_
