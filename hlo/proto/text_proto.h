// SPDX-License-Identifier: Apache-2.0

// Reads protobuf text format (.pbtxt, .textproto) without its schema: a tree of fields.
//
// Input: text that XLA dumps beside its HLO (gpu_target_config, autotune_results, config,
// debug_options, thunk_metadata), or DebugString() output. Result: the fields with their places, so
// that callers with the schema can name an error. All of the text format language is read:
// comments, strings in pieces, lists, both kinds of message brackets, extension names, separators.
//
// Ownership: a TextProto owns its strings and keeps the text alive. Thread-safety: immutable once
// read. Source: protobuf.dev/reference/protobuf/textformat-spec.

#ifndef XLATRACE_HLO_PROTO_TEXT_PROTO_H_
#define XLATRACE_HLO_PROTO_TEXT_PROTO_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace xlatrace::hlo {

class TextProto;
struct TextField;

// One message of the tree; a cheap handle into its TextProto, which must outlive it.
class TextMessage {
 public:
  TextMessage() = default;
  TextMessage(const TextProto* proto, uint32_t node) : proto_(proto), node_(node) {}

  bool empty() const { return proto_ == nullptr; }
  // The last field with this name, as protobuf reads a field that is not repeated.
  std::string_view Text(
      std::string_view name) const;  // Strings unescaped, other scalars as written.
  int64_t Int(std::string_view name, int64_t fallback = 0) const;
  double Number(std::string_view name, double fallback = 0) const;
  bool Bool(std::string_view name, bool fallback = false) const;
  // The message with this name; an empty one if there is none.
  TextMessage Message(std::string_view name) const;
  bool Has(std::string_view name) const;
  std::vector<TextMessage> Messages(std::string_view name) const;
  std::vector<std::string_view> Texts(std::string_view name) const;

  std::vector<TextField> Fields() const;  // In the order of the text.

 private:
  template <typename Visit>
  void Each(std::string_view name, Visit visit) const;

  const TextProto* proto_ = nullptr;
  uint32_t node_ = 0;
};

struct TextField {
  std::string_view name;
  std::string_view text;  // Value of a scalar.
  TextMessage message;    // The message, if the value is one; otherwise empty.
  bool is_string = false;
  uint32_t line = 0;  // From 1.
  uint32_t column = 0;
};

class TextProto {
 public:
  // Errors name line, column and token ("3:7: expected ':' or a message, found ...").
  // Re-entrant; time and memory are linear in the size of `text`.
  static Result<TextProto> Read(std::shared_ptr<const std::string> text);

  TextMessage root() const { return TextMessage(this, 0); }

 private:
  friend class TextMessage;
  friend class TextProtoReader;
  static constexpr uint32_t kNoNodeIndex = UINT32_MAX;

  struct Node {
    std::string_view name;
    std::string_view text;
    uint32_t first_child = kNoNodeIndex;
    uint32_t last_child = kNoNodeIndex;
    uint32_t next = kNoNodeIndex;
    uint32_t line = 0;  // Place of the field's name.
    uint32_t column = 0;
    bool is_message = false;
    bool is_string = false;
  };

  std::shared_ptr<const std::string> source_;
  std::vector<Node> nodes_;  // The root first.
  std::unique_ptr<std::deque<std::string>> arena_ = std::make_unique<std::deque<std::string>>();
};

// True if the beginning of a file looks like text format: comments, then "name:" or "name {".
bool LooksLikeTextProto(std::string_view head);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_TEXT_PROTO_H_
