// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/debug_options.h"

#include <utility>

#include <fmt/format.h>

#include "hlo/proto/text_proto.h"
#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {
namespace {

void Flatten(const TextMessage& message, const std::string& path, int depth, XlaFlags& flags) {
  constexpr int kMaxDepth = 10;
  if (depth > kMaxDepth) return;
  for (const TextField& field : message.Fields()) {
    const std::string name = path + std::string(field.name);
    if (field.message.empty()) {
      flags.push_back({name, std::string(field.text)});
    } else {
      Flatten(field.message, name + ".", depth + 1, flags);
    }
  }
}

}  // namespace

Result<XlaFlags> ReadDebugOptions(std::shared_ptr<const std::string> text) {
  XLATRACE_ASSIGN(const TextProto proto, TextProto::Read(std::move(text)));
  const TextMessage inner = proto.root().Message("debug_options");
  XlaFlags flags;
  Flatten(inner.empty() ? proto.root() : inner, "", 0, flags);
  bool any = flags.empty() || !inner.empty();
  for (const XlaFlag& flag : flags) any = any || flag.name.rfind("xla_", 0) == 0;
  if (!any) {
    return MakeError("no flag of XLA in it: not a debug_options file",
                     "give the debug_options or config.pbtxt of an XLA dump");
  }
  return flags;
}

Result<XlaFlags> ReadXlaFlags(std::string_view text) {
  XlaFlags flags;
  size_t at = 0;
  const auto fail = [&](size_t where, std::string_view message) {
    const TextScanner scan(text);
    return MakeError(fmt::format("{}: {}, found {}", scan.Location(text.data() + where), message,
                                 scan.TokenAt(text.data() + where)));
  };
  while (at < text.size()) {
    if (IsBlank(text[at])) {
      ++at;
      continue;
    }
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const size_t start = at;
    while (at < text.size() && text[at] == '-') ++at;
    if (at == start || at - start > 2) return fail(start, "expected a flag");
    XlaFlag flag;
    while (at < text.size() && text[at] != '=' && !IsBlank(text[at])) flag.name += text[at++];
    if (flag.name.empty()) return fail(start, "expected a flag");
    if (at == text.size() || text[at] != '=') {
      flag.value = "true";
    } else {
      ++at;
      // Quotes as a shell has them.
      while (at < text.size() && !IsBlank(text[at])) {
        const char c = text[at];
        if (c == '"' || c == '\'') {
          const size_t close = text.find(c, at + 1);
          if (close == std::string_view::npos) return fail(at, "unterminated quote");
          flag.value += text.substr(at + 1, close - at - 1);
          at = close + 1;
        } else {
          flag.value += text[at++];
        }
      }
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

}  // namespace xlatrace::hlo
