// SPDX-License-Identifier: Apache-2.0

// Parses XProf's texts about a device event: "regs:32 grid:8,1,1 ...", "size:4096 dest:0 ...".
// Shared by the readers of its two formats, XSpace and JSON.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_COMMON_KERNEL_DETAILS_H_
#define XLATRACE_IMPORTERS_COMMON_KERNEL_DETAILS_H_

#include <cstdint>
#include <string_view>

#include "model/events.h"

namespace xlatrace::importers {

// Lines that XProf computes from the streams (xprof/utils/xplane_schema.cc); not records.
bool IsDerivedLine(std::string_view line_name);

// Registers, grid, block, cluster, shared memory. False: the profiler wrote garbage (registers
// above 1024, as ROCm profilers of 2025 did); then registers and shared memory of the record are
// left out.
bool SetLaunchDetails(std::string_view details, model::LaunchConfig& config);

// From the event's name, else from "kind_src:... kind_dst:...". `own_ordinal` of `device_count`
// devices: ROCm calls a copy to another GPU device-to-device as well.
model::CopyKind CopyKindOfEvent(std::string_view name, std::string_view details,
                                int64_t own_ordinal, int64_t device_count);

// Bytes of a copy or memset; -1: unknown (ROCm writes size:0 for an unknown size).
int64_t BytesOfDetails(std::string_view details);

// "MigrationH2D" and the like if a profiler's name stands for pages of unified memory that the
// driver moved; else empty.
std::string_view MigrationNameOf(std::string_view name);

// "Memcpy HtoD (Pageable -> Device)", "MemcpyD2D", "CopyHostToDevice"; unknown when none of these.
model::CopyKind CopyKindOfName(std::string_view name);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_KERNEL_DETAILS_H_
