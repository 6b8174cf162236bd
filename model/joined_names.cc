// SPDX-License-Identifier: Apache-2.0
#include "model/joined_names.h"

#include <algorithm>
#include <cstddef>

namespace xlatrace::model {
namespace {

// Words without brackets that JAX and XLA themselves put into a path.
constexpr std::string_view kWords[] = {"while",
                                       "body",
                                       "cond",
                                       "scan",
                                       "shard_map",
                                       "checkpoint",
                                       "remat",
                                       "rematted_computation",
                                       "pjit",
                                       "closed_call",
                                       "core_call",
                                       "custom_jvp_call",
                                       "custom_vjp_call",
                                       "branch"};

// End of the component or joined name that begins at `from`: the next '/' or ';' outside brackets.
size_t EndOfComponent(std::string_view text, size_t from) {
  int depth = 0;
  for (size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (depth == 0 && (c == '/' || c == ';')) return i;
  }
  return text.size();
}

bool HasComponent(std::string_view path, std::string_view component) {
  for (size_t at = 0; at <= path.size();) {
    const size_t end = EndOfComponent(path, at);
    if (path.substr(at, end - at) == component) return true;
    at = end + 1;
  }
  return false;
}

// True if the ';' at `at` belongs to the name of a scope.
bool InScope(std::string_view op_name, size_t at) {
  const size_t end = EndOfComponent(op_name, at + 1);
  if (end >= op_name.size() || op_name[end] != '/') return false;
  const std::string_view next = op_name.substr(at + 1, end - at - 1);
  const std::string_view before = op_name.substr(0, at);
  if (next.empty() || next.find('(') != std::string_view::npos) return false;
  if (before.find('/') == std::string_view::npos) return false;
  const bool word = std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view known) {
    return next == known || (known == "branch" && next.starts_with("branch_"));
  });
  return !word && !HasComponent(before, next);
}

}  // namespace

std::string_view FirstOfJoined(std::string_view op_name) {
  for (size_t at = EndOfComponent(op_name, 0); at < op_name.size();
       at = EndOfComponent(op_name, at + 1)) {
    if (op_name[at] == ';' && at > 0 && !InScope(op_name, at)) return op_name.substr(0, at);
  }
  return op_name;
}

}  // namespace xlatrace::model
