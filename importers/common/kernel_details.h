// SPDX-License-Identifier: Apache-2.0

// Parses XProf's texts about a device event: "regs:32 grid:8,1,1 ...", "size:4096 dest:0 ...". The
// readers of both formats (XSpace and JSON) use it.
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

// Registers, grid, block, cluster, shared memory. False: the profiler wrote invalid values
// (registers above 1024, as ROCm profilers of 2025 did). Registers and shared memory of the record
// are left out then.
bool SetLaunchDetails(std::string_view details, model::LaunchConfig& config);

// From the event's name, or else from "kind_src:... kind_dst:...". `own_ordinal` of `device_count`
// devices: ROCm also reports a copy to another GPU as device-to-device.
model::CopyKind CopyKindOfEvent(std::string_view name, std::string_view details,
                                int64_t own_ordinal, int64_t device_count);

// Bytes of a copy or memset; -1: unknown (ROCm writes size:0 for an unknown size).
int64_t BytesOfDetails(std::string_view details);

// "MigrationH2D" and similar, if a profiler's name means that the driver moved pages of unified
// memory; otherwise empty.
std::string_view MigrationNameOf(std::string_view name);

// Parses "Memcpy HtoD (Pageable -> Device)", "MemcpyD2D" or "CopyHostToDevice"; unknown for other
// names.
model::CopyKind CopyKindOfName(std::string_view name);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_KERNEL_DETAILS_H_
