#include "correlator/fusion_body.h"

#include "base/hash.h"

namespace xlatrace::correlator {
namespace {

void Mix(uint64_t value, uint64_t* hash) {
  *hash = (*hash ^ value) * 0x9E3779B97F4A7C15u;
  *hash ^= *hash >> 29;
}

uint64_t BodyHash(const model::HloModule& module, const model::Computation& body) {
  uint64_t hash = 1;
  for (uint32_t i = 0; i < body.instruction_count; ++i) {
    const model::Instruction& inner = module.instructions[body.first_instruction + i];
    Mix(Hash(inner.opcode), &hash);
    Mix(Hash(inner.shape), &hash);
    for (const uint32_t operand : module.Operands(inner)) {
      Mix(operand - body.first_instruction, &hash);
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
    Mix(at->second, &hash);
  }
  return hash;
}

}  // namespace xlatrace::correlator
