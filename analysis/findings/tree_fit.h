// SPDX-License-Identifier: Apache-2.0

// Findings limited to the nodes of the time tree that they belong to.
//
// A saving is limited to the time of its node. A saving below 1 % of the step (or of the recorded
// time, if it lies between steps) is removed.
//
// Savings of the run and savings per step are two lists, one after the other. Savings per step come
// first if steps are at least half of the recorded time.
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_FINDINGS_TREE_FIT_H_
#define XLATRACE_ANALYSIS_FINDINGS_TREE_FIT_H_

#include <cstdint>
#include <vector>

#include "model/derived.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::findings {

void FitToTree(const std::vector<model::TimeTreeRow>& tree,
               const std::vector<model::StepRow>& steps, std::vector<model::FindingRow>& findings);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_TREE_FIT_H_
