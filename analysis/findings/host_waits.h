// SPDX-License-Identifier: Apache-2.0

// The calls in which the host waits for the device or sets up its resources, for findings about
// waiting and about a late host.
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

// Adds the call in which the host waits longest (cudaStreamSynchronize, without version suffix),
// its time and its number of calls, in the basis. The device may be busy in that time, so the time
// is not idle time. Adds nothing if calls are not recorded. Also adds and returns the ranges in
// which most of these calls were made ("aten::to > aten::copy_"); empty if no ranges have most of
// them. `waits`: receives the number of these calls in the basis.
std::string AddHostWaits(const Context& context, Finding& finding, int64_t* waits = nullptr);

// Time of the claimed gaps in which no wait of the host ended. Such gaps lie between the launches
// after a wait, while the queue fills again.
int64_t RefillingNs(const Context& context, const GapClaims& claims);

// "copies of 8 B from the host": small copies of the size that occurs in the basis about `waits`
// times; empty: none.
std::string CopiesOfWaits(const Context& context, int64_t waits);

// Calls that get memory, load code or create contexts, streams and graphs, by name (cudaMalloc). A
// process needs few of them after its start.
struct SetUpCalls {
  int64_t ns = 0;                                             // Time within the gaps.
  std::vector<std::pair<int64_t, std::string_view>> by_time;  // The longest first.
};
// Set-up calls in the claimed gaps.
SetUpCalls SetUpCallsIn(const Context& context, const GapClaims& claims);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HOST_WAITS_H_
