// SPDX-License-Identifier: Apache-2.0

// Reads an HLO program from serialised protobuf: HloProto (`.hlo.pb` dumps, XSpace "Hlo Proto"
// stats), a bare HloModuleProto, HloSnapshot or HloUnoptimizedSnapshot. Detected from the content.
//
// Streaming over the wire format with protozero: no generated code, no protobuf runtime whose
// version could clash. Unknown fields are skipped, so files of newer XLA are read too.
//
// Results beyond the fields themselves:
//  - Instructions of a computation are in schedule order if the module has a schedule
//    (is_scheduled), else in the order of the file (operands before users).
//  - Fields source_file and source_line are resolved through the module's stack frame tables.
//  - Shapes are as XLA prints them, without the /*index=5*/ comments of long tuples.
//  - Field backend_config is also read from the module's payload table (XLA since 2026-05).
//  - Called computations are in the order of the proto (while: body, condition; select-and-scatter:
//    select, scatter; conditional: branches in index order, of a predicate true first).
//  - peak_memory_bytes = sum of the sizes of all allocations of the buffer assignment in device
//    memory (hlo/artefacts/memory_space.h): parameters, outputs, constants, thread-local values and
//    the heap of temporaries, whose size is the peak of all values packed into it.
//
// Field numbers: xla/service/hlo.proto, xla/xla_data.proto (2018-03 to 2026-08).

#ifndef XLATRACE_HLO_PROTO_PROTO_READER_H_
#define XLATRACE_HLO_PROTO_PROTO_READER_H_

#include <memory>
#include <string>

#include "base/error.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// The module keeps `bytes` alive and points into them. For damaged input, the error names a byte
// ("unknown wire type 7 at byte 912") or the invalid instruction. A returned module is sound: every
// index is in range, and neither operands nor calls form a cycle.
// Re-entrant; time and memory are linear in the size of `bytes`.
Result<model::HloModule> ReadProto(std::shared_ptr<const std::string> bytes);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_PROTO_READER_H_
