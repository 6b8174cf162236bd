// SPDX-License-Identifier: Apache-2.0
#include "importers/common/annotation.h"

namespace xlatrace::importers {
namespace {

// Length of "identifier" when `text` starts with "identifier="; 0 otherwise.
size_t KeyLength(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && ((text[size] >= 'a' && text[size] <= 'z') || text[size] == '_' ||
                                (size > 0 && text[size] >= '0' && text[size] <= '9'))) {
    ++size;
  }
  return size < text.size() && text[size] == '=' ? size : 0;
}

bool Balanced(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth < 0) return false;
  }
  return depth == 0;
}

}  // namespace

std::string_view Annotation::Get(std::string_view key) const {
  for (auto it = fields.rbegin(); it != fields.rend(); ++it) {
    if (it->first == key) return it->second;
  }
  return {};
}

Annotation ParseAnnotation(std::string_view text) {
  Annotation annotation;
  const size_t hash = text.find('#');
  annotation.title = text.substr(0, hash);
  if (hash == std::string_view::npos) return annotation;
  std::string_view body = text.substr(hash + 1);
  if (body.ends_with('#')) body.remove_suffix(1);
  // People's names come first, up to the last of the key that XLA puts behind them.
  for (const auto& [lead, next] :
       {std::pair<std::string_view, std::string_view>{"name=", ",hlo_op="},
        {"prefix=", ",hlo_module="}}) {
    const size_t end = body.starts_with(lead) ? body.rfind(next) : std::string_view::npos;
    if (end == std::string_view::npos) continue;
    annotation.fields.emplace_back(lead.substr(0, lead.size() - 1),
                                   body.substr(lead.size(), end - lead.size()));
    body.remove_prefix(end + 1);
    break;
  }
  const bool use_depth = Balanced(body);
  int depth = 0;
  size_t start = 0;
  const auto add = [&](size_t end) {
    const std::string_view field = body.substr(start, end - start);
    const size_t key = KeyLength(field);
    if (key > 0) annotation.fields.emplace_back(field.substr(0, key), field.substr(key + 1));
  };
  for (size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || (use_depth && depth > 0) || KeyLength(body.substr(i + 1)) == 0) continue;
    add(i);
    start = i + 1;
  }
  add(body.size());
  return annotation;
}

}  // namespace xlatrace::importers
