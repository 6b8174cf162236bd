// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/text_scanner.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::hlo {
namespace {

using text_class::Is;
using text_class::kBlank;
using text_class::kEndsAtom;
using text_class::kPart;

}  // namespace

void TextScanner::SkipBlank() {
  while (at_ < end_) {
    if (Is(*at_, kBlank)) {
      ++at_;
    } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '/') {
      const void* newline = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
      at_ = newline == nullptr ? end_ : static_cast<const char*>(newline);
    } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '*') {
      const std::string_view rest(at_, static_cast<size_t>(end_ - at_));
      const size_t close = rest.find("*/", 2);
      if (close == std::string_view::npos) {
        Fail(at_, "unterminated comment");
        return;
      }
      at_ += close + 2;
    } else {
      return;
    }
  }
}

bool TextScanner::TryText(std::string_view text) {
  Peek();
  if (static_cast<size_t>(end_ - at_) < text.size()) return false;
  if (std::memcmp(at_, text.data(), text.size()) != 0) return false;
  at_ += text.size();
  return true;
}

bool TextScanner::TryLongWord(std::string_view word) {
  const char* const before = at_;
  if (!TryText(word)) return false;
  if (at_ < end_ && IsIdentifierChar(*at_)) {
    at_ = before;
    return false;
  }
  return true;
}

bool TextScanner::ExpectedChar(char c, std::string_view where) {
  if (failed_) return false;
  return Fail(at_, fmt::format("expected '{}' {}, found {}", c, where, TokenAt(at_)));
}

bool TextScanner::ExpectText(std::string_view text, std::string_view where) {
  if (failed_) return false;
  if (TryText(text)) return true;
  return Fail(at_, fmt::format("expected '{}' {}, found {}", text, where, TokenAt(at_)));
}

std::string_view TextScanner::Name(std::string_view what) {
  const bool percent = Peek() == '%';
  if (percent) ++at_;
  if (at_ < end_ && IsIdentifierStart(*at_)) {  // No blank behind '%'.
    const char* const start = at_;
    while (at_ < end_ && IsIdentifierChar(*at_)) ++at_;
    return Since(start);
  }
  if (percent) --at_;
  FailHere(fmt::format("expected {}, found {}", what, TokenAt(at_)));
  return {};
}

bool TextScanner::LongInt(int64_t* value, std::string_view what) {
  Peek();
  const auto [end, error] = std::from_chars(at_, end_, *value);
  if (error == std::errc::invalid_argument) {
    return FailHere(fmt::format("expected {}, found {}", what, TokenAt(at_)));
  }
  if (error == std::errc::result_out_of_range) {
    return FailHere(fmt::format("{} {} is out of range", what, TokenAt(at_)));
  }
  at_ = end;
  return true;
}

bool TextScanner::String(std::string_view* raw) {
  const char quote = Peek();
  if (quote != '"' && quote != '\'') {
    return FailHere(fmt::format("expected a string, found {}", TokenAt(at_)));
  }
  const char* const open = at_++;
  while (true) {
    const auto left = static_cast<size_t>(end_ - at_);
    const auto* const close = static_cast<const char*>(std::memchr(at_, quote, left));
    if (close == nullptr) {
      at_ = end_;
      return Fail(open, "unterminated string");
    }
    const auto* const escape =
        static_cast<const char*>(std::memchr(at_, '\\', static_cast<size_t>(close - at_)));
    if (escape == nullptr) {
      at_ = close;
      break;
    }
    at_ = std::min(escape + 2, end_);
  }
  *raw = Since(open + 1);
  ++at_;
  return true;
}

bool TextScanner::Balanced(std::string_view* raw) {
  const char* const start = at_;
  const char open = *start;
  const char close = open == '(' ? ')' : open == '[' ? ']' : '}';
  int64_t depth = 0;
  while (at_ < end_) {
    const char c = *at_++;
    if (c == open) {
      ++depth;
    } else if (c == close) {
      if (--depth == 0) {
        *raw = Since(start);
        return true;
      }
    } else if (c == '"') {
      --at_;
      std::string_view ignored;
      if (!String(&ignored)) return false;
    }
  }
  return Fail(start, fmt::format("unbalanced '{}'", open));
}

bool TextScanner::Value(std::string_view* raw) {
  Peek();
  const char* const start = at_;
  std::string_view ignored;
  while (!failed_ && at_ < end_) {
    const char c = *at_;
    if (c == '{' || c == '[' || c == '(') {
      if (!Balanced(&ignored)) return false;
    } else if (c == '"') {
      if (!String(&ignored)) return false;
    } else if (!Is(c, kEndsAtom)) {
      ++at_;
    } else if (Is(c, kBlank) && at_ > start) {
      // "mesh['x'=2] {'y'}" and "[2,4] <= [8]" go on behind the blank; anything else does not.
      const char* const before = at_;
      const char next = Peek();
      const bool goes_on = next == '{' || next == '[' || (next == '<' && Look(1) == '=');
      if (!goes_on) {
        at_ = before;
        break;
      }
    } else {
      break;
    }
  }
  if (failed_) return false;
  if (at_ == start) {
    return FailHere(fmt::format("expected a value, found {}", TokenAt(at_)));
  }
  *raw = Since(start);
  return true;
}

bool TextScanner::Fail(const char* where, std::string message) {
  if (!failed_) {
    failed_ = true;
    failed_at_ = where;
    message_ = std::move(message);
    at_ = end_;
  }
  return false;
}

Error TextScanner::error() const {
  return Error{fmt::format("{}: {}", Location(failed_at_), message_), {}, ErrorCode::kFailed};
}

std::string TextScanner::TokenAt(const char* where) const {
  if (where >= end_) return "the end of the text";
  const char* to = where;
  constexpr ptrdiff_t kMaxToken = 40;
  if (*to == '%') ++to;
  while (to < end_ && to - where < kMaxToken && Is(*to, kPart)) ++to;
  if (to == where) ++to;
  std::string token(where, to);
  for (char& c : token) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return fmt::format("'{}'", token);
}

std::string TextScanner::Location(const char* where) const {
  const auto line = std::count(begin_, where, '\n') + 1;
  const char* start = where;
  while (start > begin_ && start[-1] != '\n') --start;
  return fmt::format("{}:{}", line, where - start + 1);
}

std::string Unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
  };
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    const bool hex = c == 'x' || c == 'X';
    if (hex || digit(c) < 8) {
      const int base = hex ? 16 : 8;
      const size_t start = hex ? i + 1 : i;
      const size_t limit = start + (hex ? 2 : 3);
      int value = 0;
      size_t at = start;
      for (; at < raw.size() && at < limit && digit(raw[at]) < base; ++at) {
        value = value * base + digit(raw[at]);
      }
      if (at > start) {
        out += static_cast<char>(value);
        i = at - 1;
        continue;
      }
    }
    switch (c) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'v':
        out += '\v';
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace xlatrace::hlo
