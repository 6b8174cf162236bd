// SPDX-License-Identifier: Apache-2.0

// Shapes as HLO text writes them, made short enough to read.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_SHOW_SHAPE_WORDS_H_
#define XLATRACE_REPORT_SHOW_SHAPE_WORDS_H_

#include <string>
#include <string_view>

namespace xlatrace::report {

// A tuple of more than eight says what it holds how often, in order of first appearance:
// "(bf16[8]{0}, bf16[8]{0}, ... )" becomes "tuple of 90: 72 x bf16[8]{0}, 18 x f32[2]{0}". At most
// six of these, then "and 3 other shapes". What is no such tuple comes back as it is; tuples inside
// of tuples are shortened in the same way.
std::string ShortShape(std::string_view shape);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOW_SHAPE_WORDS_H_
