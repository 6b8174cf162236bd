// SPDX-License-Identifier: Apache-2.0

// The form of attribute values with one part per dimension: windows, padding, slices, and the roles
// of a convolution's dimensions.
//
// Thread-safety: pure. Sources: ParseWindow, ParsePaddingConfig, ParseSliceRanges and
// ParseConvolutionDimensionNumbers in xla/hlo/parser/hlo_parser.cc.

#ifndef XLATRACE_HLO_TEXT_WINDOW_SYNTAX_H_
#define XLATRACE_HLO_TEXT_WINDOW_SYNTAX_H_

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {

// {size=3x3 stride=2x2 pad=0_1x0_1}: each item once, as many numbers as in size.
bool ScanWindow(TextScanner& scanner);

// 0_1_2x0_0: low, high and maybe interior padding.
bool ScanPadding(TextScanner& scanner);

// {[0:4:2], [1:3]}
bool ScanSlices(TextScanner& scanner);

// b01f_01io->b01f; each label once, "?" for dimensions without a label. Or labels of spatial
// dimensions alone: 012_012->012.
bool ScanDimLabels(TextScanner& scanner);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_WINDOW_SYNTAX_H_
