// SPDX-License-Identifier: Apache-2.0

// `xlatrace attach run.db --modules PATH...`: HLO that came later. The run is attributed and
// analysed again from what it holds; the trace or recording it came from is not read.

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "store/run_db_mark.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/pipeline.h"
#include "tools/trace_run.h"
#include "tools/user_code_option.h"

namespace xlatrace::tools {
namespace {

struct AttachOptions {
  std::string run;
  std::vector<std::string> modules;
};

Result<int> RunAttach(const AttachOptions& options) {
  if (options.modules.empty() && std::getenv(kUserCodeVariable) == nullptr) {
    return MakeError("attach needs --modules or --user-code",
                     "xlatrace attach run.db --modules /tmp/xla_dump", ErrorCode::kUsage);
  }
  if (!store::LooksLikeRunDb(options.run) && IsTrace(options.run)) {
    return MakeError(
        fmt::format("'{}' is a trace, to which nothing can be added", options.run),
        fmt::format("xlatrace import {} --modules {} -o run.db", ShellWord(options.run),
                    ShellWord(options.modules.empty() ? "PATH" : options.modules.front())),
        ErrorCode::kUsage);
  }
  XLATRACE_ASSIGN(const std::string path, FoldedRun(options.run));
  struct stat before {};
  const bool known = stat(path.c_str(), &before) == 0;
  BuildRequest request;
  request.run = path;
  request.module_paths = options.modules;
  request.output = path;
  XLATRACE_ASSIGN(const BuildOutcome outcome, BuildRun(request));
  // A run that only its owner may read stays one.
  if (known) chmod(path.c_str(), before.st_mode & 07777);
  for (const Error& error : outcome.skipped) Warn("skipped: " + error.message);
  Note(outcome.new_modules == 0 ? std::string("the run holds all of these modules already")
                                : fmt::format("{} module{} added", outcome.new_modules,
                                              outcome.new_modules == 1 ? "" : "s"));
  Note(BuildSentence(outcome, path));
  Note(fmt::format("next: xlatrace summary {}", ShellWord(path)));
  return 0;
}

}  // namespace

void AddAttachCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<AttachOptions>();
  CLI::App* command =
      app.add_subcommand("attach", "Add HLO that came later to a run.db, and attribute it again");
  command->add_option("RUN", options->run, "run.db, or the recording it is folded from")
      ->required();
  command
      ->add_option("--modules", options->modules,
                   "XLA dump folders, HLO files or profiles to take modules from")
      ->type_name("PATH");
  AddUserCodeOption(command);
  command->footer("Example:\n  xlatrace attach run.db --modules /tmp/xla_dump");
  command->callback([options, selected] { *selected = [options] { return RunAttach(*options); }; });
}

}  // namespace xlatrace::tools
