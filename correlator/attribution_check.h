// SPDX-License-Identifier: Apache-2.0

// The invariants of an attribution, as one function for all golden tests and captures.

#ifndef XLATRACE_CORRELATOR_ATTRIBUTION_CHECK_H_
#define XLATRACE_CORRELATOR_ATTRIBUTION_CHECK_H_

#include <string>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// Returns one sentence per violated invariant (at most a few per kind); empty if all hold. The
// invariants are:
//
//   - Every activity has a label.
//   - Confidence is none if and only if there is no instruction. Exact and inferred labels have a
//     module and an evidence.
//   - An instruction is inside its label's module.
//   - Shares of an instruction are positive, adjacent, and sum to 1,000,000.
//   - Executions contain only activities of their device, of their module or of none, inside their
//     span, and exactly their number of activities.
//   - Tables have one row per activity or module.
//   - The self time of activities is the sum over labels.
std::vector<std::string> CheckAttribution(const model::RunTables& run,
                                          const model::AttributionTables& tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ATTRIBUTION_CHECK_H_
