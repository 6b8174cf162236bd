// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/hlo_line.h"

#include <algorithm>
#include <charconv>

namespace xlatrace::hlo {
namespace {

using std::string_view;

constexpr string_view kFrameKey = "stack_frame_id=";
constexpr string_view kEquals = " = ";

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

// Past the string that opens at `at`, or the end.
size_t SkipString(string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : text.size();
}

// Past the bracket that opens at `at`; npos when it does not close.
size_t SkipBalanced(string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = SkipString(text, at);
      continue;
    }
    if (c == '(' || c == '{' || c == '[') ++depth;
    if ((c == ')' || c == '}' || c == ']') && --depth == 0) return at + 1;
    ++at;
  }
  return string_view::npos;
}

string_view Trimmed(string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The name in `f32[8]{0} %add.3#1` or `/*index=5*/add.3`.
string_view NameIn(string_view item) {
  item = Trimmed(item.substr(0, item.find('#')));
  size_t start = item.size();
  while (start > 0 && IsNameChar(item[start - 1])) --start;
  return item.substr(start);
}

// Calls `on` for each part between top-level commas.
template <typename On>
void ForItems(string_view list, On on) {
  size_t start = 0;
  for (size_t at = 0; at <= list.size();) {
    if (at == list.size() || list[at] == ',') {
      on(list.substr(start, at - start));
      start = ++at;
    } else if (list[at] == '"') {
      at = SkipString(list, at);
    } else if (list[at] == '(' || list[at] == '{' || list[at] == '[') {
      at = SkipBalanced(list, at);
      if (at == string_view::npos) return;
    } else {
      ++at;
    }
  }
}

// 0 if it is not a number; ids above int64 keep their bits.
int64_t FrameId(string_view text) {
  const char* const end = text.data() + text.size();
  int64_t id = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, id); error == std::errc()) {
    return rest == end ? id : 0;
  }
  uint64_t bits = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, bits);
  return error == std::errc() && rest == end ? static_cast<int64_t>(bits) : 0;
}

std::string Unescaped(string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

bool IsCallKey(string_view key) {
  for (const string_view name :
       {"calls", "to_apply", "body", "condition", "select", "scatter", "true_computation",
        "false_computation", "branch_computations", "called_computations"}) {
    if (key == name) return true;
  }
  return false;
}

void ReadMetadata(string_view body, HloLine* out) {
  for (size_t at = 0; at < body.size();) {
    const size_t equals = body.find('=', at);
    if (equals == string_view::npos) return;
    size_t start = equals;
    while (start > at && IsNameChar(body[start - 1])) --start;
    const string_view key = body.substr(start, equals - start);
    size_t end = equals + 1;
    if (end < body.size() && body[end] == '"') {
      end = SkipString(body, end);
      if (key == "op_name" && end >= equals + 3) {
        out->op_name = Unescaped(body.substr(equals + 2, end - equals - 3));
      }
    } else if (end < body.size() && body[end] == '{') {
      end = SkipBalanced(body, end);
      if (end == string_view::npos) return;
    } else {
      while (end < body.size() && IsNameChar(body[end])) ++end;
      if (key == "stack_frame_id") {
        out->stack_frame_id = FrameId(body.substr(equals + 1, end - equals - 1));
      }
    }
    at = end;
  }
}

HloLine::Role RoleOf(string_view key) {
  if (key == "body") return HloLine::Role::kBody;
  if (key == "condition") return HloLine::Role::kCondition;
  const bool branch =
      key == "true_computation" || key == "false_computation" || key == "branch_computations";
  return branch ? HloLine::Role::kBranch : HloLine::Role::kOther;
}

void ReadAttribute(string_view item, HloLine* out) {
  item = Trimmed(item);
  const size_t equals = item.find('=');
  if (equals == string_view::npos) return;
  const string_view key = item.substr(0, equals);
  string_view value = item.substr(equals + 1);
  const bool list = value.starts_with('{') && value.ends_with('}');
  if (list) value = value.substr(1, value.size() - 2);
  if (key == "metadata" && list) {
    ReadMetadata(value, out);
  } else if (key == "control-predecessors") {
    ForItems(value, [&](string_view name) { out->needs.push_back(NameIn(name)); });
  } else if (IsCallKey(key) && value.find('=') == string_view::npos) {  // Else printed inline.
    const HloLine::Role role = RoleOf(key);
    auto branch = static_cast<uint32_t>(
        std::count_if(out->callees.begin(), out->callees.end(),
                      [](const auto& known) { return known.role == HloLine::Role::kBranch; }));
    ForItems(value, [&](string_view name) {
      if (const string_view callee = NameIn(name); !callee.empty()) {
        out->callees.push_back({callee, role, role == HloLine::Role::kBranch ? branch++ : 0});
      }
    });
  }
}

// Length of the name in `name = ...`; 0 for other text.
size_t NameSize(string_view line) {
  size_t size = 0;
  while (size < line.size() && IsNameChar(line[size])) ++size;
  return line.substr(size).starts_with(kEquals) ? size : 0;
}

// Past the shape at `at`: a tuple, or a word that may hold brackets. npos when it does not end.
size_t ShapeEnd(string_view line, size_t at) {
  while (at < line.size() && line[at] != ' ') {
    const bool opens = line[at] == '(' || line[at] == '[' || line[at] == '{';
    at = opens ? SkipBalanced(line, at) : at + 1;
  }
  return at < line.size() ? at : string_view::npos;
}

// `list` without its last item, which is not whole.
string_view WithoutLastItem(string_view list) {
  size_t end = 0;
  for (size_t at = 0; at < list.size();) {
    if (list[at] == ',') end = at;
    if (list[at] == '"') {
      at = SkipString(list, at);
    } else if (list[at] == '(' || list[at] == '{' || list[at] == '[') {
      at = SkipBalanced(list, at);  // npos ends the loop.
    } else {
      ++at;
    }
  }
  return list.substr(0, end);
}

}  // namespace

