// SPDX-License-Identifier: Apache-2.0
#include "tools/mcp_answer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/terminal.h"

namespace xlatrace::tools {
namespace {

// Texts kept for later pages. An agent reads one text at a time, and a text has at most 1 MiB.
constexpr size_t kMaxKeptTexts = 32;
constexpr size_t kMaxHeadBytes = 400;

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

size_t CharacterStart(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && ContinuesCharacter(text[at])) --at;
  return at;
}

// The end of the longest part of `text` from `at` that takes at most `max_bytes` as JSON. The part
// ends with a line if at least half of it would remain.
size_t PageEnd(std::string_view text, size_t at, size_t max_bytes) {
  size_t bytes = 0;
  size_t end = at;
  while (end < text.size()) {
    const size_t more = JsonTextBytes(text.substr(end, 1));
    if (bytes + more > max_bytes) break;
    bytes += more;
    ++end;
  }
  if (end == text.size()) return end;
  const size_t line = text.rfind('\n', end - 1);
  if (line != text.npos && line > at + (end - at) / 2) return line + 1;
  return std::max(CharacterStart(text, end), at);
}

}  // namespace

McpAnswer ErrorAnswer(std::string_view reason, std::string data) {
  return {fmt::format("cannot answer, because {}", reason), std::move(data)};
}

size_t JsonTextBytes(std::string_view text) {
  size_t bytes = 0;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r' || c == '\b' || c == '\f') {
      bytes += 2;
    } else {
      bytes += code < 0x20 ? 6 : 1;
    }
  }
  return bytes;
}

std::string CleanLines(std::string_view text) {
  std::string out;
  bool empty_before = true;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = Printable(text.substr(at, end - at));
    line.erase(line.find_last_not_of(' ') + 1);
    at = end + 1;
    if (line.empty() && empty_before) continue;
    empty_before = line.empty();
    out += line + "\n";
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::string McpPages::First(const McpAnswer& answer) {
  McpAnswer clean = {CleanLines(answer.head), CleanLines(answer.data)};
  if (clean.head.size() > kMaxHeadBytes) {
    clean.head.resize(CharacterStart(clean.head, kMaxHeadBytes));
    clean.head += "..";
  }
  const int64_t number = next_number_;
  std::string page = Page(clean, 0, number);
  if (page.find(fmt::format("\"c{}.", number)) != page.npos) {
    ++next_number_;
    kept_.push_back({number, std::move(clean)});
    if (kept_.size() > kMaxKeptTexts) kept_.pop_front();
  }
  return page;
}

std::optional<std::string> McpPages::Next(std::string_view handle) const {
  int64_t number = 0;
  size_t at = 0;
  const char* const end = handle.data() + handle.size();
  if (!handle.starts_with('c')) return std::nullopt;
  const auto first = std::from_chars(handle.data() + 1, end, number);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, at);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  for (const Kept& kept : kept_) {
    if (kept.number != number) continue;
    if (at >= kept.answer.data.size()) return std::nullopt;
    return Page(kept.answer, CharacterStart(kept.answer.data, at), number);
  }
  return std::nullopt;
}

std::string McpPages::Page(const McpAnswer& answer, size_t at, int64_t number) const {
  const std::string& data = answer.data;
  if (data.empty()) return answer.head;
  const std::string begin =
      fmt::format("{}{}\n{}\n", answer.head, at > 0 ? " (continued)" : "", begin_mark());
  const std::string end = "\n" + end_mark();
  const auto more = [&](size_t next) {
    return fmt::format("\n{} of {} bytes; for more: {{\"continue\":\"c{}.{}\"}}", Thousands(next),
                       Thousands(static_cast<int64_t>(data.size())), number, next);
  };
  const size_t frame = JsonTextBytes(begin) + JsonTextBytes(end);
  if (frame + JsonTextBytes(std::string_view(data).substr(at)) <= max_bytes_) {
    return begin + data.substr(at) + end;
  }
  const size_t next = PageEnd(data, at, max_bytes_ - frame - JsonTextBytes(more(data.size())));
  std::string part = data.substr(at, next - at);
  while (!part.empty() && part.back() == '\n') part.pop_back();
  return begin + part + end + more(next);
}

}  // namespace xlatrace::tools
