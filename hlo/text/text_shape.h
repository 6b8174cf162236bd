// SPDX-License-Identifier: Apache-2.0

// Reads one printed shape and returns it in XLA's own spelling.
//
// Source: ParseShape in xla/hlo/parser/hlo_parser.cc; layouts of all eras, "dense"/"sparse" of
// 2018.

#ifndef XLATRACE_HLO_TEXT_TEXT_SHAPE_H_
#define XLATRACE_HLO_TEXT_TEXT_SHAPE_H_

#include <string>
#include <string_view>

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {

// Is `word` an element type ("f32", "pred", "token"), or a new number format of the same style?
bool IsElementType(std::string_view word);

// Does a shape begin here (after blanks)? Consumes nothing.
bool StartsShape(TextScanner& scanner);

// Reads a shape; `*raw` is its printed text. False after a failure.
bool ScanShape(TextScanner& scanner, std::string_view* raw);

// Reads the shape of an array before a literal. Braces after the shape are a layout only if more
// braces follow: "f32[1]{0} {2}" but "f32[1] {2}".
bool ScanShapeOfLiteral(TextScanner& scanner, std::string_view* raw);

// The end of the shape that begins at `text`, by its brackets alone; 0 if it cannot be determined.
size_t ShapeExtent(std::string_view text);

// Is `raw` spelled as XLA prints it: no comments, "a, b" between tuple elements only, no layout on
// scalars? If not, CanonicalShape() returns that spelling.
bool IsCanonicalShape(std::string_view raw);
std::string CanonicalShape(std::string_view raw);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_SHAPE_H_
