// SPDX-License-Identifier: Apache-2.0

// A table of a terminal: columns as wide as their content, one that takes what is left.
//
// Cells are made safe for a terminal here (base/terminal.h). Thread-safety: plain data.

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
  bool flexible = false;  // Takes what the others leave; one per table.
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Heading and rows, none wider than `width`, no trailing blanks. Columns that do not fit at all
  // are left out from the right.
  std::vector<std::string> Lines(int width, bool ascii) const;

 private:
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` in lines of at most `width` columns, broken at blanks; a word that is longer is cut.
// "cell [3]:7" (a line in a cell of a notebook) is not broken.
std::vector<std::string> Wrap(std::string_view text, int width);

// Safe for a terminal; with `ascii`, everything else becomes '?'.
std::string Safe(std::string_view text, bool ascii);

// A bar of part/whole of `width` columns, with eighths; with `ascii` of '#', '|' when it is short.
std::string Bar(double part, double whole, int width, bool ascii);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_TEXT_TABLE_H_
