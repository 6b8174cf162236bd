// SPDX-License-Identifier: Apache-2.0
#include "tools/command_data.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "tools/choices.h"

namespace xlatrace::tools {
namespace {

// "TEXT:{exact,light}" -> "{exact,light}", "INT:INT in [60 - 400]" -> "N", "FLOAT:SECONDS" ->
// "SECONDS": CLI11 joins the type and the descriptions of validators.
std::string ValueWord(const std::string& type) {
  const size_t colon = type.find(':');
  const std::string checked = colon == std::string::npos ? std::string() : type.substr(colon + 1);
  if (!checked.empty() && checked.find(" in [") == std::string::npos) return checked;
  const std::string word = type.substr(0, colon);
  return word == "INT" || word == "UINT" || word == "FLOAT" ? "N" : word;
}

std::string UsageOf(const CLI::App& command, const std::vector<OptionData>& arguments) {
  const CLI::App* parent = command.get_parent();
  std::string usage = parent != nullptr ? parent->get_name() + " " : std::string();
  usage += command.get_name() + " [OPTIONS]";
  for (const OptionData& argument : arguments) {
    const std::string word = argument.names.front() + (argument.dots().empty() ? "" : "...");
    usage += argument.is_required ? " " + word : " [" + word + "]";
  }
  if (!command.get_subcommands([](const CLI::App*) { return true; }).empty()) usage += " COMMAND";
  return usage;
}

}  // namespace

bool OptionData::takes_file() const {
  constexpr std::array<std::string_view, 10> kPaths = {
      "FILE", "RUN", "PATH", "DIR", "LIST", "BASE", "NEW...", "RECORDING", "DIR... MODULE", "CMD"};
  const std::string_view word = is_argument ? names.front() : std::string_view(value);
  return choices.empty() && std::find(kPaths.begin(), kPaths.end(), word) != kPaths.end();
}

std::string OptionData::dots() const {
  // Words such as "DIR... MODULE" and "NEW..." contain the dots themselves.
  const std::string& word = is_argument ? names.front() : value;
  return is_list && word.find("...") == std::string::npos ? " ..." : "";
}

OptionData DescribeOption(const CLI::Option& option) {
  OptionData data;
  data.text = option.get_description();
  std::replace(data.text.begin(), data.text.end(), '\n', ' ');
  const std::string given = option.get_default_str();
  const bool takes_value = option.get_type_size() != 0;
  if (!given.empty() && takes_value) data.text += " (default: " + given + ")";
  data.is_argument = !option.nonpositional();
  data.is_required = option.get_required();
  data.is_list = option.get_expected_max() == CLI::detail::expected_max_vector_size ||
                 (data.is_argument && option.get_expected_max() > 1);
  data.choices = ChoicesOf(option);
  if (data.is_argument) {
    data.names = {option.get_name(true)};
    return data;
  }
  for (const std::string& name : option.get_snames()) data.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) data.names.push_back("--" + name);
  if (takes_value) data.value = ValueWord(option.get_type_name());
  return data;
}

CommandData DescribeCommand(const CLI::App& command) {
  CommandData data;
  data.name = command.get_parent() != nullptr ? command.get_name() : std::string();
  data.text = command.get_description();
  for (const CLI::Option* option : command.get_options()) {
    OptionData described = DescribeOption(*option);
    (described.is_argument ? data.arguments : data.options).push_back(std::move(described));
  }
  data.usage = UsageOf(command, data.arguments);
  data.footer = command.get_footer();
  return data;
}

ProgramData DescribeProgram(const CLI::App& app) {
  ProgramData data;
  data.program = DescribeCommand(app);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    data.commands.push_back(DescribeCommand(*command));
  }
  return data;
}

std::vector<ExitStatusData> SharedExitStatuses() {
  return {
      {0, "The command succeeded."},
      {static_cast<int>(ErrorCode::kFailed), "The command failed; the message names the cause."},
      {static_cast<int>(ErrorCode::kUsage), "The command line is invalid."},
      {static_cast<int>(ErrorCode::kInterrupted), "The command was interrupted by Ctrl-C."},
  };
}

}  // namespace xlatrace::tools
