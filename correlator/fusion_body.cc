// SPDX-License-Identifier: Apache-2.0
#include "correlator/fusion_body.h"

#include "base/hash.h"

namespace xlatrace::correlator {
namespace {

uint64_t BodyHash(const model::HloModule& module, const model::Computation& body) {
  uint64_t hash = 1;
  for (uint32_t i = 0; i < body.instruction_count; ++i) {
    const model::Instruction& inner = module.instructions[body.first_instruction + i];
    hash = Mix(hash, Hash(inner.opcode));
    hash = Mix(hash, Hash(inner.shape));
    for (const uint32_t operand : module.Operands(inner)) {
      hash = Mix(hash, operand - body.first_instruction);
    }
  }
  return hash;
}

}  // namespace

uint64_t FusionBodies::HashOf(const model::Instruction& fusion) {
  uint64_t hash = Hash(fusion.fusion_kind);
  for (const uint32_t callee : module_.CalledComputations(fusion)) {
    if (callee >= module_.computations.size()) continue;
    const auto [at, fresh] = known_.try_emplace(callee, 0);
    if (fresh) at->second = BodyHash(module_, module_.computations[callee]);
    hash = Mix(hash, at->second);
  }
  return hash;
}

}  // namespace xlatrace::correlator
