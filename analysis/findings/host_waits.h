// SPDX-License-Identifier: Apache-2.0

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
// `waits`: how many there were in the basis.
std::string AddHostWaits(const Context& context, Finding& finding, int64_t* waits = nullptr);

// Of the claimed gaps those in which no wait of the host ended: they lie between the launches that
// follow a wait, while the queue fills again.
int64_t RefillingNs(const Context& context, const GapClaims& claims);

// "copies of 8 B from the host": of small ones those of a size of which the basis has about as many
// as `waits`; empty: none.
std::string CopiesOfWaits(const Context& context, int64_t waits);

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
