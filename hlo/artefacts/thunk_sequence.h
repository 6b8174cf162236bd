// SPDX-License-Identifier: Apache-2.0

// Reads the lists of thunks that XLA:GPU dumps, the exact order of kernels of one module.
//
// Three formats (xla/backends/gpu/runtime/thunk.cc, sequential_thunk.cc, older thunk_schedule.cc):
//  - `thunk_schedule`, 2019 to 2022: kind and the whole HLO instruction per line;
//  - `thunk_sequence.txt`, 2022-08 to 2026-03: indent, since 2025-09 an id, kind, TAB, and for
//    kernels ", kernel = NAME, launch dimensions = blocks: {..}, threads/block: {..}";
//  - since 2026-03: indent, id, kind, [prev=.. | next=..], description.
// `thunk_metadata.txt` or `.pb` (ThunkMetadataListProto) is joined on the thunk id. It has the
// instruction that a thunk executes, for reused kernels and library calls too.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_HLO_ARTEFACTS_THUNK_SEQUENCE_H_
#define XLATRACE_HLO_ARTEFACTS_THUNK_SEQUENCE_H_

#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// Thunks in file order, with depth; nested thunks follow the enclosing one. `metadata` may be
// empty. Errors name the line. A text without thunk lines is an error; an empty text is not.
Result<std::vector<model::Thunk>> ReadThunks(std::string_view sequence, std::string_view metadata);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_THUNK_SEQUENCE_H_
