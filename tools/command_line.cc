// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/commands.h"
#include "tools/console.h"
#include "tools/help_format.h"
#include "tools/unknown_command.h"
#include "tools/version.h"

namespace xlatrace::tools {

int RunCommandLine(int argc, char** argv) {
  CLI::App app{
      "Profiler and trace correlation for XLA programs: which line of the model, which "
      "layer, forward or backward, and why it is slow.",
      "xlatrace"};
  app.set_version_flag("--version", std::string("xlatrace ") + kVersion,
                       "Print the version and exit");
  app.formatter(MakeHelpFormatter());
  app.set_help_flag("-h,--help", "Print this and exit");
  app.footer(
      "The main job:\n"
      "  xlatrace record -- python train.py    # leaves run.db\n"
      "  xlatrace summary run.db               # the answer in the terminal\n"
      "  xlatrace report run.db                # the answer as run.html");
  app.require_subcommand(0, 1);  // A name of a command after the command is an argument.
  Command selected;
  AddRecordCommand(app, &selected);
  AddImportCommand(app, &selected);
  AddAttachCommand(app, &selected);
  AddSummaryCommand(app, &selected);
  AddShowCommand(app, &selected);
  AddWhatIfCommand(app, &selected);
  AddReportCommand(app, &selected);
  AddModulesCommand(app, &selected);
  AddExplainCommand(app, &selected);
  AddPassesCommand(app, &selected);
  AddFindCommand(app, &selected);
  AddExportCommand(app, &selected);
  AddDiffCommand(app, &selected);
  AddGateCommand(app, &selected);
  AddMergeCommand(app, &selected);
  AddQueryCommand(app, &selected);
  AddMcpCommand(app, &selected);
  AddControlCommand(app, &selected);
  AddLibCommand(app, &selected);
  AddDoctorCommand(app, &selected);
  AddCompletionCommand(app, &selected);
  AddManCommand(app, &selected);
  std::vector<std::string> commands;
  for (const CLI::App* sub : app.get_subcommands({})) commands.push_back(sub->get_name());
  std::vector<const char*> arguments(argv, argv + argc);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "diff" || first == "gate") {
    // BASE... -- NEW...: CLI11 would make one list of both.
    const auto dashes = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
    if (dashes != arguments.end()) *dashes = "--new";
  }
  if (first == "help") {  // As git has it.
    arguments.erase(arguments.begin() + 1);
    arguments.push_back("--help");
  } else if (argc > 1 && !first.starts_with('-') &&
             std::find(commands.begin(), commands.end(), first) == commands.end()) {
    const Error error = UnknownCommand({argv + 1, argv + argc}, commands);
    PrintError(error);
    return static_cast<int>(error.code);
  }
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      const Status printed = PrintResult("");
      if (!printed) PrintError(printed.error());
      return printed ? 0 : 1;
    }
    PrintError(UsageError(app, error));
    return static_cast<int>(ErrorCode::kUsage);
  }
  if (!selected) {
    PrintError({"no command given",
                "xlatrace record -- python train.py; all commands: xlatrace --help",
                ErrorCode::kUsage});
    return static_cast<int>(ErrorCode::kUsage);
  }
  const std::string name = app.get_subcommands().front()->get_name();
  std::optional<Progress> progress;
  // These two leave the terminal to the program that they start or serve.
  if (name != "record" && name != "mcp") progress.emplace(name);
  const Result<int> status = selected();
  progress.reset();
  if (status) return *status;
  PrintError(status.error());
  return static_cast<int>(status.error().code);
}

}  // namespace xlatrace::tools
