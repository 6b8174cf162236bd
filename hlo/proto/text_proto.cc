// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/text_proto.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {
namespace {

int64_t ParseInt(std::string_view text, int64_t fallback) {
  const bool negative = text.substr(0, 1) == "-";
  if (negative) text.remove_prefix(1);
  const bool hex = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const int base = hex ? 16 : text.size() > 1 && text[0] == '0' ? 8 : 10;
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return fallback;
  return static_cast<int64_t>(negative ? 0 - value : value);
}

}  // namespace

// Recursive descent with an explicit stack: hostile text nests without end.
class TextProtoReader {
 public:
  explicit TextProtoReader(std::shared_ptr<const std::string> text) {
    proto_.source_ = std::move(text);
    begin_ = at_ = counted_ = line_start_ = proto_.source_->data();
    end_ = begin_ + proto_.source_->size();
  }

  Result<TextProto> Read() {
    proto_.nodes_.push_back({});
    proto_.nodes_[0].is_message = true;
    open_.push_back({0, '\0'});
    while (!failed_) {
      SkipBlank();
      if (at_ == end_) {
        if (open_.size() > 1) Fail(at_, "expected '}' after a message, found the end of the text");
        break;
      }
      if (open_.size() > 1 && *at_ == open_.back().close) {
        ++at_;
        open_.pop_back();
        SkipSeparator();
        continue;
      }
      ReadField();
    }
    if (failed_) return MakeError(std::move(message_));
    return std::move(proto_);
  }

 private:
  struct Open {
    uint32_t node;
    char close;
  };

  void SkipBlank() {
    while (at_ < end_) {
      if (IsBlank(*at_) || *at_ == '\f' || *at_ == '\v') {
        ++at_;
      } else if (*at_ == '#') {
        at_ = std::find(at_, end_, '\n');
      } else {
        return;
      }
    }
  }

  void SkipSeparator() {
    SkipBlank();
    if (at_ < end_ && (*at_ == ',' || *at_ == ';')) ++at_;
  }

  void Fail(const char* where, std::string_view message) {
    if (failed_) return;
    failed_ = true;
    const TextScanner scan({begin_, static_cast<size_t>(end_ - begin_)});
    message_ = fmt::format("{}: {}", scan.Location(where), message);
  }

  void FailToken(std::string_view wanted) {
    const TextScanner scan({begin_, static_cast<size_t>(end_ - begin_)});
    Fail(at_, fmt::format("expected {}, found {}", wanted, scan.TokenAt(at_)));
  }

