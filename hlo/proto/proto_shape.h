// SPDX-License-Identifier: Apache-2.0

// Renders xla.ShapeProto as XLA prints shapes with their layout (xla/shape_util.cc,
// xla/layout.cc Layout::Print), less the /*index=5*/ comments of long tuples.

#ifndef XLATRACE_HLO_PROTO_PROTO_SHAPE_H_
#define XLATRACE_HLO_PROTO_PROTO_SHAPE_H_

#include <string>
#include <string_view>

#include "hlo/proto/wire.h"

namespace xlatrace::hlo {

// Appends the text. False when tuples or physical shapes nest deeper than any real shape does
// (damaged input); wire errors throw.
bool AppendShape(std::string_view shape_proto, WirePosition& position, std::string& out);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_PROTO_SHAPE_H_
