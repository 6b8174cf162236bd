// SPDX-License-Identifier: Apache-2.0
#include "report/show/sheet_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/terminal.h"
#include "report/shown_words.h"

namespace xlatrace::report {

const Json& ValueAt(const Json& json, std::string_view key) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

std::string TimeCell(const Json& json, std::string_view key) {
  return JsonHas(json, key) ? Duration(JsonNumber(json, key)) : "-";
}
std::string CountCell(const Json& json, std::string_view key) {
  return JsonHas(json, key) ? Thousands(static_cast<int64_t>(JsonNumber(json, key))) : "-";
}
std::string CountedCell(const Json& json, std::string_view key, std::string_view one,
                        std::string_view many) {
  if (!JsonHas(json, key)) return fmt::format("- {}", many);
  return Counted(static_cast<int64_t>(JsonNumber(json, key)), one, many);
}
std::string PctCell(const Json& json, std::string_view key) {
  return JsonHas(json, key) ? Significant(JsonNumber(json, key)) + "%" : "-";
}
std::string SourceCell(const Json& row) {
  const Json& line = ValueAt(row, "source_line");
  return SourceLine(JsonText(row, "source_file"),
                    line.is_number() ? std::optional<int64_t>(line.get<int64_t>()) : std::nullopt);
}

void SheetWriter::Title(const std::string& text) {
  for (const std::string& line : Wrap(Safe(text, options_.ascii), options_.width)) {
    out_ += options_.color ? "\x1b[1m" + line + "\x1b[0m\n" : line + "\n";
  }
}

void SheetWriter::Heading(std::string_view text) {
  out_ += options_.color ? fmt::format("\n\x1b[1m{}\x1b[0m\n", text) : fmt::format("\n{}\n", text);
}

void SheetWriter::Fact(std::string_view name, const std::string& value) {
  if (value.empty()) return;
  constexpr int kNameWidth = 14;
  const std::vector<std::string> lines =
      Wrap(Safe(value, options_.ascii), std::max(options_.width - kNameWidth - 2, 20));
  for (size_t i = 0; i < lines.size(); ++i) {
    out_ += fmt::format("  {:<{}}{}\n", i == 0 ? name : "", kNameWidth, lines[i]);
  }
}

void SheetWriter::Paragraph(const std::string& text) {
  for (const std::string& line : Wrap(Safe(text, options_.ascii), options_.width - 2)) {
    out_ += "  " + line + "\n";
  }
}

void SheetWriter::Table(const TextTable& table) {
  for (const std::string& line : table.Lines(options_.width - 2, options_.ascii)) {
    out_ += "  " + line + "\n";
  }
}

void SheetWriter::Code(const Json& lines) {
  for (const Json& line : lines) {
    if (!line.is_string()) continue;
    std::string rest = Safe(line.get<std::string>(), options_.ascii);
    std::string indent = "  ";
    while (!rest.empty()) {
      const size_t room = static_cast<size_t>(options_.width) - indent.size();
      size_t cut = rest.size();
      if (rest.size() > room) {
        cut = rest.rfind(' ', room);
        if (cut == std::string::npos || cut < room / 2) cut = room;
        while (cut > 1 && (static_cast<unsigned char>(rest[cut]) & 0xC0) == 0x80) --cut;
      }
      out_ += indent + rest.substr(0, cut) + "\n";
      rest.erase(0, rest.size() > cut && rest[cut] == ' ' ? cut + 1 : cut);
      indent = "      ";
    }
  }
}

}  // namespace xlatrace::report
