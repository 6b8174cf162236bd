// SPDX-License-Identifier: Apache-2.0

// Text as a JSON string, for formats that are written piece by piece.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_EXPORT_JSON_TEXT_H_
#define XLATRACE_EXPORT_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace xlatrace::exporter {

// In quotes, escaped; bytes that are no UTF-8 become U+FFFD.
void AppendJson(std::string& out, std::string_view text);
inline std::string JsonText(std::string_view text) {
  std::string out;
  AppendJson(out, text);
  return out;
}

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_JSON_TEXT_H_