  // Names come in the order of the text, so lines are counted once.
  void Locate(const char* where, TextProto::Node& node) {
    for (; counted_ < where; ++counted_) {
      if (*counted_ != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    node.line = line_;
    node.column = static_cast<uint32_t>(where - line_start_) + 1;
  }

  uint32_t Add(std::string_view name) {
    const auto index = static_cast<uint32_t>(proto_.nodes_.size());
    TextProto::Node& node = proto_.nodes_.emplace_back();
    node.name = name;
    Locate(name.data(), node);
    TextProto::Node& parent = proto_.nodes_[open_.back().node];
    if (parent.last_child == TextProto::kNoNodeIndex) {
      parent.first_child = index;
    } else {
      proto_.nodes_[parent.last_child].next = index;
    }
    parent.last_child = index;
    return index;
  }

  // name, or [extension.or/any.url]
  bool ReadName(std::string_view* name) {
    const char* const start = at_;
    if (*at_ == '[') {
      while (at_ < end_ && *at_ != ']' && *at_ != '\n') ++at_;
      if (at_ == end_ || *at_ != ']') {
        at_ = start;
        FailToken("a field name");
        return false;
      }
      ++at_;
    } else {
      while (at_ < end_ && IsIdentifierChar(*at_) && *at_ != '-' && *at_ != '.') ++at_;
      if (at_ == start || IsDigit(*start)) {
        at_ = start;
        FailToken("a field name");
        return false;
      }
    }
    *name = {start, static_cast<size_t>(at_ - start)};
    return true;
  }

  void ReadField() {
    std::string_view name;
    if (!ReadName(&name)) return;
    SkipBlank();
    const bool colon = at_ < end_ && *at_ == ':';
    if (colon) {
      ++at_;
      SkipBlank();
    }
    if (at_ < end_ && *at_ == '[') return ReadList(name);
    if (at_ < end_ && (*at_ == '{' || *at_ == '<')) return OpenMessage(name);
    if (!colon) return FailToken(fmt::format("':' or a message behind '{}'", name));
    ReadScalar(name);
    if (!failed_) SkipSeparator();
  }

  void OpenMessage(std::string_view name) {
    constexpr size_t kMaxDepth = 1000;
    if (open_.size() > kMaxDepth) return Fail(at_, "messages nest too deep");
    const uint32_t node = Add(name);
    proto_.nodes_[node].is_message = true;
    open_.push_back({node, *at_ == '{' ? '}' : '>'});
    ++at_;
  }

  // name: [1, 2] or name [{...}, {...}]. Messages in lists are as rare as they are short: each is
  // read to its end here.
  void ReadList(std::string_view name) {
    ++at_;
    SkipBlank();
    if (at_ < end_ && *at_ == ']') {
      ++at_;
      return SkipSeparator();
    }
    while (!failed_) {
      SkipBlank();
      if (at_ < end_ && (*at_ == '{' || *at_ == '<')) {
        const size_t depth = open_.size();
        OpenMessage(name);
        while (!failed_ && open_.size() > depth) {
          SkipBlank();
          if (at_ == end_)
            return Fail(at_, "expected '}' after a message, found the end of the text");
          if (*at_ == open_.back().close) {
            ++at_;
            open_.pop_back();
            if (open_.size() > depth) SkipSeparator();
          } else {
            ReadField();
          }
        }
      } else {
        ReadScalar(name);
      }
      if (failed_) return;
      SkipBlank();
      if (at_ < end_ && *at_ == ',') {
        ++at_;
        continue;
      }
      if (at_ == end_ || *at_ != ']') return FailToken("',' or ']' in a list");
      ++at_;
      return SkipSeparator();
    }
  }

  void ReadScalar(std::string_view name) {
    if (at_ == end_) return FailToken(fmt::format("a value of '{}'", name));
    if (*at_ == '"' || *at_ == '\'') return ReadString(name);
    const char* const start = at_;
    if (*at_ == '-') ++at_;
    const char* const digits = at_;
    while (at_ < end_ && (IsIdentifierChar(*at_) || *at_ == '+')) {
      const bool sign = *at_ == '-' || *at_ == '+';
      if (sign && (at_ == digits || (at_[-1] != 'e' && at_[-1] != 'E'))) break;
      ++at_;
    }
    if (at_ == digits) {
      at_ = start;
      return FailToken(fmt::format("a value of '{}'", name));
    }
    proto_.nodes_[Add(name)].text = {start, static_cast<size_t>(at_ - start)};
  }

  // One string, or several that follow each other.
  void ReadString(std::string_view name) {
    const uint32_t node = Add(name);
    proto_.nodes_[node].is_string = true;
    std::string_view whole;
    std::string joined;
    bool pieces = false;
    while (at_ < end_ && (*at_ == '"' || *at_ == '\'')) {
      const char quote = *at_;
      const char* const open = at_++;
      bool escaped = false;
      while (at_ < end_ && *at_ != quote && *at_ != '\n') {
        if (*at_ == '\\') {
          escaped = true;
          ++at_;
        }
        if (at_ < end_) ++at_;
      }
      if (at_ >= end_ || *at_ != quote) return Fail(open, "unterminated string");
      const std::string_view raw(open + 1, static_cast<size_t>(at_ - open - 1));
      ++at_;
      if (pieces || escaped || !whole.empty()) {
        if (!pieces) joined = whole;
        pieces = true;
        joined += escaped ? Unescape(raw) : std::string(raw);
      } else {
        whole = raw;
      }
      SkipBlank();
    }
    if (pieces) {
      proto_.arena_->push_back(std::move(joined));
      whole = proto_.arena_->back();
    }
    proto_.nodes_[node].text = whole;
  }

  TextProto proto_;
  std::vector<Open> open_;
  const char* begin_ = nullptr;
  const char* counted_ = nullptr;  // Up to here lines are counted.
  const char* line_start_ = nullptr;
  uint32_t line_ = 1;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool failed_ = false;
  std::string message_;
};

Result<TextProto> TextProto::Read(std::shared_ptr<const std::string> text) {
  if (text == nullptr) return MakeError("no text");
  if (text->size() > std::numeric_limits<uint32_t>::max()) {
    return MakeError(fmt::format("a text proto of {} bytes is not possible", text->size()));
  }
  return TextProtoReader(std::move(text)).Read();
}

template <typename Visit>
void TextMessage::Each(std::string_view name, Visit visit) const {
  if (proto_ == nullptr) return;
  for (uint32_t at = proto_->nodes_[node_].first_child; at != TextProto::kNoNodeIndex;
       at = proto_->nodes_[at].next) {
    if (proto_->nodes_[at].name == name) visit(proto_->nodes_[at], at);
  }
}

std::string_view TextMessage::Text(std::string_view name) const {
  std::string_view text;
  Each(name, [&](const auto& node, uint32_t) { text = node.text; });
  return text;
}

int64_t TextMessage::Int(std::string_view name, int64_t fallback) const {
  const std::string_view text = Text(name);
  return text.empty() ? fallback : ParseInt(text, fallback);
}

double TextMessage::Number(std::string_view name, double fallback) const {
  std::string_view text = Text(name);
  if (!text.empty() && (text.back() == 'f' || text.back() == 'F') &&
      text.find("inf") > text.size()) {
    text.remove_suffix(1);
  }
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return text.empty() || error != std::errc() || stop != end ? fallback : value;
}

bool TextMessage::Bool(std::string_view name, bool fallback) const {
  const std::string_view text = Text(name);
  if (text == "true" || text == "True" || text == "t" || text == "1") return true;
  if (text == "false" || text == "False" || text == "f" || text == "0") return false;
  return fallback;
}

TextMessage TextMessage::Message(std::string_view name) const {
  TextMessage message;
  Each(name, [&](const auto& node, uint32_t at) {
    if (node.is_message) message = TextMessage(proto_, at);
  });
  return message;
}

bool TextMessage::Has(std::string_view name) const {
  bool has = false;
  Each(name, [&](const auto&, uint32_t) { has = true; });
  return has;
}

std::vector<TextMessage> TextMessage::Messages(std::string_view name) const {
  std::vector<TextMessage> messages;
  Each(name, [&](const auto& node, uint32_t at) {
    if (node.is_message) messages.emplace_back(proto_, at);
  });
  return messages;
}

std::vector<std::string_view> TextMessage::Texts(std::string_view name) const {
  std::vector<std::string_view> texts;
  Each(name, [&](const auto& node, uint32_t) {
    if (!node.is_message) texts.push_back(node.text);
  });
  return texts;
}

std::vector<TextField> TextMessage::Fields() const {
  std::vector<TextField> fields;
  if (proto_ == nullptr) return fields;
  for (uint32_t at = proto_->nodes_[node_].first_child; at != TextProto::kNoNodeIndex;
       at = proto_->nodes_[at].next) {
    const TextProto::Node& node = proto_->nodes_[at];
    TextField& field = fields.emplace_back();
    field.name = node.name;
    field.text = node.text;
    if (node.is_message) field.message = TextMessage(proto_, at);
    field.is_string = node.is_string;
    field.line = node.line;
    field.column = node.column;
  }
  return fields;
}

namespace {

bool LooksLikeField(std::string_view head, int depth) {
  constexpr int kMaxDepth = 8;
  if (depth > kMaxDepth) return true;
  size_t at = 0;
  while (at < head.size()) {
    if (IsBlank(head[at])) {
      ++at;
    } else if (head[at] == '#') {
      at = std::min(head.find('\n', at), head.size());
    } else {
      break;
    }
  }
  const size_t start = at;
  while (at < head.size() && IsIdentifierChar(head[at]) && head[at] != '.' && head[at] != '-') ++at;
  if (at == start || !IsIdentifierStart(head[start])) return false;
  while (at < head.size() && head[at] == ' ') ++at;
  if (at >= head.size()) return false;
  if (head[at] == '{') {
    // HLO text without a header begins "name {" too, but then an instruction follows: "x = ".
    const size_t next = head.find_first_not_of(" \t\r\n", at + 1);
    if (next == std::string_view::npos) return depth > 0;
    if (head[next] == '}') return true;
    return LooksLikeField(head.substr(next), depth + 1);
  }
  if (head[at] != ':') return false;
  const size_t value = head.find_first_not_of(" \t", at + 1);
  if (value == std::string_view::npos) return false;
  const char c = head[value];
  return c == '"' || c == '\'' || c == '-' || c == '[' || c == '{' || c == '<' || IsDigit(c) ||
         IsIdentifierStart(c);
}

}  // namespace

bool LooksLikeTextProto(std::string_view head) { return LooksLikeField(head, 0); }

}  // namespace xlatrace::hlo
