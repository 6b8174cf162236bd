// SPDX-License-Identifier: Apache-2.0

// Functions for ASCII text that <string_view> and <cctype> lack, the same in every locale.

#ifndef XLATRACE_BASE_TEXT_H_
#define XLATRACE_BASE_TEXT_H_

#include <initializer_list>
#include <string>
#include <string_view>

namespace xlatrace {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

constexpr bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

constexpr bool HasAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (Has(text, part)) return true;
  }
  return false;
}

// The part after the last '/': the file name of a path, the innermost part of an op_name.
constexpr std::string_view LastPart(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

inline std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (IsUpper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace xlatrace

#endif  // XLATRACE_BASE_TEXT_H_
