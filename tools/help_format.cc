// SPDX-License-Identifier: Apache-2.0
#include "tools/help_format.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/terminal.h"
#include "report/text_table.h"

namespace xlatrace::tools {
namespace {

constexpr int kWidest = 100;
constexpr size_t kOptionColumn = 26;
constexpr size_t kCommandColumn = 12;

// "TEXT:{exact,light}" -> "{exact,light}", "INT:INT in [60 - 400]" -> "N", "FLOAT:SECONDS" ->
// "SECONDS": what CLI11 joins of a type and of what is checked.
std::string TypeWord(const std::string& type) {
  const size_t colon = type.find(':');
  const std::string checked = colon == std::string::npos ? std::string() : type.substr(colon + 1);
  if (!checked.empty() && checked.find(" in [") == std::string::npos) return checked;
  const std::string word = type.substr(0, colon);
  return word == "INT" || word == "UINT" || word == "FLOAT" ? "N" : word;
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return Lines("", app->get_description(), 0);
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string text = option->get_description();
    const std::string given = option->get_default_str();
    if (!given.empty() && option->get_type_size() != 0) text += " (default: " + given + ")";
    // "--no-gaps{all}": what a flag is without a value is no part of its name.
    std::string name = make_option_name(option, is_positional);
    name.resize(std::min(name.find('{'), name.size()));
    return Lines(name + make_option_opts(option), text, kOptionColumn);
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    std::string words;
    const std::string type = TypeWord(option->get_type_name());
    if (option->nonpositional()) words += " " + type;
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) words += " ...";
    return words;
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return Lines(command->get_name(), command->get_description(), kCommandColumn);
  }

 private:
  // "  left      text", the text wrapped in its column; below `left` where that is too long.
  static std::string Lines(const std::string& left, std::string text, size_t column) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    const int width = std::min(DetectTerminal().width, kWidest);
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
