// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <cstddef>
#include <cstdint>

namespace xlatrace {

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  char* to = out.data();
  size_t at = 0;
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])); };
  for (; at + 3 <= bytes.size(); at += 3) {
    const uint32_t group = byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2);
    *to++ = kDigits[group >> 18];
    *to++ = kDigits[group >> 12 & 63];
    *to++ = kDigits[group >> 6 & 63];
    *to++ = kDigits[group & 63];
  }
  if (const size_t left = bytes.size() - at; left > 0) {
    const uint32_t group = byte(at) << 16 | (left == 2 ? byte(at + 1) << 8 : 0);
    *to++ = kDigits[group >> 18];
    *to++ = kDigits[group >> 12 & 63];
    if (left == 2) *to++ = kDigits[group >> 6 & 63];
  }
  return out;
}

}  // namespace xlatrace
