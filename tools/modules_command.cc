// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "dumps/dump_dir.h"
#include "recording/folder.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/module_list.h"
#include "tools/module_list_output.h"
#include "tools/module_text.h"

namespace xlatrace::tools {
namespace {

struct ModulesOptions {
  std::vector<std::string> arguments;
  std::string module;
  std::string format = "table";
  bool all = false;
};

// "dump", "dump 3", "dump_a dump_b", "dump_a dump_b jit_step": what is there is looked into, the
// last word may name a module.
Status SplitArguments(ModulesOptions& options, std::vector<std::string>& paths) {
  paths = {options.arguments.front()};
  for (size_t i = 1; i < options.arguments.size(); ++i) {
    const std::string& argument = options.arguments[i];
    if (dumps::MayHoldDumps(argument)) {
      paths.push_back(argument);
    } else if (i + 1 == options.arguments.size()) {
      options.module = argument;
    } else {
      return MakeError(fmt::format("'{}' is no folder, archive or HLO file", argument),
                       "xlatrace modules FOLDER... [MODULE]", ErrorCode::kUsage);
    }
  }
  if (paths.size() > 1) return {};
  // A folder of a profiler may hold dumps, which have more about modules.
  if (!dumps::MayHoldDumps(paths.front()) || recording::LooksLikeRecordingFolder(paths.front())) {
    XLATRACE_ASSIGN(paths.front(), FoldedRun(paths.front()));
  }
  return {};
}

// A single file of which nothing could be read: that is an error, not a list of one module.
Status AnythingRead(const ModuleList& list) {
  if (list.of_run || list.modules.size() != 1) return {};
  const ListedModule& module = list.modules.front();
  if (module.summary || module.error.empty() || !IsRegularFile(list.path)) return {};
  return MakeError(module.error, fmt::format("xlatrace explain {}", ShellWord(list.path)));
}

Result<int> RunModules(ModulesOptions options) {
  std::vector<std::string> paths;
  XLATRACE_TRY(SplitArguments(options, paths));
  XLATRACE_ASSIGN(const ModuleList list, ListModules(paths));
  XLATRACE_TRY(AnythingRead(list));
  std::vector<size_t> which(list.modules.size());
  std::iota(which.begin(), which.end(), size_t{0});
  if (!options.module.empty()) {
    XLATRACE_ASSIGN(which, SelectModules(list, options.module));
  }
  if (options.format == "text") {
    if (which.size() != 1) {
      return MakeError(fmt::format("text is of one module; {} are meant", which.size()),
                       "name one by its id: xlatrace modules run.db m1 --format text",
                       ErrorCode::kUsage);
    }
    XLATRACE_ASSIGN(const std::string hlo, ModuleText(list, which.front()));
    XLATRACE_TRY(PrintResult(hlo));
    return 0;
  }
  std::string text;
  if (options.format == "json") {
    text = ModuleListJson(list, which);
  } else if (!options.module.empty()) {
    text = ModuleCards(list, which, options.all, DetectTerminal());
  } else {
    text = ModuleListText(list, options.all, DetectTerminal());
  }
  XLATRACE_TRY(PrintResult(text));
  return 0;
}

}  // namespace

void AddModulesCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<ModulesOptions>();
  CLI::App* command = app.add_subcommand(
      "modules", "List the modules of a run.db or a dump folder, and name the main program");
  command
      ->add_option("PATH", options->arguments,
                   "A run.db, or --xla_dump_to folders, archives of them, HLO files. The id "
                   "or name of a module at the end shows that module in detail")
      ->required();
  command->add_flag("--all", options->all, "Leave nothing out");
  command->add_option("--format", options->format, "table, json, or text: the HLO of one module")
      ->check(OneOf({"table", "json", "text"}))
      ->capture_default_str();
  command->footer(
      "Example:\n  xlatrace modules dump/\n  xlatrace modules dump.tar.xz train_step\n"
      "  xlatrace modules run.db m1");
  command->callback(
      [options, selected] { *selected = [options] { return RunModules(*options); }; });
}

}  // namespace xlatrace::tools
