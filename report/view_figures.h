// SPDX-License-Identifier: Apache-2.0

// Figures of a run that several outputs print, and their words.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_REPORT_VERDICT_FIGURES_H_
#define XLATRACE_REPORT_VERDICT_FIGURES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "model/words.h"
#include "report/run_view.h"

namespace xlatrace::report {

double PercentOf(int64_t part, int64_t whole);  // 0 of nothing.
// "61.3%": the digits that tables have. Nearly all is "over 99.9%", not all.
std::string About(int64_t part, int64_t whole);
// "Of the host" of "of the host".
std::string Capitalised(std::string_view word);
// " per step", " in the whole run"; of a merged job " in the launches of this file"
std::string_view PerStepWords(const RunView& view);

// True: a CPU's profile shows only work that XLA runs, so gaps do not mean an idle host.
bool OnCpuOnly(const RunView& view);
// Number of devices with work, at least 1. A node of the model may have run on fewer devices.
int64_t Workers(const RunView& view);
// Owner of the time that savings of a run without steps refer to: "of the run", or "of 2 devices'
// time" if the sum may be longer than the run.
std::string OfRunWords(int64_t devices);
inline std::string OfRunWords(const RunView& view) { return OfRunWords(Workers(view)); }
// Kernels of another framework and copies, as in a trace of PyTorch.
bool NothingIsXla(const RunView& view);
// "not known", with an addition if nearly all of the time is in gaps that are too short for a
// cause.
std::string IdleCauseWords(const GapFigure& gap);

// Busy time of ops that only wait: a TPU's `copy-done` occupies the device's line until the copy
// ends.
struct WaitFigure {
  int64_t ns = 0;
  std::string_view what = "copies";  // Most of the waiting is for: "copies", "collectives", "async
                                     // ops".
};
WaitFigure WaitsOf(const RunView& view);
// For example "97.0% of it waiting for copies"; empty if the share is small.
std::string BusyWaitWords(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_VERDICT_FIGURES_H_
