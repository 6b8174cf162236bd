// 64-bit content hashes (XXH3). Stable over versions and machines of one byte order.

#ifndef XLATRACE_BASE_HASH_H_
#define XLATRACE_BASE_HASH_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace xlatrace {

uint64_t Hash(std::string_view bytes, uint64_t seed = 0);

// 16 lower-case hexadecimal digits.
std::string HashText(uint64_t hash);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_HASH_H_
