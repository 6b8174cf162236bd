// SPDX-License-Identifier: Apache-2.0
#include "report/html/html_writer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/safe_text.h"

namespace xlatrace::report {
namespace {

constexpr size_t kWritePieceBytes = 64 * 1024;
constexpr size_t kMaxNameCharacters = 400;  // Characters of one name.
constexpr size_t kNameHeadCharacters = 280;
constexpr size_t kNameEndCharacters = 80;
constexpr size_t kNarrowTailCharacters =
    12;  // Bytes at most that a narrow column keeps of the end of a name.

// Byte position of the character that is `characters` from the end or the beginning; never inside
// a code point. Looks at a few hundred bytes at most, however long the text.
size_t FromStart(std::string_view text, size_t characters) {
  size_t at = 0;
  while (at < text.size() && characters > 0) {
    size_t length = 1;
    DecodeUtf8(text, at, &length);
    at += length;
    --characters;
  }
  return at;
}

size_t FromEnd(std::string_view text, size_t characters) {
  size_t at = text.size();
  while (at > 0 && characters > 0) {
    at = CharacterStart(text, at - 1);
    --characters;
  }
  return at;
}

// Index at which the kept end of a name in a narrow column begins. It is the last word with the
// separator before it, as on the page (report/ui/src/data/names.ts). Without words, the number at
// the end. text.size(): no end is kept.
size_t TailOf(std::string_view text) {
  constexpr std::string_view kBeginsWord = "._/-: ,<(";
  const size_t longest = text.empty() ? 0 : std::min(kNarrowTailCharacters, text.size() - 1);
  for (size_t n = longest; n >= 2; --n) {
    if (kBeginsWord.find(text[text.size() - n]) != std::string_view::npos) return text.size() - n;
  }
  size_t at = text.size();
  while (at > 0 && IsDigit(text[at - 1])) --at;
  return at == 0 ? text.size() : at;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  const size_t longest = FromStart(text, kMaxNameCharacters);
  if (longest == text.size()) {
    AppendMarkupText(out, text);
    return out;
  }
  AppendMarkupText(out, text.substr(0, FromStart(text, kNameHeadCharacters)));
  out +=
      fmt::format("\u2026 [{} bytes in all] \u2026", Thousands(static_cast<int64_t>(text.size())));
  AppendMarkupText(out, text.substr(FromEnd(text, kNameEndCharacters)));
  return out;
}

HtmlWriter& HtmlWriter::Raw(std::string_view markup) {
  buffer_ += markup;
  if (buffer_.size() >= kWritePieceBytes) Flush();
  return *this;
}

HtmlWriter& HtmlWriter::Text(std::string_view text) { return Raw(EscapeHtml(text)); }

HtmlWriter& HtmlWriter::Code(std::string_view text) {
  return Raw("<code>").Text(text).Raw("</code>");
}

HtmlWriter& HtmlWriter::Prose(std::string_view text) {
  for (;;) {
    const size_t open = text.find('`');
    const size_t close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) return Text(text);  // A backtick without a partner is unchanged.
    Text(text.substr(0, open)).Code(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

HtmlWriter& HtmlWriter::Name(std::string_view text) {
  const size_t tail = TailOf(text);
  if (tail < kNarrowTailCharacters || tail == text.size()) {
    return Raw("<code class=\"ends\"><span>").Text(text).Raw("</span></code>");
  }
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
