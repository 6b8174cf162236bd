// SPDX-License-Identifier: Apache-2.0
#include "tools/json_line.h"

#include <fmt/format.h>

namespace xlatrace::tools {
namespace {

// Bytes of the UTF-8 sequence at the start of `text`; 0 when there is none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first < 0xE0   ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;   // Overlong.
  if (first == 0xED && byte(1) >= 0xA0) return 0;  // Surrogate.
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) >= 0x90) return 0;
  return length;
}

}  // namespace

void AppendJsonText(std::string_view text, std::string& out) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
      ++i;
    } else if (c == '\n') {
      out += "\\n";
      ++i;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      ++i;
    } else if (static_cast<unsigned char>(c) < 0x80) {
      out += c;
      ++i;
    } else if (const size_t length = Utf8Length(text.substr(i)); length > 0) {
      out += text.substr(i, length);
      i += length;
    } else {
      out += "\xEF\xBF\xBD";
      ++i;
    }
  }
  out += '"';
}

void JsonLine::Key(std::string_view key) {
  if (!first_) out_ += ',';
  first_ = false;
  out_ += '"';
  out_ += key;  // Ours: nothing to escape.
  out_ += "\":";
}

JsonLine& JsonLine::Text(std::string_view key, std::string_view value) {
  Key(key);
  AppendJsonText(value, out_);
  return *this;
}

JsonLine& JsonLine::TextOrNull(std::string_view key, std::string_view value) {
  if (!value.empty()) return Text(key, value);
  Key(key);
  out_ += "null";
  return *this;
}

JsonLine& JsonLine::Int(std::string_view key, int64_t value) {
  Key(key);
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonLine& JsonLine::IntOrNull(std::string_view key, std::optional<int64_t> value) {
  if (value) return Int(key, *value);
  Key(key);
  out_ += "null";
  return *this;
}

JsonLine& JsonLine::Bool(std::string_view key, bool value) {
  Key(key);
  out_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::Begin(std::string_view key) {
  Key(key);
  out_ += '{';
  first_ = true;
  return *this;
}

JsonLine& JsonLine::End() {
  out_ += '}';
  first_ = false;
  return *this;
}

JsonLine& JsonLine::Texts(std::string_view key, std::span<const std::string_view> values) {
  BeginArray(key);
  for (const std::string_view value : values) {
    if (!first_) out_ += ',';
    first_ = false;
    AppendJsonText(value, out_);
  }
  return EndArray();
}

JsonLine& JsonLine::BeginArray(std::string_view key) {
  Key(key);
  out_ += '[';
  first_ = true;
  return *this;
}

JsonLine& JsonLine::BeginItem() {
  if (!first_) out_ += ',';
  out_ += '{';
  first_ = true;
  return *this;
}

JsonLine& JsonLine::EndArray() {
  out_ += ']';
  first_ = false;
  return *this;
}

void JsonLine::Close() { out_ += "}\n"; }

}  // namespace xlatrace::tools
