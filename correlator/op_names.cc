// SPDX-License-Identifier: Apache-2.0
#include "correlator/op_names.h"

#include <cstddef>

#include "model/joined_names.h"

namespace xlatrace::correlator {
namespace {

// Position of the first `separator` outside brackets, or npos.
size_t FindOutside(std::string_view text, char separator) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == separator && depth <= 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view FirstOpName(std::string_view op_name) { return model::FirstOfJoined(op_name); }

std::vector<std::string> CombinedOpNames(std::string_view op_name) {
  if (!op_name.ends_with(')')) return {};
  size_t open = op_name.size();
  int depth = 0;
  while (open > 0) {
    --open;
    if (op_name[open] == ')') ++depth;
    if (op_name[open] == '(' && --depth == 0) break;
  }
  // The bracket of a transform follows its name ("jvp(layer)"), that of a combination a slash.
  if (depth != 0 || open == 0 || op_name[open - 1] != '/') return {};
  const std::string_view prefix = op_name.substr(0, open);
  std::string_view rest = op_name.substr(open + 1, op_name.size() - open - 2);
  std::vector<std::string> names;
  while (true) {
    const size_t end = FindOutside(rest, ':');
    const std::string_view name = rest.substr(0, end);
    if (name.empty()) return {};
    names.emplace_back(prefix).append(name);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (names.size() < 2) return {};
  return names;
}

}  // namespace xlatrace::correlator
