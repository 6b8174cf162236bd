// SPDX-License-Identifier: Apache-2.0

// Meaning of the number of a memory space (the color of an allocation, S(n) of a layout).
//
// The numbers depend on the platform. On a TPU, only space 0 is device memory: spaces 1, 2 and
// others are small memories inside a core. On GPUs and CPUs, all spaces are device memory, except
// the host's. TPU programs are recognised by their tiled layouts (":T(8,128)"): no other backend
// of XLA writes tiles.
//
// Thread-safety: pure. Source: headings of -memory-usage-report.txt of jaxlib 0.10.2 and libtpu
// 0.0.42.1; Layout::kHostMemorySpace in xla/layout.h.

#ifndef XLATRACE_HLO_ARTEFACTS_MEMORY_SPACE_H_
#define XLATRACE_HLO_ARTEFACTS_MEMORY_SPACE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

enum class Platform : uint8_t { kTpu, kOther };

// Has a printed shape a tiled layout?
bool HasTiles(std::string_view shape);

Platform PlatformOf(const model::HloModule& module);

bool IsDeviceMemory(Platform platform, int64_t color);

// "device", "vector", "scalar", "host", "space 6".
std::string MemorySpaceName(Platform platform, int64_t color);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_MEMORY_SPACE_H_
