// SPDX-License-Identifier: Apache-2.0

// The binary form of thunk metadata: `thunk_metadata.pb`. XLA writes it instead of the text if a
// dump has protos alone (--xla_dump_hlo_as_proto; xla/service/dump.cc).
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_HLO_ARTEFACTS_THUNK_METADATA_PROTO_H_
#define XLATRACE_HLO_ARTEFACTS_THUNK_METADATA_PROTO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace xlatrace::hlo {

// Thunk id -> instruction, from a ThunkMetadataListProto (xla/backends/gpu/runtime/thunk.proto).
// From a truncated one, the part before the end. Empty if `bytes` do not begin like such a proto,
// for example if they are text.
std::optional<std::unordered_map<int64_t, std::string>> ReadThunkMetadataProto(
    std::string_view bytes);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_THUNK_METADATA_PROTO_H_
