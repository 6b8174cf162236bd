// SPDX-License-Identifier: Apache-2.0
#include "report/show/shape_words.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace xlatrace::report {
namespace {

constexpr size_t kMaxWrittenShapeCount = 8;
constexpr size_t kMaxShapeKindCount = 6;
constexpr int kMaxTupleDepth = 16;

// The elements of "(a, b)"; empty if the text is no tuple, or if its brackets do not match.
std::vector<std::string_view> ElementsOf(std::string_view shape) {
  if (shape.size() < 2 || shape.front() != '(' || shape.back() != ')') return {};
  std::vector<std::string_view> elements;
  const std::string_view inside = shape.substr(1, shape.size() - 2);
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= inside.size(); ++i) {
    const char c = i < inside.size() ? inside[i] : ',';
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth < 0) return {};
    if (c != ',' || depth > 0) continue;
    std::string_view element = inside.substr(begin, i - begin);
    while (element.starts_with(' ')) element.remove_prefix(1);
    elements.push_back(element);
    begin = i + 1;
  }
  return depth == 0 ? elements : std::vector<std::string_view>();
}

std::string Short(std::string_view shape, int depth) {
  const std::vector<std::string_view> elements = ElementsOf(shape);
  if (elements.empty() || depth > kMaxTupleDepth) return std::string(shape);
  if (elements.size() <= kMaxWrittenShapeCount) {
    std::string text = "(";
    for (size_t i = 0; i < elements.size(); ++i) {
      text += (i == 0 ? "" : ", ") + Short(elements[i], depth + 1);
    }
    return text + ")";
  }
  std::vector<std::pair<std::string_view, size_t>> kinds;
  for (const std::string_view element : elements) {
    const auto known = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const auto& kind) { return kind.first == element; });
    if (known != kinds.end()) {
      ++known->second;
    } else {
      kinds.emplace_back(element, 1);
    }
  }
  std::string text = fmt::format("tuple of {}: ", elements.size());
  for (size_t k = 0; k < std::min(kinds.size(), kMaxShapeKindCount); ++k) {
    if (k > 0) text += ", ";
    if (kinds[k].second > 1) text += fmt::format("{} x ", kinds[k].second);
    text += Short(kinds[k].first, depth + 1);
  }
  if (kinds.size() > kMaxShapeKindCount) {
    text += fmt::format(" and {} other shape{}", kinds.size() - kMaxShapeKindCount,
                        kinds.size() == kMaxShapeKindCount + 1 ? "" : "s");
  }
  return depth == 0 ? text : "(" + text + ")";
}

}  // namespace

std::string ShortShape(std::string_view shape) { return Short(shape, 0); }

}  // namespace xlatrace::report
