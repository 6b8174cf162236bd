// SPDX-License-Identifier: Apache-2.0

// The invariants of an attribution, as one function that every golden case and capture is run
// through.

#ifndef XLATRACE_CORRELATOR_ATTRIBUTION_CHECK_H_
#define XLATRACE_CORRELATOR_ATTRIBUTION_CHECK_H_

#include <string>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// One sentence per broken invariant (at most a few per kind); empty when all hold:
// every activity has a label; confidence none if and only if there is no instruction; exact and
// inferred have a module and an evidence; an instruction lies inside its label's module; shares of
// an instruction are positive, side by side and sum to 1,000,000; executions hold only activities
// of their device, of their module or of none, inside their span, as many as they say; tables have
// one row per activity or module; the self time of activities is the sum over labels.
std::vector<std::string> CheckAttribution(const model::RunTables& run,
                                          const model::AttributionTables& tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ATTRIBUTION_CHECK_H_
