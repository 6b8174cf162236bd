// The `xlatrace` program: reads the command line, runs one subcommand, prints its error.

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/help_format.h"
#include "tools/unknown_command.h"
#include "tools/version.h"

namespace {

// Ctrl-C during our own work: nothing half-written stays behind.
void OnInterrupt(int signal) {
  xlatrace::RemoveTemporaryFilesOnSignal();
  _exit(128 + signal);
}

// Unless whoever started us has this signal ignored, as `nohup` does.
void EndTidily(int signal) {
  if (std::signal(signal, OnInterrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
}

// Whoever closed one of the three must not find our messages in the next file that we open. Open
// for reading only, so that a result that has no place is still an error; closed again for
// children.
void FillClosedDescriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (opened > 2) close(opened);
  }
}

int Run(int argc, char** argv) {
  using namespace xlatrace;
  CLI::App app{
      "Profiler and trace correlation for XLA programs: which line of the model, which "
      "layer, forward or backward, and why it is slow.",
      "xlatrace"};
  app.set_version_flag("--version", std::string("xlatrace ") + tools::kVersion,
                       "Print the version and exit");
  app.formatter(tools::MakeHelpFormatter());
  app.set_help_flag("-h,--help", "Print this and exit");
  app.footer(
      "The main job:\n"
      "  xlatrace record -- python train.py    # leaves run.db\n"
      "  xlatrace summary run.db               # the answer in the terminal\n"
      "  xlatrace report run.db                # the answer as run.html");
  tools::Command selected;
  tools::AddRecordCommand(app, &selected);
  tools::AddImportCommand(app, &selected);
  tools::AddAttachCommand(app, &selected);
  tools::AddSummaryCommand(app, &selected);
  tools::AddShowCommand(app, &selected);
  tools::AddWhatIfCommand(app, &selected);
  tools::AddReportCommand(app, &selected);
  tools::AddModulesCommand(app, &selected);
  tools::AddExplainCommand(app, &selected);
  tools::AddPassesCommand(app, &selected);
  tools::AddFindCommand(app, &selected);
  tools::AddExportCommand(app, &selected);
  tools::AddDiffCommand(app, &selected);
  tools::AddGateCommand(app, &selected);
  tools::AddMergeCommand(app, &selected);
  tools::AddQueryCommand(app, &selected);
  tools::AddControlCommand(app, &selected);
  tools::AddLibCommand(app, &selected);
  tools::AddDoctorCommand(app, &selected);
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
    const Error error = tools::UnknownCommand({argv + 1, argv + argc}, commands);
    tools::PrintError(error);
    return static_cast<int>(error.code);
  }
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      const Status printed = tools::PrintResult("");
      if (!printed) tools::PrintError(printed.error());
      return printed ? 0 : 1;
    }
    tools::PrintError(tools::UsageError(app, error));
    return static_cast<int>(ErrorCode::kUsage);
  }
  if (!selected) {
    tools::PrintError({"what to do? No command was given",
                       "xlatrace record -- python train.py; all commands: xlatrace --help",
                       ErrorCode::kUsage});
    return static_cast<int>(ErrorCode::kUsage);
  }
  const Result<int> status = selected();
  if (status) return *status;
  tools::PrintError(status.error());
  return static_cast<int>(status.error().code);
}

}  // namespace

int main(int argc, char** argv) {
  // Columns of millions of rows grow by copies. By itself malloc soon takes even these from the
  // heap, where each smaller copy leaves a hole: a quarter of the peak of a large import.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  FillClosedDescriptors();
  std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXFSZ}) EndTidily(signal);
  try {
    return Run(argc, argv);
  } catch (const std::bad_alloc&) {
    xlatrace::tools::PrintError({"out of memory", "run it on a machine with more memory", {}});
  } catch (const std::exception& error) {
    xlatrace::tools::PrintError({fmt::format("internal error: {}", error.what()),
                                 "please report it with the command line",
                                 {}});
  }
  return 1;
}
