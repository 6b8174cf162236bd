// SPDX-License-Identifier: Apache-2.0

// UTF-8 decoding by code point, and detection of invisible characters.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_UTF8_H_
#define XLATRACE_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xlatrace {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// The code point that begins at byte `at` (inside `text`), and its length in bytes. Returns -1 and
// length 1 for a byte that begins no valid UTF-8 (including overlong forms, surrogates and
// truncated sequences).
int32_t DecodeUtf8(std::string_view text, size_t at, size_t* length);

// True for characters that show nothing or change the display of their neighbours. These are
// controls (newline and tab included), bidirectional marks and overrides, zero-width characters,
// line separators, fillers, variation selectors and tags.
bool IsInvisible(int32_t code);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_UTF8_H_
