// SPDX-License-Identifier: Apache-2.0

// The facts of the first screen. The static part of the page and the app show the same facts.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_FIRST_SCREEN_H_
#define XLATRACE_REPORT_FIRST_SCREEN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_view.h"

namespace xlatrace::report {

struct Fact {
  std::string_view id;        // Kind of fact, for example "step"; used by tests and links.
  std::string label;          // "GPU busy"
  std::string value;          // "97.4%", with the page's glyphs.
  std::string note;           // "idle 1.20 ms a step, 12 gaps of 1 µs or more"
  std::optional<int64_t> ns;  // The sum or mean that the value is made of.
};

// Figures of the steady steps, or of the whole run if there are none. At most seven facts.
std::vector<Fact> FirstFacts(const RunView& view);

// FLOP per second of the ops in the steady steps, and the peak of the type with most matrix work.
// Empty if work or peak is unknown.
struct FlopRateFigure {
  double flop_per_s = 0, peak_flop_per_s = 0;
  std::string type;  // "bf16"
};
std::optional<FlopRateFigure> FlopRateOf(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_FIRST_SCREEN_H_
