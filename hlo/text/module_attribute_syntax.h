// SPDX-License-Identifier: Apache-2.0

// The form of attribute values that relate objects: aliases and donors of buffers, "origin", and
// values to log. "origin" is the value before optimisation that an instruction stands for.
//
// Thread-safety: pure. Sources: ParseAliasing, ParseBufferDonor, ParseOriginalValueImpl,
// ParseOriginalValueRecoveryTable in xla/hlo/parser/hlo_parser.cc; debug_attributes (2026-07) as
// printed.

#ifndef XLATRACE_HLO_TEXT_MODULE_ATTRIBUTE_SYNTAX_H_
#define XLATRACE_HLO_TEXT_MODULE_ATTRIBUTE_SYNTAX_H_

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {

// {0,1}: a place in a tuple. A comma may follow the last number.
bool ScanShapeIndex(TextScanner& scanner);

// { (0, {}), (1, {0}) }
bool ScanBufferDonors(TextScanner& scanner);

// {{"name" {0}}}, {({"a"}, {"b" {1}})}, {[synthetic_call]}
bool ScanOriginalValue(TextScanner& scanner);

// { {"a" {0}} : {"b"}, "the text of a module" ... }
bool ScanRecoveryTable(TextScanner& scanner);

// { {"a"}:({log_mode=default,callback_id=1,partitioned=true}) }
bool ScanDebugAttributes(TextScanner& scanner);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_MODULE_ATTRIBUTE_SYNTAX_H_
