// SPDX-License-Identifier: Apache-2.0
#include "analysis/op_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/text.h"
#include "model/joined_names.h"

namespace xlatrace::analysis {
namespace {

// Deeper nesting than any transform stack; bounds the recursion on hostile names.
constexpr int kMaxNameDepth = 32;
// Longer paths are cut, which bounds the cost of walks over paths.
constexpr size_t kMaxScopes = 100;

struct Wrapper {
  std::string_view name;
  std::string_view inner;
};

bool IsIdentifier(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

// `jvp(LM)` -> {jvp, LM}; nullopt for anything but NAME(...).
std::optional<Wrapper> ReadWrapper(std::string_view component) {
  const size_t open = component.find('(');
  if (open == std::string_view::npos || component.back() != ')') return std::nullopt;
  const std::string_view name = component.substr(0, open);
  if (!IsIdentifier(name)) return std::nullopt;
  return Wrapper{name, component.substr(open + 1, component.size() - open - 2)};
}

bool IsCall(std::string_view name) {
  return name == "jit" || name == "pjit" || name == "pmap" || name == "xla_pmap" ||
         name == "xla_call";
}

bool IsTransform(std::string_view name) {
  return name == "jvp" || name == "transpose" || name == "vmap" || name == "remat" ||
         name == "checkpoint" || name == "custom_jvp" || name == "custom_vjp";
}

// `stem`, `stem_3`.
bool IsNumbered(std::string_view component, std::string_view stem) {
  if (!component.starts_with(stem)) return false;
  component.remove_prefix(stem.size());
  if (component.empty()) return true;
  component.remove_prefix(1);
  return !component.empty() && std::all_of(component.begin(), component.end(),
                                           [](char c) { return c >= '0' && c <= '9'; });
}

// Components that a call or control flow puts into the path and that are no layer.
bool IsPlumbing(std::string_view component) {
  static constexpr std::array<std::string_view, 14> kWords = {"closed_call",
                                                              "core_call",
                                                              "custom_jvp_call",
                                                              "custom_vjp_call",
                                                              "custom_jvp_call_jaxpr",
                                                              "custom_lin",
                                                              "pjit",
                                                              "shard_map",
                                                              "xla_call",
                                                              "named_call",
                                                              "custom_vjp_call_jaxpr",
                                                              "while_body",
                                                              "while_cond",
                                                              "remat2"};
  // JAX 0.10 puts the Python function that first traced a shared one (random keys above all) into
  // the path, by its qualified name: `jit(_threefry_split)/make.<locals>.step/while`.
  return component.find("<locals>") != std::string_view::npos ||
         std::find(kWords.begin(), kWords.end(), component) != kWords.end();
}

bool IsBranch(std::string_view component) {
  return component.starts_with("branch_") && component.ends_with("_fun");
}

// Turns the pieces of a path into an OpName.
class Reader {
 public:
  explicit Reader(OpName& name) : name_(name) {}

  // A whole path; the last component is the leaf when `has_leaf`.
  void Path(std::string_view path, bool has_leaf, int depth) {
    const std::vector<std::string_view> components = SplitTopLevel(path, '/');
    for (size_t i = 0; i < components.size(); ++i) {
      const bool last = i + 1 == components.size();
      const std::string_view next = last ? std::string_view() : components[i + 1];
      if (has_leaf && last && !ReadTransform(components[i])) {
        Leaf(components[i]);
      } else {
        Component(components[i], next, depth);
      }
    }
  }

 private:
  static bool ReadTransform(std::string_view component) {
    const auto wrapper = ReadWrapper(component);
    return wrapper && (IsTransform(wrapper->name) || IsCall(wrapper->name));
  }

  void Leaf(std::string_view component) {
    name_.leaf = component.substr(0, component.find('['));
    if (name_.leaf == "rematted_computation") name_.rematted = true;
    if (name_.leaf == "checkpoint") name_.checkpoint = true;
    if (name_.leaf.ends_with("_grad")) name_.grad_component = true;
  }

  void Component(std::string_view component, std::string_view next, int depth) {
    const std::string_view previous = previous_;
    previous_ = component;
    if (component.empty()) return;
    if (const auto wrapper = ReadWrapper(component); wrapper && depth < kMaxNameDepth) {
      if (IsCall(wrapper->name)) return Call(wrapper->inner);
      if (IsTransform(wrapper->name)) {
        if (wrapper->name == "jvp") {
          name_.jvp = true;
          name_.loop = false;  // A loop over steps; one over layers is met inside.
        }
        name_.transpose |= wrapper->name == "transpose";
        name_.vmap |= wrapper->name == "vmap";
        name_.remat |= wrapper->name == "remat";
        name_.checkpoint |= wrapper->name == "checkpoint";
        if (!wrapper->inner.empty()) Path(wrapper->inner, false, depth + 1);
        return;
      }
    }
    if (component.find("->") != std::string_view::npos) {
      name_.einsum = true;
    } else if (component == "remat") {
      name_.remat = true;
    } else if (component == "checkpoint") {
      name_.checkpoint = true;
    } else if (component == "rematted_computation") {
      name_.rematted = true;
    } else if (component == "gradient_tape") {
      name_.gradient = true;
    } else if (IsNumbered(component, "gradients")) {
      // The path starts again after it; the inner one is the more precise.
      name_.gradient = true;
      if (!next.empty()) outer_scopes_ = std::exchange(name_.scopes, {});
    } else if (IsBranch(component)) {
      // `jvp(cond)/branch_0_fun`: the apparent scope was the conditional.
      if (previous == "cond" && !name_.scopes.empty() && name_.scopes.back() == "cond") {
        name_.scopes.pop_back();
      }
    } else if (IsPlumbing(component)) {
      return;
    } else if (IsNumbered(component, "while")) {
      name_.loop = true;
    } else if (IsNumbered(component, "cond") && (IsBranch(next) || name_.kind == kTfLike)) {
      return;
    } else if (IsNumbered(previous, "while") &&
               (component == "body" || component == "cond" || component == "body_pred")) {
      return;
    } else {
      Scope(component);
    }
  }

  void Scope(std::string_view component) {
    if (component.size() > 5 && component.ends_with("_grad")) {
      // `matmul_grad`: the forward op whose gradient this is; it ends the layer.
      name_.grad_component = true;
      component.remove_suffix(5);
    }
    if (name_.scopes.size() < kMaxScopes) name_.scopes.emplace_back(component);
  }

  void Call(std::string_view function) {
    if (function == "main") {
      name_.jit_main = true;
    } else {
      name_.functions.emplace_back(function);
    }
  }

  static constexpr OpName::Kind kTfLike = OpName::Kind::kPath;

  OpName& name_;
  std::string_view previous_;

 public:
  std::vector<std::string> outer_scopes_;  // Before `gradients/`; used when nothing follows.
};

// `a a` -> `a`, `a b a b` -> `a b`: method scopes and re-entered scopes print twice.
void CollapseRepeats(std::vector<std::string>& scopes) {
  for (size_t length = 1; 2 * length <= scopes.size(); ++length) {
    for (size_t i = 0; i + 2 * length <= scopes.size();) {
      const auto first = scopes.begin() + static_cast<ptrdiff_t>(i);
      const auto second = first + static_cast<ptrdiff_t>(length);
      const auto end = second + static_cast<ptrdiff_t>(length);
      if (std::equal(first, second, second, end)) {
        scopes.erase(second, end);
      } else {
        ++i;
      }
    }
  }
}

bool LooksLikeArgument(std::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == std::string_view::npos) return false;
  // Primitive parameters are KEY=VALUE; tree paths are indices and quoted keys.
  if (text.find('=', bracket) != std::string_view::npos && text.find('\'') == text.npos) {
    return false;
  }
  const char after = bracket + 1 < text.size() ? text[bracket + 1] : '\0';
  return after == '\'' || after == '"' || after == '\\' || (after >= '0' && after <= '9');
}

// Grappler's marks around the node that it rewrote.
std::string_view StripGrappler(std::string_view text) {
  if (text.starts_with("ConstantFolding/")) {
    text.remove_prefix(std::string_view("ConstantFolding/").size());
    if (const size_t at = text.rfind("-matshapes-"); at != text.npos) text = text.substr(0, at);
  }
  if (text.ends_with("/unary_ops_composition")) {
    text.remove_suffix(std::string_view("/unary_ops_composition").size());
  }
  return text;
}

}  // namespace

std::vector<std::string_view> SplitTopLevel(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = '\0';
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
      continue;
    }
    if (depth > 0 && (c == '\'' || c == '"')) quote = c;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (c == separator && depth == 0) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string> PartsOfOpName(std::string_view op_name) {
  const std::string_view first = model::FirstOfJoined(op_name);
  const std::vector<std::string_view> components = SplitTopLevel(first, '/');
  const std::string_view last = components.back();
  if (last.size() > 2 && last.front() == '(' && last.back() == ')') {
    const std::string prefix(first.substr(0, first.size() - last.size()));
    std::vector<std::string> parts;
    for (const std::string_view part : SplitTopLevel(last.substr(1, last.size() - 2), ':')) {
      parts.push_back(prefix + std::string(part));
    }
    return parts;
  }
  return {std::string(first)};
}

OpName ParseOpName(std::string_view op_name) {
  OpName name;
  const std::vector<std::string> parts = PartsOfOpName(op_name);
  name.combined = parts.size() > 1;
  std::string_view text = StripGrappler(parts.front());
  if (const size_t at = text.find('@'); at != text.npos && at > 0) text = text.substr(0, at);
  if (text.empty()) return name;

  const std::vector<std::string_view> components = SplitTopLevel(text, '/');
  const auto root = ReadWrapper(components.front());
  if (root && IsCall(root->name)) {
    name.kind = OpName::Kind::kRooted;
    name.function = root->inner;
    text.remove_prefix(std::min(text.size(), components.front().size() + 1));
    if (text.empty()) return name;
  } else if (components.size() == 1) {
    name.kind = LooksLikeArgument(text) ? OpName::Kind::kArgument : OpName::Kind::kBare;
    if (name.kind == OpName::Kind::kArgument) {
      name.leaf = text;
      return name;
    }
  } else {
    name.kind = OpName::Kind::kPath;
  }
  Reader reader(name);
  reader.Path(text, true, 0);
  if (name.scopes.empty() && name.gradient) name.scopes = std::move(reader.outer_scopes_);
  std::erase_if(name.scopes,
                [](const std::string& scope) { return scope == "ArithmeticOptimizer"; });
  CollapseRepeats(name.scopes);
  return name;
}

bool IsRelative(const OpName& name) {
  return name.kind == OpName::Kind::kBare || name.kind == OpName::Kind::kPath;
}

std::vector<std::string> ArgumentKeys(std::string_view op_name) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < op_name.size(); ++i) {
    const char quote = op_name[i];
    if (quote != '\'' && quote != '"') continue;
    const size_t end = op_name.find(quote, i + 1);
    if (end == op_name.npos) break;
    std::string key(op_name.substr(i + 1, end - i - 1));
    if (key.ends_with('\\')) key.pop_back();  // Text dumps escape the quotes.
    if (!key.empty()) keys.push_back(std::move(key));
    i = end;
  }
  return keys;
}

std::string_view WithoutNumber(std::string_view component) {
  size_t end = component.size();
  while (end > 0 && IsDigit(component[end - 1])) --end;
  if (end == component.size() || end < 2 || component[end - 1] != '_') return component;
  return component.substr(0, end - 1);
}

}  // namespace xlatrace::analysis
