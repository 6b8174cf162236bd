// SPDX-License-Identifier: Apache-2.0
#include "recording/format.h"

#define XXH_INLINE_ALL  // No library to load into the traced process.
#include <xxhash.h>

namespace xlatrace::recording {

uint64_t BlockChecksum(const BlockHeader& header, const uint8_t* payload) {
  const uint64_t seed = XXH3_64bits(&header, offsetof(BlockHeader, checksum));
  return XXH3_64bits_withSeed(payload, header.payload_bytes, seed);
}

}  // namespace xlatrace::recording
