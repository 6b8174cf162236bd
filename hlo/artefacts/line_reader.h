// SPDX-License-Identifier: Apache-2.0

// Small tools of the readers of XLA's line-by-line reports.

#ifndef XLATRACE_HLO_ARTEFACTS_LINE_READER_H_
#define XLATRACE_HLO_ARTEFACTS_LINE_READER_H_

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace xlatrace::hlo {

// Lines of a text, without their ends; counts them.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  bool Next(std::string_view* line) {
    if (rest_.empty()) return false;
    ++number_;
    const size_t newline = rest_.find('\n');
    *line = rest_.substr(0, newline);
    rest_ = newline == std::string_view::npos ? std::string_view() : rest_.substr(newline + 1);
    if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
    return true;
  }
  int64_t number() const { return number_; }  // Number of the last line, from 1.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  int64_t number_ = 0;
};

inline std::string_view TrimBlanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Takes `prefix` off the front of `text`.
inline bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Removes a decimal number, with its sign, from the front and returns it.
inline bool TakeInt(std::string_view& text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// The text after `key` in `text`; data() == nullptr if `text` does not contain it.
inline std::string_view AfterText(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + key.size());
}

// "add.3{1,0}", "add.3 {1}", "add.3{}": instruction and shape index, which is empty for "{}".
inline void SplitShapeIndex(std::string_view text, std::string& instruction,
                            std::string& shape_index) {
  text = TrimBlanks(text);
  if (!text.empty() && text.back() == '}') {
    const size_t open = text.rfind('{');
    if (open != std::string_view::npos) {
      const std::string_view index = text.substr(open);
      shape_index = index == "{}" ? std::string() : std::string(index);
      text = TrimBlanks(text.substr(0, open));
    }
  }
  instruction = text;
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_LINE_READER_H_
