// SPDX-License-Identifier: Apache-2.0

// HLO programs in protobuf text format: `hlo_module { name: "..." computations { ... } }`, as
// DebugString() prints an HloProto, HloModuleProto or HloSnapshot.
//
// The text is converted to the wire format, with names and numbers of the fields that are read.
// Then it is read as any proto, so there is one reader of protos. Fields without a number here are
// skipped, as unknown fields are.
//
// Thread-safety: pure. Field numbers: xla/service/hlo.proto, xla/xla_data.proto.

#ifndef XLATRACE_HLO_PROTO_TEXT_PROTO_MODULE_H_
#define XLATRACE_HLO_PROTO_TEXT_PROTO_MODULE_H_

#include <memory>
#include <string>

#include "base/error.h"

namespace xlatrace::hlo {

// The serialised message. Errors name line and column of damage, or of a field whose value has
// another type.
Result<std::string> HloProtoFromText(std::shared_ptr<const std::string> text);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_TEXT_PROTO_MODULE_H_
