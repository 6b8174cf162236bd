// SPDX-License-Identifier: Apache-2.0

// The commands and options of the program as plain data, read from CLI11. Help, completion
// scripts, man pages and the reference page are written from this data only.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_COMMAND_DATA_H_
#define XLATRACE_TOOLS_COMMAND_DATA_H_

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace xlatrace::tools {

struct OptionData {
  std::vector<std::string> names;    // {"-o", "--output"}; of an argument: {"RUN"}.
  std::string value;                 // "FILE", "{text,json}"; empty for a flag and an argument.
  std::vector<std::string> choices;  // All accepted words; empty if other words are accepted, too.
  std::string text;                  // One line, with the default value.
  bool is_argument = false;
  bool is_required = false;
  bool is_list = false;  // Accepts several values.

  bool takes_file() const;   // The value is the path of a file or folder.
  std::string dots() const;  // " ..." after the name or value of a list.
};

struct CommandData {
  std::string name;  // Empty: the program itself.
  std::string text;
  std::string usage;  // "xlatrace summary [OPTIONS] RUN"
  std::vector<OptionData> arguments, options;
  std::string footer;  // Lines: examples and remarks.
};

struct ProgramData {
  CommandData program;
  std::vector<CommandData> commands;
};

OptionData DescribeOption(const CLI::Option& option);
CommandData DescribeCommand(const CLI::App& command);
ProgramData DescribeProgram(const CLI::App& app);

// One sentence per exit status that all commands share.
struct ExitStatusData {
  int status;
  std::string text;
};
std::vector<ExitStatusData> SharedExitStatuses();

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_COMMAND_DATA_H_
