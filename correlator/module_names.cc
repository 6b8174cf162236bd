// SPDX-License-Identifier: Apache-2.0
#include "correlator/module_names.h"

#include <array>

#include "base/text.h"

namespace xlatrace::correlator {
namespace {

// Removes "<separator><digits>" from the end, if a name remains.
std::string_view WithoutNumber(std::string_view name, char separator) {
  size_t end = name.size();
  while (end > 0 && IsDigit(name[end - 1])) --end;
  if (end == name.size() || end < 2 || name[end - 1] != separator) return name;
  return name.substr(0, end - 1);
}

std::string_view WithoutTrailing(std::string_view name, char c) {
  while (!name.empty() && name.back() == c) name.remove_suffix(1);
  return name;
}

}  // namespace

std::string_view WithoutProgramId(std::string_view module_name) {
  if (module_name.empty() || module_name.back() != ')') return module_name;
  size_t open = module_name.size() - 1;
  while (open > 0 && IsDigit(module_name[open - 1])) --open;
  if (open < 2 || open == module_name.size() - 1 || module_name[open - 1] != '(') {
    return module_name;
  }
  return module_name.substr(0, open - 1);
}

std::string_view FrameworkFunction(std::string_view module_name) {
  std::string_view name = WithoutNumber(WithoutProgramId(module_name), '.');
  // tf.function: "__inference_NAME_ID", after sanitising by the builder.
  for (const std::string_view prefix : {"a_inference_", "__inference_"}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (const size_t attributes = name.find("__XlaMustCompile");
        attributes != std::string_view::npos) {
      name = name.substr(0, attributes);
    }
    return WithoutNumber(WithoutTrailing(name, '_'), '_');
  }
  if (name.starts_with("cluster_")) {
    size_t end = std::string_view("cluster_").size();
    while (end < name.size() && IsDigit(name[end])) ++end;
    return name.substr(0, end);
  }
  static constexpr auto kTransforms =
      std::to_array<std::string_view>({"jit", "pjit", "pmap", "xla_computation"});
  for (const std::string_view transform : kTransforms) {
    if (!name.starts_with(transform) || name.size() <= transform.size() + 1) continue;
    const std::string_view rest = name.substr(transform.size());
    if (rest.front() == '_') return rest.substr(1);
    if (rest.front() == '(' && rest.back() == ')') return rest.substr(1, rest.size() - 2);
  }
  return WithoutTrailing(name, '_').empty() ? name : WithoutTrailing(name, '_');
}

}  // namespace xlatrace::correlator
