// SPDX-License-Identifier: Apache-2.0
#include "export/json_text.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace xlatrace::exporter {

void AppendJson(std::string& out, std::string_view text) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      if (byte == '"' || byte == '\\') {
        (out += '\\') += text[at];
      } else if (byte < 0x20 || byte == 0x7f) {
        out += fmt::format("\\u{:04x}", byte);
      } else {
        out += text[at];
      }
      ++at;
      continue;
    }
    size_t length = 1;
    if (DecodeUtf8(text, at, &length) < 0) {
      out += kReplacementCharacter;
    } else {
      out += text.substr(at, length);
    }
    at += length;
  }
  out += '"';
}

}  // namespace xlatrace::exporter
