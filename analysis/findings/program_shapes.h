// SPDX-License-Identifier: Apache-2.0

// For how many shapes programs of one name were compiled, as far as their HLO is known.
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_FINDINGS_PROGRAM_SHAPES_H_
#define XLATRACE_ANALYSIS_FINDINGS_PROGRAM_SHAPES_H_

#include <cstdint>
#include <set>
#include <string_view>

#include "analysis/findings/report.h"
#include "model/derived.h"

namespace xlatrace::analysis::findings {

// Different shapes of parameters among these modules, layouts left aside; 0 when no HLO is known.
// Equal programs, and those that differ in a constant alone, count once.
int64_t DifferentShapes(const model::AttributionTables& attribution,
                        const std::set<model::Id>& modules);
}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_PROGRAM_SHAPES_H_
