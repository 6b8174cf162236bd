// SPDX-License-Identifier: Apache-2.0
#include "base/shell_word.h"

namespace xlatrace {

std::string ShellText(std::string_view word) {
  // Characters without a meaning in any shell. Bytes of UTF-8 letters are plain, too.
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("_-./:,+=@%^").find(c) != std::string_view::npos;
  };
  bool quote = word.empty();
  for (const char c : word) quote |= !plain(c);
  if (!quote) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted += '\'';
}

std::string ShellWord(std::string_view word) {
  return word.starts_with('-') && word.size() > 1 ? ShellText("./" + std::string(word))
                                                  : ShellText(word);
}

}  // namespace xlatrace
