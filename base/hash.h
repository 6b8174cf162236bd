// SPDX-License-Identifier: Apache-2.0

// 64-bit content hashes (XXH3). Stable over versions and machines of one byte order.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_HASH_H_
#define XLATRACE_BASE_HASH_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace xlatrace {

uint64_t Hash(std::string_view bytes, uint64_t seed = 0);

// Adds `value` to `hash`; the order of values matters. For each value it is one-to-one in `hash`,
// and every bit of the result depends on all bits of both. `hash` is spread before `value` is
// added, so that numbers that grow together do not collide. The finalizer is that of SplitMix64
// (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
constexpr uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash * 0x9E3779B97F4A7C15u ^ value) + 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
  return hash ^ hash >> 31;
}

// A third of the cost of Mix, with more collisions: for millions of rows that are compared in full
// after a hash match.
constexpr uint64_t MixQuickly(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

// 16 lower-case hexadecimal digits.
std::string HashText(uint64_t hash);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_HASH_H_
