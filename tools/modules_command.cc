#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/terminal.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/module_list.h"
#include "tools/module_list_output.h"
#include "tools/module_text.h"

namespace xlatrace::tools {
namespace {

struct Options {
  std::string path;
  std::string module;
  std::string format = "table";
  bool all = false;
};

Result<int> Run(const Options& options) {
  XLATRACE_ASSIGN(const std::string path, FoldedRun(options.path));
  XLATRACE_ASSIGN(const ModuleList list, ListModules(path));
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
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "modules", "Which modules a run.db or a dump folder holds, and which is the main program");
  command->add_option("PATH", options->path, "A run.db or an --xla_dump_to folder")->required();
  command->add_option("MODULE", options->module,
                      "Show this one in detail: its id, its name, or part of it");
  command->add_flag("--all", options->all, "Leave nothing out");
  command->add_option("--format", options->format, "table, json, or text: the HLO of one module")
      ->check(CLI::IsMember({"table", "json", "text"}))
      ->capture_default_str();
  command->footer("Example:\n  xlatrace modules dump/\n  xlatrace modules run.db m1");
  command->callback([options, selected] { *selected = [options] { return Run(*options); }; });
}

}  // namespace xlatrace::tools