std::string RepairedHloLine(string_view line) {
  if (line.ends_with(kCutMark)) line.remove_suffix(kCutMark.size());
  const size_t name = NameSize(line);
  if (name == 0) return {};
  const size_t shape_end = ShapeEnd(line, name + kEquals.size());
  const size_t open = shape_end == string_view::npos ? shape_end : line.find('(', shape_end);
  const size_t close = open == string_view::npos ? open : SkipBalanced(line, open);
  const string_view opcode =
      open == string_view::npos ? "" : Trimmed(line.substr(shape_end, open - shape_end));
  const bool empty = close == string_view::npos && (opcode == "parameter" || opcode == "constant");
  if (open == string_view::npos || empty) {
    // The opcode was truncated. The text needs a definition of the name.
    return std::string(line.substr(0, name)) + " = token[] after-all()";
  }
  if (close == string_view::npos) {
    return std::string(line.substr(0, open + 1)) +
           std::string(WithoutLastItem(line.substr(open + 1))) + ")";
  }
  return std::string(line.substr(0, close)) + std::string(WithoutLastItem(line.substr(close)));
}

std::optional<HloLineParts> SplitHloLine(string_view line) {
  line = Trimmed(line);
  if (line.starts_with("ROOT ")) line.remove_prefix(5);
  if (line.starts_with('%')) line.remove_prefix(1);
  HloLineParts parts;
  parts.name = line.substr(0, NameSize(line));
  if (parts.name.empty()) return std::nullopt;
  const size_t shape = parts.name.size() + kEquals.size();
  const size_t shape_end = ShapeEnd(line, shape);
  if (shape_end >= line.size()) return std::nullopt;
  parts.shape = line.substr(shape, shape_end - shape);
  const size_t open = line.find('(', shape_end + 1);
  if (open == string_view::npos) return std::nullopt;
  parts.opcode = Trimmed(line.substr(shape_end, open - shape_end));
  const size_t close = SkipBalanced(line, open);
  parts.cut = close == string_view::npos;
  if (parts.cut) {
    parts.operands = WithoutLastItem(line.substr(open + 1));
  } else {
    parts.operands = line.substr(open + 1, close - open - 2);
    parts.attributes = line.substr(close);
  }
  return parts;
}

std::vector<string_view> OperandsOf(const HloLineParts& parts) {
  std::vector<string_view> names;
  if (parts.opcode == "constant" || parts.opcode == "parameter") return names;
  ForItems(parts.operands, [&](string_view item) {
    if (const string_view name = NameIn(item); !name.empty()) names.push_back(name);
  });
  return names;
}

bool ParseHloLine(string_view line, HloLine* out) {
  *out = {};
  const std::optional<HloLineParts> parts = SplitHloLine(line);
  if (!parts) return false;
  out->name = parts->name;
  out->shape = parts->shape;
  out->opcode = parts->opcode;
  if (parts->cut) return false;
  out->needs = OperandsOf(*parts);
  ForItems(parts->attributes, [&](string_view item) { ReadAttribute(item, out); });
  return true;
}

void AppendWithFrames(string_view text, const std::function<uint32_t(int64_t)>& number,
                      std::string* out) {
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = SkipString(text, at);
      continue;
    }
    if (text[at] != 's' || !text.substr(at).starts_with(kFrameKey)) {
      ++at;
      continue;
    }
    at += kFrameKey.size();
    out->append(text.substr(copied, at - copied));
    size_t end = at;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    out->append(std::to_string(number(FrameId(text.substr(at, end - at)))));
    copied = at = end;
  }
  out->append(text.substr(copied));
}

}  // namespace xlatrace::hlo
