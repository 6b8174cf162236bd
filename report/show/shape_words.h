// SPDX-License-Identifier: Apache-2.0

// Shapes in the syntax of HLO text, shortened for readers.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_SHOW_SHAPE_WORDS_H_
#define XLATRACE_REPORT_SHOW_SHAPE_WORDS_H_

#include <string>
#include <string_view>

namespace xlatrace::report {

// A tuple of more than eight is replaced by counts in order of first appearance: "(bf16[8]{0},
// bf16[8]{0}, ... )" becomes "tuple of 90: 72 x bf16[8]{0}, 18 x f32[2]{0}". It lists at most six
// shapes, then "and 3 other shapes". Other shapes are returned unchanged; nested tuples are
// shortened in the same way.
std::string ShortShape(std::string_view shape);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOW_SHAPE_WORDS_H_
