// SPDX-License-Identifier: Apache-2.0

// The parts of JudgeCollectives (rules.h), in the order in which they are asked: what devices wait
// for and what slow links lose is not told again as communication that nothing hides.
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

// Of the step: what is exposed below that is fine.
inline constexpr double kExposedCollectiveShare = 0.02;

// `arrival_skew`. Splits the waiting of `collectives`. `exposed`: of all of them, in ns.
void JudgeSkew(const Context& context, const SameOps& same,
               std::map<const Op*, Collective>& collectives, int64_t exposed, Report& report);

// Large collectives with nothing beside them that stay far behind what such links reach. Returns
// what they lose per step, where that is a finding.
int64_t JudgeBandwidth(const Context& context, const SameOps& same,
                       const std::map<const Op*, Collective>& collectives, Report& report);

// Collectives of one kind and size class that run at very different rates: what is wrong with the
// slow ones is not the links.
void JudgeSiblings(const Context& context, const SameOps& same, Report& report);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_COLLECTIVE_RULES_H_
