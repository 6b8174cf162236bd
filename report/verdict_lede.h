// SPDX-License-Identifier: Apache-2.0

// What stands below the verdict: the first thing to do, or where the time goes; and what the data
// cannot say.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_VERDICT_LEDE_H_
#define XLATRACE_REPORT_VERDICT_LEDE_H_

#include <string>
#include <vector>

#include "report/run_view.h"
#include "report/sentence.h"

namespace xlatrace::report {

// The first finding, else what kind of work and which layer it is; always facts of this run.
// `of_idle`: the verdict says that the device is idle, and what is missing are the causes.
Sentence Lede(const RunView& view, bool of_idle);

// "No steady step: figures are totals of the run, in which the device is idle for 89.8% (39.2 of
// 43.6 ms). " `idle_is_told`: the verdict has said so.
std::string TotalsNote(const RunView& view, bool idle_is_told);

// Each with how much time that is.
std::vector<Sentence> NotKnown(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_VERDICT_LEDE_H_
