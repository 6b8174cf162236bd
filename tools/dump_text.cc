// SPDX-License-Identifier: Apache-2.0
#include "tools/dump_text.h"

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/terminal.h"
#include "report/text_table.h"

namespace xlatrace::tools {
namespace {

constexpr int kLabelWidth = 12;

}  // namespace

std::string Count(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Thousands(count), noun, count == 1 ? "" : "s");
}

std::string SourceText(const hlo::ModuleSource& source, bool whole_path) {
  if (source.file.empty()) return {};
  std::string text(whole_path ? std::string_view(source.file) : BaseName(source.file));
  if (source.first_line > 0) {
    text += fmt::format(":{}", source.first_line);
    if (source.last_line > source.first_line) text += fmt::format("-{}", source.last_line);
  }
  return text;
}

void AppendField(std::string_view label, std::string_view text, int width, std::string& out) {
  const int room = std::max(width - kLabelWidth, 20);
  bool first = true;
  for (const std::string& line : report::Wrap(Printable(text), room)) {
    out += FitLeft(first ? "  " + std::string(label) : "", kLabelWidth) + line + "\n";
    first = false;
  }
}

void AppendLine(std::string_view text, int width, std::string& out) {
  std::string line = std::string(kLabelWidth, ' ') + Printable(text);
  if (DisplayWidth(line) > width) line = FitLeft(line, width);
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace xlatrace::tools
