// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/memory_space.h"

#include <fmt/format.h>

#include "hlo/shape.h"

namespace xlatrace::hlo {

bool HasTiles(std::string_view shape) { return shape.find(":T(") != std::string_view::npos; }

Platform PlatformOf(const model::HloModule& module) {
  for (const model::Instruction& instruction : module.instructions) {
    if (HasTiles(instruction.shape)) return Platform::kTpu;
  }
  return Platform::kOther;
}

bool IsDeviceMemory(Platform platform, int64_t color) {
  return platform == Platform::kTpu ? color == 0 : color != kHostMemorySpaceNumber;
}

std::string MemorySpaceName(Platform platform, int64_t color) {
  if (color == kHostMemorySpaceNumber) return "host";
  if (IsDeviceMemory(platform, color)) return "device";
  if (color == 1) return "vector";
  if (color == 2) return "scalar";
  return fmt::format("space {}", color);
}

}  // namespace xlatrace::hlo
