// SPDX-License-Identifier: Apache-2.0

// The words that attributes take whose value is one of a few: direction=LT, kind=kLoop.
//
// Thread-safety: pure. Sources: the enumerations behind the AttrTy of xla/hlo/parser/hlo_parser.cc
// (xla_data.proto, comparison_util.cc, hlo_opcode.cc), all eras.

#ifndef XLATRACE_HLO_TEXT_ATTRIBUTE_WORDS_H_
#define XLATRACE_HLO_TEXT_ATTRIBUTE_WORDS_H_

#include <string_view>

namespace xlatrace::hlo {

// May `attribute` have `word` as its value? Of enumerations that grow with XLA (fusion kinds,
// algorithms) anything in their style; true for attributes that are none of these.
bool TakesWord(std::string_view attribute, std::string_view word);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_ATTRIBUTE_WORDS_H_
