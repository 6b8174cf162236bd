// SPDX-License-Identifier: Apache-2.0

// The glyphs of a page in sentences that are ASCII in run.db and in terminals.
//
// Glyphs only: numbers and their style are base/number_format's. What stands in backticks is code,
// for somebody to copy, and stays. Thread-safety: pure.

#ifndef XLATRACE_REPORT_GLYPHS_H_
#define XLATRACE_REPORT_GLYPHS_H_

#include <string>
#include <string_view>

namespace xlatrace::report {

// "410 us" -> "410 µs", "4 x 8" -> "4 × 8", "2.5x" -> "2.5×", "a -> b" -> "a → b", "-3" -> "−3".
std::string WithGlyphs(std::string_view text);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_GLYPHS_H_
