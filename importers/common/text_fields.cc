// SPDX-License-Identifier: Apache-2.0
#include "importers/common/text_fields.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <memory>

namespace xlatrace::importers {
namespace {

std::string Demangle(const std::string& symbol) {
  // Longer names are machine-made templates; the demangler's time grows with their nesting.
  constexpr size_t kMaxMangled = 16384;
  if (symbol.size() > kMaxMangled) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : symbol;
}

// How deep in template arguments a C++ name is, character by character. Between parentheses there
// "<" and ">" compare: std::enable_if<((8)>(0)), void>.
struct TemplateDepth {
  int depth = 0;
  int parentheses = 0;

  void Take(char c) {
    if (depth > 0 && c == '(') ++parentheses;
    if (parentheses > 0 && c == ')') --parentheses;
    if (parentheses > 0) return;
    if (c == '<') ++depth;
    if (c == '>' && depth > 0) --depth;
  }
};

// Position of the parenthesis that opens the parameter list, at template depth 0; npos if none.
// "(anonymous namespace)" and "operator()" are parts of the name.
size_t ParameterList(std::string_view text) {
  TemplateDepth in;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '(' || in.depth > 0) {
      in.Take(text[i]);
      continue;
    }
    if (text.substr(i).starts_with("(anonymous namespace)")) {
      i += 20;
    } else if (text.substr(0, i).ends_with("operator")) {
      i += 1;
    } else {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<int64_t> ParseInt(std::string_view text) {
  const char* const end = text.data() + text.size();
  int64_t value = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, value);
      error == std::errc() && rest == end && !text.empty()) {
    return value;
  }
  uint64_t bits = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, bits);
      error == std::errc() && rest == end && !text.empty()) {
    return static_cast<int64_t>(bits);
  }
  return std::nullopt;
}

std::optional<int64_t> ParseMilli(std::string_view text) {
  const size_t dot = text.find('.');
  const std::optional<int64_t> whole = ParseInt(text.substr(0, dot));
  if (!whole || *whole < 0 || *whole > INT64_MAX / 1000 - 1) return std::nullopt;
  int64_t milli = *whole * 1000;
  if (dot == std::string_view::npos) return milli;
  int64_t unit = 100;
  for (const char c : text.substr(dot + 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    milli += unit * (c - '0');
    unit /= 10;
  }
  return milli;
}

std::string_view DetailField(std::string_view details, std::string_view key) {
  size_t start = 0;
  while (start < details.size()) {
    size_t end = details.find_first_of(" \n", start);
    if (end == std::string_view::npos) end = details.size();
    const std::string_view token = details.substr(start, end - start);
    if (token.size() > key.size() && token[key.size()] == ':' && token.starts_with(key)) {
      return token.substr(key.size() + 1);
    }
    start = end + 1;
  }
  return {};
}

bool ParseTriple(std::string_view text, std::optional<int64_t> out[3]) {
  std::optional<int64_t> parts[3];
  for (int i = 0; i < 3; ++i) {
    const size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (i == 2)) return false;
    parts[i] = ParseInt(text.substr(0, comma));
    if (!parts[i]) return false;
    if (i < 2) text.remove_prefix(comma + 1);
  }
  for (int i = 0; i < 3; ++i) out[i] = parts[i];
  return true;
}

NameAndId SplitTrailingId(std::string_view text) {
  const size_t open = text.rfind('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return {text, std::nullopt};
  const std::optional<int64_t> id = ParseInt(text.substr(open + 1, text.size() - open - 2));
  if (!id) return {text, std::nullopt};
  return {text.substr(0, open), id};
}

std::string_view HloLineOf(std::string_view name) {
  if (!name.starts_with('%') || name.find(" = ") == std::string_view::npos) return {};
  return name.substr(1);
}

FileAndLine SplitFileLine(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text, std::nullopt};
  const std::optional<int64_t> line = ParseInt(text.substr(colon + 1));
  if (!line || *line < 0) return {text, std::nullopt};
  return {text.substr(0, colon), *line == 0 ? std::nullopt : line};
}

std::string ShortKernelName(const std::string& symbol) {
  std::string_view bare = symbol;
  if (bare.ends_with(".kd")) bare.remove_suffix(3);
  const bool mangled = bare.starts_with("_Z");
  if (!mangled && bare.find_first_of("(<") == std::string_view::npos) return std::string(bare);
  const std::string full = mangled ? Demangle(std::string(bare)) : std::string(bare);
  std::string_view text = full;
  const size_t parameters = ParameterList(text);
  if (parameters != std::string_view::npos) text = text.substr(0, parameters);
  // The remaining text is "[return type ]scope::name[<arguments>]". Drops the arguments, then the
  // text before the last blank outside of them.
  std::string name;
  TemplateDepth in;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool was_outside = in.depth == 0;
    in.Take(text[i]);
    if (!was_outside || in.depth > 0) continue;
    if (text[i] == ' ' && !text.substr(0, i).ends_with("(anonymous")) {
      name.clear();
    } else {
      name += text[i];
    }
  }
  return name.empty() ? full : name;
}

}  // namespace xlatrace::importers
