// SPDX-License-Identifier: Apache-2.0

// Renders xla.LiteralProto as XLA prints constants in one line (xla/literal.cc,
// LiteralBase::ToStringWithoutShapeOneline; xla/util.cc RoundTripFpToString).

#ifndef XLATRACE_HLO_PROTO_PROTO_LITERAL_H_
#define XLATRACE_HLO_PROTO_PROTO_LITERAL_H_

#include <string>
#include <string_view>

#include "hlo/proto/wire.h"

namespace xlatrace::hlo {

// "42", "{1, 2}", "{ { 1, 2 }, { 3, 4 } }". "{...}" for literals that text elides too (more than 10
// elements), and for rare forms: rank of at least 4, tuples, small number formats.
// Wire errors throw.
std::string LiteralText(std::string_view literal_proto, WirePosition& position);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_PROTO_LITERAL_H_
