#include "report/html_writer.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::report {
namespace {

constexpr size_t kPiece = 64 * 1024;
constexpr size_t kLongest = 400;  // Characters of one name.
constexpr size_t kHead = 280;
constexpr size_t kTail = 80;
constexpr size_t kNameTail = 8;  // Characters that a narrow column keeps.

// One code point at `at`; -1 with length 1 for a byte that is no UTF-8.
int32_t Decode(std::string_view text, size_t at, size_t* length) {
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

// Shows nothing, or changes what is shown around it.
bool IsInvisible(int32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xAD || code == 0x061C ||
         code == 0x115F || code == 0x1160 || code == 0x180E || code == 0x3164 || code == 0xFFA0 ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
         (code >= 0xFE00 && code <= 0xFE0F) || (code >= 0xFFF0 && code < 0xFFFD) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

void AppendEscaped(std::string& out, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t length = 1;
    const int32_t code = Decode(text, at, &length);
    switch (code) {
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
      case '\n':
      case '\t':
        out += ' ';
        break;
      case -1:
        out += "\xEF\xBF\xBD";
        break;
      default:
        if (IsInvisible(code)) {
          out += fmt::format("[U+{:04X}]", code);
        } else {
          out.append(text.substr(at, length));
        }
    }
    at += length;
  }
}

// Byte position of the character that is `characters` from the end or the beginning; never inside
// a code point. Looks at a few hundred bytes at most, however long the text.
size_t FromStart(std::string_view text, size_t characters) {
  size_t at = 0;
  while (at < text.size() && characters > 0) {
    size_t length = 1;
    Decode(text, at, &length);
    at += length;
    --characters;
  }
  return at;
}

size_t FromEnd(std::string_view text, size_t characters) {
  size_t at = text.size();
  while (at > 0 && characters > 0) {
    --at;
    for (int i = 0; i < 3 && at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80; ++i) --at;
    --characters;
  }
  return at;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  const size_t longest = FromStart(text, kLongest);
  if (longest == text.size()) {
    AppendEscaped(out, text);
    return out;
  }
  AppendEscaped(out, text.substr(0, FromStart(text, kHead)));
  out +=
      fmt::format("\u2026 [{} bytes in all] \u2026", Thousands(static_cast<int64_t>(text.size())));
  AppendEscaped(out, text.substr(FromEnd(text, kTail)));
  return out;
}

HtmlWriter& HtmlWriter::Raw(std::string_view markup) {
  buffer_ += markup;
  if (buffer_.size() >= kPiece) Flush();
  return *this;
}

HtmlWriter& HtmlWriter::Text(std::string_view text) { return Raw(EscapeHtml(text)); }

HtmlWriter& HtmlWriter::Code(std::string_view text) {
  return Raw("<code>").Text(text).Raw("</code>");
}

HtmlWriter& HtmlWriter::Name(std::string_view text) {
  const size_t tail = FromEnd(text, kNameTail);
  if (tail < kNameTail) return Raw("<code class=\"ends\"><span>").Text(text).Raw("</span></code>");
  return Raw("<code class=\"ends\"><span>")
      .Text(text.substr(0, tail))
      .Raw("</span><span class=\"tail\">")
      .Text(text.substr(tail))
      .Raw("</span></code>");
}

void HtmlWriter::Flush() {
  if (status_ && !buffer_.empty()) status_ = out_(buffer_);
  buffer_.clear();
}

Status HtmlWriter::Finish() {
  Flush();
  return std::move(status_);
}

}  // namespace xlatrace::report
