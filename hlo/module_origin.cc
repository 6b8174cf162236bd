// SPDX-License-Identifier: Apache-2.0
#include "hlo/module_origin.h"

#include <algorithm>

namespace xlatrace::hlo {
namespace {

bool AllDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "f.12" -> "f": XlaBuilder appends the id of the entry computation.
std::string_view WithoutId(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && AllDigits(name.substr(dot + 1)) ? name.substr(0, dot)
                                                                          : name;
}

// "step_853__XlaMustCompile_..." -> "step"; other names unchanged.
std::string_view TfFunction(std::string_view name) {
  const size_t end = name.find("__Xla");
  std::string_view function = name.substr(0, end);
  while (function.ends_with('_')) function.remove_suffix(1);
  const size_t underscore = function.rfind('_');
  if (underscore != std::string_view::npos && underscore > 0 &&
      AllDigits(function.substr(underscore + 1))) {
    function = function.substr(0, underscore);
  }
  return function;
}

}  // namespace

std::string ModuleOrigin::Text() const {
  if (how.empty() || how == "cluster") return function;
  return std::string(how) + " " + function;
}

ModuleOrigin OriginOfModule(std::string_view module_name) {
  const std::string_view name = WithoutId(module_name);
  for (const std::string_view prefix : {"a_inference_", "__inference_"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) {
      return {"tf.function", std::string(TfFunction(name.substr(prefix.size())))};
    }
  }
  if (name.starts_with("cluster_")) {
    const size_t end = name.find("__", 8);
    const std::string_view cluster = name.substr(0, end);
    if (cluster.size() > 8 && cluster[8] >= '0' && cluster[8] <= '9') {
      return {"cluster", std::string(cluster)};
    }
  }
  for (const std::string_view how : {"pjit", "jit", "pmap", "xla_computation"}) {
    if (!name.starts_with(how) || name.size() <= how.size() + 1) continue;
    const char next = name[how.size()];
    if (next != '_' && next != '(') continue;
    std::string_view function = name.substr(how.size() + 1);
    if (next == '(' && function.ends_with(')')) function.remove_suffix(1);
    if (!function.empty()) return {how, std::string(function)};
  }
  if (name.starts_with("SyncTensorsGraph") || name.starts_with("IrToHlo")) {
    return {"torch_xla", std::string(name)};
  }
  return {"", std::string(name.empty() ? module_name : name)};
}

}  // namespace xlatrace::hlo
