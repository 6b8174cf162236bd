// SPDX-License-Identifier: Apache-2.0

// Writes one JSON object on one line without intermediate objects, because explain prints hundreds
// of thousands.
//
// Text that is not UTF-8 gets U+FFFD for each byte that is wrong. Thread-safety: plain value.

#ifndef XLATRACE_TOOLS_JSON_LINE_H_
#define XLATRACE_TOOLS_JSON_LINE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace xlatrace::tools {

class JsonLine {
 public:
  // Appends to `out`; the object is open until Close().
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }

  JsonLine& Text(std::string_view key, std::string_view value);
  JsonLine& TextOrNull(std::string_view key, std::string_view value);  // Empty: null.
  JsonLine& Int(std::string_view key, int64_t value);
  JsonLine& IntOrNull(std::string_view key, std::optional<int64_t> value);
  JsonLine& Bool(std::string_view key, bool value);
  // Starts a nested object: call the same functions, then End().
  JsonLine& Begin(std::string_view key);
  JsonLine& End();
  // An array of texts.
  JsonLine& Texts(std::string_view key, std::span<const std::string_view> values);
  // Starts an array of objects. For each object, call BeginItem(), the functions above and End().
  // After the last object, call EndArray().
  JsonLine& BeginArray(std::string_view key);
  JsonLine& BeginItem();
  JsonLine& EndArray();
  // Ends the object, with a newline if it is the outermost.
  void Close();

 private:
  void Key(std::string_view key);
  std::string& out_;
  bool first_ = true;
};

void AppendJsonText(std::string_view text, std::string& out);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_JSON_LINE_H_
