// SPDX-License-Identifier: Apache-2.0

// The subcommands of `xlatrace`, one *_command.cc each. Every Add function declares its options on
// the command line. It sets `selected` to the function to run if the user chose this command.
//
// A command returns the exit status, or an Error whose code is the exit status.

#ifndef XLATRACE_TOOLS_COMMANDS_H_
#define XLATRACE_TOOLS_COMMANDS_H_

#include <functional>

#include "base/error.h"

namespace CLI {
class App;
}

namespace xlatrace::tools {

using Command = std::function<Result<int>()>;

void AddRecordCommand(CLI::App& app, Command* selected);
void AddControlCommand(CLI::App& app, Command* selected);
void AddLibCommand(CLI::App& app, Command* selected);
void AddImportCommand(CLI::App& app, Command* selected);
void AddAttachCommand(CLI::App& app, Command* selected);
void AddReportCommand(CLI::App& app, Command* selected);
void AddShowCommand(CLI::App& app, Command* selected);
void AddWhatIfCommand(CLI::App& app, Command* selected);
void AddSummaryCommand(CLI::App& app, Command* selected);
void AddModulesCommand(CLI::App& app, Command* selected);
void AddExplainCommand(CLI::App& app, Command* selected);
void AddPassesCommand(CLI::App& app, Command* selected);
void AddFindCommand(CLI::App& app, Command* selected);
void AddExportCommand(CLI::App& app, Command* selected);
void AddGateCommand(CLI::App& app, Command* selected);
void AddDiffCommand(CLI::App& app, Command* selected);
void AddMergeCommand(CLI::App& app, Command* selected);
void AddQueryCommand(CLI::App& app, Command* selected);
void AddMcpCommand(CLI::App& app, Command* selected);
void AddDoctorCommand(CLI::App& app, Command* selected);
void AddCompletionCommand(CLI::App& app, Command* selected);
// Must be called after all other commands, because its argument lists them.
void AddManCommand(CLI::App& app, Command* selected);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_COMMANDS_H_
