// SPDX-License-Identifier: Apache-2.0

// The form of a printed constant: numbers that fit its element type, with the nesting and the count
// of its shape. Values are not kept.
//
// Source: ParseLiteral and ParseDenseLiteral in xla/hlo/parser/hlo_parser.cc; shapes inside of
// literals and sparse ones as 2018 printed them.

#ifndef XLATRACE_HLO_TEXT_TEXT_LITERAL_H_
#define XLATRACE_HLO_TEXT_TEXT_LITERAL_H_

#include <string_view>

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {

// At '(': reads "(LITERAL)" of a constant of this shape; `*inside` is the literal without blanks
// around it. A failure of `scanner` for other text. An empty shape allows anything balanced.
bool ScanLiteral(TextScanner& scanner, std::string_view shape, std::string_view* inside);

// "f32[2] {1, 2}", "(s32[] 1, f32[1] {2})": a literal with its own shape, as custom calls have. The
// count of numbers is not compared with the shape.
bool ScanTypedLiteral(TextScanner& scanner);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_LITERAL_H_
