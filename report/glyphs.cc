// SPDX-License-Identifier: Apache-2.0
#include "report/glyphs.h"

#include <cstddef>

#include "base/text.h"

namespace xlatrace::report {
namespace {

bool IsPartOfWord(char c) { return IsDigit(c) || IsLower(c) || IsUpper(c) || c == '_'; }

struct Glyph {
  size_t taken = 0;  // Bytes of the text; 0: no glyph begins here.
  std::string_view with = {};
};

Glyph GlyphAt(std::string_view text, size_t at) {
  const auto is_digit = [&](size_t i) { return i < text.size() && IsDigit(text[i]); };
  const auto ends_word = [&](size_t i) { return i >= text.size() || !IsPartOfWord(text[i]); };
  const std::string_view rest = text.substr(at);
  const bool after_digit = at > 0 && IsDigit(text[at - 1]);
  if (after_digit && rest.starts_with(" us") && ends_word(at + 3)) return {3, " \u00b5s"};
  if (after_digit && rest.starts_with(" x ") && is_digit(at + 3)) return {3, " \u00d7 "};
  if (after_digit && rest[0] == 'x' && ends_word(at + 1)) return {1, "\u00d7"};
  if (rest.starts_with(" -> ")) return {4, " \u2192 "};
  const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '(';
  if (begins && rest[0] == '-' && is_digit(at + 1)) return {1, "\u2212"};
  return {};
}

}  // namespace

std::string WithGlyphs(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  bool code = false;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '`') code = !code;
    const Glyph glyph = code ? Glyph() : GlyphAt(text, at);
    if (glyph.taken == 0) {
      out += text[at++];
    } else {
      out += glyph.with;
      at += glyph.taken;
    }
  }
  return out;
}

}  // namespace xlatrace::report
