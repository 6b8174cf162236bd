// SPDX-License-Identifier: Apache-2.0

// A table of a terminal. Columns are as wide as their content; one column gets the remaining width.
//
// The table makes cells safe for a terminal (base/terminal.h). Thread-safety: plain data.

#ifndef XLATRACE_REPORT_TEXT_TABLE_H_
#define XLATRACE_REPORT_TEXT_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::report {

struct TextColumn {
  std::string heading;
  bool right = false;     // Numbers.
  int at_most = 1000;     // Columns of the terminal.
  bool path = false;      // Too long: whole components from the end ("../mlp/wi_0").
  bool flexible = false;  // Gets the remaining width; at most one column per table.
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Heading and rows, at most `width` columns wide, without trailing blanks. If columns do not fit,
  // the rightmost ones are omitted.
  std::vector<std::string> Lines(int width, bool ascii) const;

 private:
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` in lines of at most `width` columns, broken at blanks; a word that is longer is cut.
// "cell [3]:7" (a line in a cell of a notebook) is not broken.
std::vector<std::string> Wrap(std::string_view text, int width);

// Text that is safe for a terminal. With `ascii`, all other characters become '?'.
std::string Safe(std::string_view text, bool ascii);

// A bar for part/whole of `width` columns, in steps of an eighth. With `ascii`, the bar has '#', or
// '|' if it is short.
std::string Bar(double part, double whole, int width, bool ascii);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_TEXT_TABLE_H_
