// SPDX-License-Identifier: Apache-2.0
#include "tools/help_format.h"

#include <algorithm>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/terminal.h"
#include "report/text_table.h"
#include "tools/command_data.h"

namespace xlatrace::tools {
namespace {

constexpr int kMaxWidth = 100;
constexpr size_t kOptionColumn = 26;
constexpr size_t kCommandColumn = 14;

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return Lines("", app->get_description(), 0);
  }

  std::string make_usage(const CLI::App* app, std::string) const override {
    return "Usage: " + DescribeCommand(*app).usage + "\n";
  }

  std::string make_option(const CLI::Option* option, bool) const override {
    const OptionData data = DescribeOption(*option);
    std::string left = fmt::format("{}", fmt::join(data.names, ","));
    if (!data.value.empty()) left += " " + data.value;
    left += data.dots();
    return Lines(left, data.text, kOptionColumn);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return Lines(command->get_name(), command->get_description(), kCommandColumn);
  }

 private:
  // "  left      text", the text wrapped in its column; below `left` where that is too long.
  static std::string Lines(const std::string& left, std::string text, size_t column) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    const int width = std::min(DetectTerminal().width, kMaxWidth);
    std::string out;
    size_t at = 0;  // Columns of the line that is being written.
    if (column > 0) {
      out = "  " + left;
      at = out.size();
      if (at + 1 >= column) {
        out += '\n';
        at = 0;
      }
    }
    for (const std::string& line : report::Wrap(text, width - static_cast<int>(column))) {
      out += std::string(column - at, ' ') + line + "\n";
      at = 0;
    }
    if (!out.ends_with('\n')) out += '\n';
    return out;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace xlatrace::tools
