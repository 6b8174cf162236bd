// SPDX-License-Identifier: Apache-2.0

// The words of attributes with a fixed set of values: direction=LT, kind=kLoop.
//
// Thread-safety: pure. Sources: the enumerations behind the AttrTy of xla/hlo/parser/hlo_parser.cc
// (xla_data.proto, comparison_util.cc, hlo_opcode.cc), all eras.

#ifndef XLATRACE_HLO_TEXT_ATTRIBUTE_WORDS_H_
#define XLATRACE_HLO_TEXT_ATTRIBUTE_WORDS_H_

#include <string_view>

namespace xlatrace::hlo {

// True if `attribute` may have the value `word`. If XLA extends the enumeration (fusion kinds,
// algorithms), any word of the same style is accepted. True for attributes without such an
// enumeration.
bool TakesWord(std::string_view attribute, std::string_view word);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_ATTRIBUTE_WORDS_H_
