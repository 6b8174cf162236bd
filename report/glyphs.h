// SPDX-License-Identifier: Apache-2.0

// The glyphs of a page in sentences that are ASCII in run.db and in terminals.
//
// Changes glyphs only; base/number_format formats numbers. Text in backticks is code that a reader
// may copy, so it stays unchanged. Thread-safety: pure.

#ifndef XLATRACE_REPORT_GLYPHS_H_
#define XLATRACE_REPORT_GLYPHS_H_

#include <string>
#include <string_view>

namespace xlatrace::report {

// "410 us" -> "410 µs", "4 x 8" -> "4 × 8", "2.5x" -> "2.5×", "a -> b" -> "a → b", "-3" -> "−3".
std::string WithGlyphs(std::string_view text);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_GLYPHS_H_
