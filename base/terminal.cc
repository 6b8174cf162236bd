// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/ioctl.h>
#include <utf8proc.h>

#include "base/utf8.h"

namespace xlatrace {
namespace {

// Number of columns of a visible character; unassigned characters count as narrow.
int Width(int32_t code) {
  if (code < 0x7F) return 1;
  return utf8proc_category(code) == UTF8PROC_CATEGORY_CN ? 1 : utf8proc_charwidth(code);
}

// The longest prefix of at most `width` columns.
std::string_view Prefix(std::string_view text, int width) {
  size_t at = 0;
  int used = 0;
  while (at < text.size()) {
    size_t length = 1;
    const int32_t code = DecodeUtf8(text, at, &length);
    used += code < 0 ? 1 : Width(code);
    if (used > width) break;
    at += length;
  }
  return text.substr(0, at);
}

std::string Cut(std::string_view text, int width) {
  constexpr int kTailBytes = 8;
  constexpr std::string_view kDots = "..";
  if (width <= kTailBytes + 4) return std::string(Prefix(text, width));
  // The tail is counted in bytes, because generated names are ASCII at their end.
  const std::string_view tail = text.substr(text.size() - kTailBytes);
  if (!std::all_of(tail.begin(), tail.end(), [](char c) { return c > 0x1F; })) {
    return std::string(Prefix(text, width));
  }
  const int head = width - kTailBytes - static_cast<int>(kDots.size());
  return std::string(Prefix(text, head)).append(kDots).append(tail);
}

std::string Fit(std::string_view text, int width, bool right) {
  std::string out = DisplayWidth(text) > width ? Cut(text, width) : std::string(text);
  const int missing = width - DisplayWidth(out);
  if (missing > 0) out.insert(right ? 0 : out.size(), static_cast<size_t>(missing), ' ');
  return out;
}

// The character set of the locale; `if_not_set` if no variable names a locale.
bool LocaleIsUtf8(bool if_not_set) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return std::strstr(value, "UTF-8") != nullptr || std::strstr(value, "utf8") != nullptr ||
           std::strstr(value, "UTF8") != nullptr;
  }
  return if_not_set;
}

}  // namespace

Terminal DetectTerminal() {
  Terminal terminal;
  terminal.is_terminal = isatty(STDOUT_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  terminal.color = terminal.is_terminal && (no_color == nullptr || *no_color == '\0') &&
                   (term == nullptr || std::strcmp(term, "dumb") != 0);
  // Services and containers often have no locale. The reader of a pipe is then usually a file or a
  // chat, which supports UTF-8.
  terminal.utf8 = LocaleIsUtf8(/*if_not_set=*/!terminal.is_terminal);
  winsize size{};
  const char* columns = std::getenv("COLUMNS");
  if (columns != nullptr && std::atoi(columns) > 0) {
    terminal.width = std::atoi(columns);
  } else if (terminal.is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
             size.ws_col > 0) {
    terminal.width = size.ws_col;
  }
  terminal.width = std::clamp(terminal.width, 40, 400);
  return terminal;
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t length = 1;
    const int32_t code = DecodeUtf8(text, at, &length);
    if (code == '\n' || code == '\t' || code == '\r') {
      out += ' ';
    } else if (code < 0 || IsInvisible(code)) {
      out += kReplacementCharacter;
    } else {
      out.append(text.substr(at, length));
    }
    at += length;
  }
  return out;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) {
    size_t length = 1;
    const int32_t code = DecodeUtf8(text, at, &length);
    width += code < 0 ? 1 : Width(code);
    at += length;
  }
  return width;
}

std::string FitLeft(std::string_view text, int width) { return Fit(text, width, false); }
std::string FitRight(std::string_view text, int width) { return Fit(text, width, true); }

}  // namespace xlatrace
