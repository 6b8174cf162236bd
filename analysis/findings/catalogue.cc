// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/catalogue.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/terminal.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr int kMinPlaceColumns = 12;
constexpr int kReadableValueColumns = 16;
constexpr int kMinValueColumns = 8;

// Calls `text` for text between place holders, and `name` for names of place holders.
template <typename OnText, typename OnName>
void Parse(std::string_view pattern, OnText on_text, OnName on_name) {
  while (!pattern.empty()) {
    const size_t open = pattern.find('{');
    const size_t close = open == pattern.npos ? pattern.npos : pattern.find('}', open);
    if (close == pattern.npos) {
      on_text(pattern);
      return;
    }
    on_text(pattern.substr(0, open));
    on_name(pattern.substr(open + 1, close - open - 1));
    pattern.remove_prefix(close + 1);
  }
}

std::string Shortened(const std::string& text, int columns) {
  if (DisplayWidth(text) <= columns) return text;
  constexpr int kDotColumns = 2;
  std::string fitted = FitLeft(text, columns);
  if (fitted.find("..") == fitted.npos) fitted = FitLeft(text, columns - kDotColumns) + "..";
  fitted.erase(fitted.find_last_not_of(' ') + 1);
  return fitted;
}

// The end of a path has the file and the line.
std::string ShortenedPlace(const std::string& place, int columns) {
  constexpr std::string_view kPrefix = " at ..";
  if (!place.starts_with(" at ") || DisplayWidth(place) <= columns) {
    return Shortened(place, columns);
  }
  size_t start = kPrefix.size();
  while (start < place.size() && DisplayWidth(std::string_view(place).substr(start)) >
                                     columns - static_cast<int>(kPrefix.size())) {
    ++start;
  }
  // A character starts with a byte that is not a continuation byte of UTF-8.
  while (start < place.size() && (static_cast<unsigned char>(place[start]) & 0xC0) == 0x80) ++start;
  return std::string(kPrefix) + place.substr(start);
}

// A longer value is shortened first, so that short values stay whole.
void ShortenLongest(std::map<std::string_view, std::string>& values, int excess, int min_columns) {
  while (excess > 0) {
    const auto longest =
        std::max_element(values.begin(), values.end(), [](const auto& a, const auto& b) {
          return DisplayWidth(a.second) < DisplayWidth(b.second);
        });
    if (longest == values.end()) return;
    const int before = DisplayWidth(longest->second);
    if (before <= min_columns) return;
    longest->second = Shortened(longest->second, std::max(before - excess, min_columns));
    const int after = DisplayWidth(longest->second);
    if (after >= before) return;
    excess -= before - after;
  }
}

}  // namespace

FindingTexts TextsOf(std::string_view id, std::string_view variant) {
  const auto find = [](std::string_view key) {
    const auto texts = AllTexts();
    const auto found = std::find_if(texts.begin(), texts.end(),
                                    [&](const FindingTexts& each) { return each.key == key; });
    return found == texts.end() ? FindingTexts{} : *found;
  };
  const FindingTexts kind = find(id);
  if (variant.empty()) return kind;
  FindingTexts texts = find(fmt::format("{}/{}", id, variant));
  if (texts.key.empty()) return kind;
  if (texts.title.empty()) texts.title = kind.title;
  if (texts.check.empty()) texts.check = kind.check;
  if (texts.action.empty()) {
    texts.action = kind.action;
    texts.in_tensorflow = kind.in_tensorflow;
    texts.in_pytorch = kind.in_pytorch;
  }
  return texts;
}

std::string_view ActionOf(const FindingTexts& texts, Framework framework) {
  if (framework == Framework::kTensorFlow && !texts.in_tensorflow.empty()) {
    return texts.in_tensorflow;
  }
  if (framework == Framework::kPyTorch && !texts.in_pytorch.empty()) return texts.in_pytorch;
  return texts.action;
}

std::string Fill(std::string_view pattern, const Values& values) {
  std::string filled;
  Parse(
      pattern, [&](std::string_view text) { filled += text; },
      [&](std::string_view name) {
        const auto value = values.find(name);
        if (value != values.end()) filled += value->second;
      });
  return filled;
}

std::string FillTitle(std::string_view pattern, const Values& values, std::string_view at) {
  std::string place = at.empty() ? "" : " " + std::string(at);
  int fixed = 0;
  bool has_place = false;
  std::map<std::string_view, std::string> used;
  Parse(
      pattern, [&](std::string_view text) { fixed += DisplayWidth(text); },
      [&](std::string_view name) {
        if (name == "at") {
          has_place = true;
        } else if (const auto value = values.find(name); value != values.end()) {
          used[name] = value->second;
        }
      });
  const auto excess = [&] {
    int width = fixed + (has_place ? DisplayWidth(place) : 0);
    for (const auto& [name, value] : used) width += DisplayWidth(value);
    return width - kMaxTitleColumns;
  };
  // The place is more useful than the end of a long name.
  ShortenLongest(used, excess(), kReadableValueColumns);
  if (excess() > 0 && has_place) {
    const int left = DisplayWidth(place) - excess();
    if (used.empty() && left < kMinPlaceColumns) {
      place.clear();
    } else {
      place = ShortenedPlace(place, std::max({left, kMinPlaceColumns, DisplayWidth(place) / 2}));
    }
  }
  ShortenLongest(used, excess(), kMinValueColumns);
  if (excess() > 0) place.clear();
  std::string filled;
  Parse(
      pattern, [&](std::string_view text) { filled += text; },
      [&](std::string_view name) {
        if (name == "at") {
          filled += place;
        } else if (const auto value = used.find(name); value != used.end()) {
          filled += value->second;
        }
      });
  return filled;
}

std::string PlaceInTitle(std::string_view source, std::string_view layer, std::string_view op) {
  if (!source.empty()) {
    return fmt::format("at {}", source.substr(source.find_last_of('/') + 1));
  }
  if (!layer.empty()) return fmt::format("in {}", layer);
  if (!op.empty()) return fmt::format("in {}", op);
  return {};
}

}  // namespace xlatrace::analysis::findings
