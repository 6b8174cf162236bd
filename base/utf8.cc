// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

namespace xlatrace {

int32_t DecodeUtf8(std::string_view text, size_t at, size_t* length) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  *length = 1;
  const uint8_t first = byte(0);
  if (first < 0x80) return first;
  const size_t want = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + want > text.size()) return -1;
  int32_t code = first & (0xFF >> (want + 1));
  for (size_t i = 1; i < want; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return -1;
    code = (code << 6) | (byte(i) & 0x3F);
  }
  constexpr int32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[want] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return -1;
  *length = want;
  return code;
}

bool IsInvisible(int32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xAD || code == 0x061C ||
         code == 0x115F || code == 0x1160 || code == 0x180E || code == 0x3164 || code == 0xFFA0 ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
         (code >= 0xFE00 && code <= 0xFE0F) || (code >= 0xFFF0 && code < 0xFFFD) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

}  // namespace xlatrace
