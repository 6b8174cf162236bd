// SPDX-License-Identifier: Apache-2.0

// Parts of a run that `summary` makes on request only: other groupings, and filtered groupings.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_SUMMARY_SUMMARY_SLICES_H_
#define XLATRACE_REPORT_SUMMARY_SUMMARY_SLICES_H_

#include <string>
#include <string_view>

#include "base/error.h"
#include "report/run_view.h"
#include "report/summary/summary.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct SummaryFilter {
  std::string phase;  // A phase, or the beginning of its word ("back"); empty: all phases.
  std::string scope;  // Layer, layer group or source file; `*` stands for anything. Empty: all.
};

// Fills view.slices with scopes, origins, devices or ranks: device time of the basis.
Status LoadSlices(store::RunDb& db, By by, RunView& view);

// Reduces `view` to a phase and a scope: ops, layers, sources, kinds, modules and phases, with
// their sum as device time. Fusions count with their shares.
Status ApplyFilter(store::RunDb& db, const SummaryFilter& filter, RunView& view);

// Can this grouping be filtered? Kernels, steps, devices, ranks and origins cannot: their time is
// not split over phases.
bool CanFilter(By by);

// "dec*/mlp" against "decoder/mlp"; without `*`, whether the text contains the pattern.
bool MatchesScope(std::string_view text, std::string_view pattern);

// Orders view.ops, which is the order of the table of ops.
void SortOps(Sort sort, RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SUMMARY_SUMMARY_SLICES_H_
