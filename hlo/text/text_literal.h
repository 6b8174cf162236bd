// SPDX-License-Identifier: Apache-2.0

// The form of a printed constant: numbers that fit its element type, nested as deep and as many as
// its shape says. Values are not kept.
//
// Source: ParseLiteral and ParseDenseLiteral in xla/hlo/parser/hlo_parser.cc; shapes inside of
// literals and sparse ones as 2018 printed them.

#ifndef XLATRACE_HLO_TEXT_TEXT_LITERAL_H_
#define XLATRACE_HLO_TEXT_TEXT_LITERAL_H_

#include <string_view>

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {

// At '(': reads "(LITERAL)" of a constant of this shape; `*inside` is the literal without blanks
// around it. A failure of `scanner` when it is none. An empty shape allows anything balanced.
bool ScanLiteral(TextScanner& scanner, std::string_view shape, std::string_view* inside);

// "f32[2] {1, 2}", "(s32[] 1, f32[1] {2})": a literal that says its own shape, as custom calls
// carry them. How many numbers there are is not compared with the shape.
bool ScanTypedLiteral(TextScanner& scanner);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_LITERAL_H_
