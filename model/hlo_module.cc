// SPDX-License-Identifier: Apache-2.0
#include "model/hlo_module.h"

namespace xlatrace::model {

std::unordered_map<std::string_view, uint32_t> IndexByName(const HloModule& module) {
  std::unordered_map<std::string_view, uint32_t> index;
  index.reserve(module.instructions.size());
  for (const bool fusion_bodies : {false, true}) {
    for (const Computation& computation : module.computations) {
      if (computation.is_fusion != fusion_bodies) continue;
      for (uint32_t i = 0; i < computation.instruction_count; ++i) {
        const uint32_t at = computation.first_instruction + i;
        index.try_emplace(module.instructions[at].name, at);
      }
    }
  }
  return index;
}

}  // namespace xlatrace::model
