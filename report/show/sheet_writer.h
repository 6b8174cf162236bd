// SPDX-License-Identifier: Apache-2.0

// Writes the text of a `show` sheet, and formats the cells of its JSON as text. Internal to
// report/show/.

#ifndef XLATRACE_REPORT_SHOW_SHEET_WRITER_H_
#define XLATRACE_REPORT_SHOW_SHEET_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "report/show/show_sheet.h"
#include "report/text_table.h"

namespace xlatrace::report {

// A value of an object; null if the value is missing or `object` is not an object.
const Json& ValueAt(const Json& json, std::string_view key);

// Formats a value: "12.3 us", "1,203", "4.5%"; "-" if there is no value.
std::string TimeCell(const Json& json, std::string_view key);
std::string CountCell(const Json& json, std::string_view key);
// "1 launch", "1,203 launches".
std::string CountedCell(const Json& json, std::string_view key, std::string_view one,
                        std::string_view many);
std::string PctCell(const Json& json, std::string_view key);
// "layers.py:88" of a row with source_file and source_line.
std::string SourceCell(const Json& row);

// All text from outside of xlatrace is made safe for a terminal and wrapped to its width.
class SheetWriter {
 public:
  explicit SheetWriter(const ShowOptions& options) : options_(options) {}

  void Title(const std::string& text);
  void Heading(std::string_view text);
  // "  name      value", wrapped; writes nothing for an empty value.
  void Fact(std::string_view name, const std::string& value);
  void Paragraph(const std::string& text);
  void Table(const TextTable& table);
  // An array of lines to read and copy. Long lines are broken, preferably at blanks, and never cut.
  void Code(const Json& lines);

  const ShowOptions& options() const { return options_; }
  std::string Take() { return std::move(out_); }

 private:
  const ShowOptions& options_;
  std::string out_;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOW_SHEET_WRITER_H_
