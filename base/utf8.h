// SPDX-License-Identifier: Apache-2.0

// UTF-8, one code point at a time, and which characters cannot be seen.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_UTF8_H_
#define XLATRACE_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xlatrace {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// The code point that begins at byte `at` (which is inside `text`), and its length in bytes. A byte
// that begins no valid UTF-8 (overlong forms, surrogates and cut sequences included) gives -1 and
// length 1.
int32_t DecodeUtf8(std::string_view text, size_t at, size_t* length);

// Shows nothing, or changes what is shown around it: controls (newline and tab too), bidirectional
// marks and overrides, zero-width characters, line separators, fillers, variation selectors, tags.
bool IsInvisible(int32_t code);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_UTF8_H_
