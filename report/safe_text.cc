// SPDX-License-Identifier: Apache-2.0
#include "report/safe_text.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/utf8.h"

namespace xlatrace::report {

size_t CharacterStart(std::string_view text, size_t at) {
  for (int i = 0; i < 3 && at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80; ++i) --at;
  return at;
}

void AppendSafeText(std::string& out, std::string_view text, Lines lines) {
  for (size_t at = 0; at < text.size();) {
    size_t plain = at;
    while (plain < text.size() && text[plain] >= 0x20 && text[plain] < 0x7F) ++plain;
    out.append(text.substr(at, plain - at));
    if (plain == text.size()) return;
    at = plain;
    size_t length = 1;
    const int32_t code = DecodeUtf8(text, at, &length);
    if (code == '\n' || code == '\t') {
      out += lines == Lines::kKeep ? static_cast<char>(code) : ' ';
    } else if (code < 0) {
      out += kReplacementCharacter;
    } else if (IsInvisible(code)) {
      out += fmt::format("[U+{:04X}]", code);
    } else {
      out.append(text.substr(at, length));
    }
    at += length;
  }
}

void AppendMarkupText(std::string& out, std::string_view text) {
  std::string safe;
  AppendSafeText(safe, text);
  for (const char c : safe) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
}

std::string SafeName(std::string_view text, size_t longest) {
  std::string out;
  if (text.size() <= longest) {
    AppendSafeText(out, text);
    return out;
  }
  const size_t tail = longest / 4;
  AppendSafeText(out, text.substr(0, CharacterStart(text, longest - tail)));
  out +=
      fmt::format("\u2026 [{} bytes in all] \u2026", Thousands(static_cast<int64_t>(text.size())));
  AppendSafeText(out, text.substr(CharacterStart(text, text.size() - tail)));
  return out;
}

}  // namespace xlatrace::report
