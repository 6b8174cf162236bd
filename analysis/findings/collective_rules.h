// SPDX-License-Identifier: Apache-2.0

// The parts of CheckCollectives (rules.h), in the order of their calls. Time that is reported as
// waiting, or as loss of slow links, is not reported again as exposed communication.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_ANALYSIS_FINDINGS_COLLECTIVE_RULES_H_
#define XLATRACE_ANALYSIS_FINDINGS_COLLECTIVE_RULES_H_

#include <cstdint>
#include <map>

#include "analysis/findings/collective_times.h"
#include "analysis/findings/context.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// Share of the step up to which exposed collectives are accepted.
inline constexpr double kExposedCollectiveShare = 0.02;

// Adds the finding `arrival_skew`. Fills the waiting times of `collectives`. `exposed`: total
// exposed time in ns.
void CheckSkew(const Context& context, const SameOps& same,
               std::map<const Op*, Collective>& collectives, int64_t exposed, Report& report);

// Large collectives that run alone and stay far below the bandwidth that such links reach. Returns
// the time lost per step, 0 without a finding.
int64_t CheckBandwidth(const Context& context, const SameOps& same,
                       const std::map<const Op*, Collective>& collectives, Report& report);

// Compares collectives of one kind and size class that run at very different rates. The same links
// are fast for some of them, so the links are not the cause of the low rates.
void CheckSiblings(const Context& context, const SameOps& same, Report& report);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_COLLECTIVE_RULES_H_
