// SPDX-License-Identifier: Apache-2.0

// Number of shapes for which programs of one name were compiled, as far as their HLO is known.
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

// Number of different parameter shapes among these modules, without regard to layouts; 0 if no HLO
// is known. Programs that are equal, or differ only in a constant, count once.
int64_t DifferentShapes(const model::AttributionTables& attribution,
                        const std::set<model::Id>& modules);
}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_PROGRAM_SHAPES_H_
