// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <xxhash.h>

#include <fmt/format.h>

namespace xlatrace {

uint64_t Hash(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string HashText(uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace xlatrace
