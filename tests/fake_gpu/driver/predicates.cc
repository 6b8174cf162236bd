// SPDX-License-Identifier: Apache-2.0
#include "driver/predicates.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace fakegpu {

std::optional<int> NextDecision(size_t bytes) {
  static const char* const seed = std::getenv("FAKE_GPU_PREDICATES");
  if (seed == nullptr || (bytes != 1 && bytes != 4)) return std::nullopt;
  static std::atomic<uint64_t> state{std::strtoull(seed, nullptr, 10)};
  // splitmix64 (Steele, Lea, Flood 2014).
  uint64_t z = state.fetch_add(0x9E3779B97F4A7C15u) + 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<int>(bytes == 1 ? z % 4 != 0 : z % 4);
}

}  // namespace fakegpu
