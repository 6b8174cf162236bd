// SPDX-License-Identifier: Apache-2.0

// Reads one printed shape and gives it in XLA's own spelling.
//
// Source: ParseShape in xla/hlo/parser/hlo_parser.cc; layouts of all eras, "dense"/"sparse" of
// 2018.

#ifndef XLATRACE_HLO_TEXT_TEXT_SHAPE_H_
#define XLATRACE_HLO_TEXT_TEXT_SHAPE_H_

#include <string>
#include <string_view>

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {

// Is `word` an element type: "f32", "pred", "token", and whatever new number format looks alike?
bool IsElementType(std::string_view word);

// Does a shape begin here (after blanks)? Looks only.
bool StartsShape(TextScanner& scanner);

// Reads a shape; `*raw` is what is printed. False after a failure.
bool ScanShape(TextScanner& scanner, std::string_view* raw);

// Reads the shape of an array in front of a literal: braces behind it are a layout only when more
// braces follow them, "f32[1]{0} {2}" but "f32[1] {2}".
bool ScanShapeOfLiteral(TextScanner& scanner, std::string_view* raw);

// Where the shape that begins at `text` ends, by its brackets alone; 0 when that is not to be seen.
size_t ShapeExtent(std::string_view text);

// Is `raw` spelled as XLA prints it: no comments, "a, b" between tuple elements only, no layout on
// scalars? Then it can be used as it is, else CanonicalShape() makes it so.
bool IsCanonicalShape(std::string_view raw);
std::string CanonicalShape(std::string_view raw);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_SHAPE_H_
