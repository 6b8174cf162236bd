#include "correlator/fusion_body.h"

#include "base/hash.h"

namespace xlatrace::correlator {
namespace {

void Mix(uint64_t value, uint64_t* hash) {
  *hash = (*hash ^ value) * 0x9E3779B97F4A7C15u;
  *hash ^= *hash >> 29;
}

}  // namespace

uint64_t FusionBodyHash(const model::HloModule& module, const model::Instruction& fusion) {
  uint64_t hash = Hash(fusion.fusion_kind);
  for (const uint32_t callee : module.CalledComputations(fusion)) {
    if (callee >= module.computations.size()) continue;
    const model::Computation& body = module.computations[callee];
    for (uint32_t i = 0; i < body.instruction_count; ++i) {
      const model::Instruction& inner = module.instructions[body.first_instruction + i];
      Mix(Hash(inner.opcode), &hash);
      Mix(Hash(inner.shape), &hash);
      for (const uint32_t operand : module.Operands(inner)) {
        Mix(operand - body.first_instruction, &hash);
      }
    }
  }
  return hash;
}

}  // namespace xlatrace::correlator
