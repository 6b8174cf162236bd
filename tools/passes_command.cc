// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/terminal.h"
#include "dumps/dump_dir.h"
#include "dumps/instruction_history.h"
#include "dumps/pass_changes.h"
#include "dumps/pass_timeline.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/dump_modules.h"
#include "tools/passes_output.h"

namespace xlatrace::tools {
namespace {

struct PassesOptions {
  std::vector<std::string> arguments;  // The path of the dump and the module.
  std::string path;
  std::string module;
  std::string from;
  std::string to;
  std::string instruction;
  std::string format = "table";
  bool all = false;
};

Result<size_t> StepOption(const std::vector<dumps::PassStep>& steps, const std::string& wanted,
                          const char* option, bool last) {
  const size_t step = dumps::FindStep(steps, wanted, last);
  if (step < steps.size()) return step;
  return MakeError(fmt::format("{}: no dump '{}' of this module", option, wanted),
                   "give the number of a dump, a pass, before or after; xlatrace passes without "
                   "options lists them",
                   ErrorCode::kUsage);
}

Result<PassesView> ReadView(PassesOptions& options) {
  options.module = options.arguments.back();
  options.arguments.pop_back();
  XLATRACE_ASSIGN(dumps::DumpDir dir, dumps::ListDumpDirs(options.arguments));
  options.path = dir.path;
  XLATRACE_ASSIGN(const size_t index, FindDumpModule(dir, options.module));
  PassesView view;
  view.path = options.path;
  view.module_name = dir.modules[index].name;
  view.program_id = dir.modules[index].program_id;
  view.steps = dumps::StepsOf(dir.modules[index]);
  if (view.steps.size() < 2) {
    return MakeError(
        fmt::format("'{}' has no dumps of passes of module {}", options.path, options.module),
        "dump them with XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*'");
  }
  if (!options.instruction.empty()) {
    XLATRACE_ASSIGN(view.history, dumps::HistoryOf(view.steps, options.instruction));
    view.instruction = options.instruction;
    return view;
  }
  if (!options.from.empty() || !options.to.empty()) {
    PassesView::Comparison comparison;
    comparison.to = view.steps.size() - 1;
    if (!options.from.empty()) {
      XLATRACE_ASSIGN(comparison.from, StepOption(view.steps, options.from, "--from", false));
    }
    if (!options.to.empty()) {
      XLATRACE_ASSIGN(comparison.to, StepOption(view.steps, options.to, "--to", true));
    }
    XLATRACE_ASSIGN(comparison.before, dumps::ReadHloFile(view.steps[comparison.from].file));
    XLATRACE_ASSIGN(comparison.after, dumps::ReadHloFile(view.steps[comparison.to].file));
    comparison.diff = dumps::Diff(comparison.before, comparison.after);
    view.comparison = std::move(comparison);
    return view;
  }
  view.counts = dumps::CountSteps(view.steps);
  return view;
}

Result<int> RunPasses(PassesOptions options) {
  XLATRACE_ASSIGN(const PassesView view, ReadView(options));
  XLATRACE_TRY(PrintResult(options.format == "json"
                               ? PassesJson(view)
                               : PassesText(view, options.all, DetectTerminal())));
  return 0;
}

}  // namespace

void AddPassesCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<PassesOptions>();
  CLI::App* command = app.add_subcommand(
      "passes", "Print what each pass of the compiler changed in a module, from its dumps");
  command
      ->add_option("DIR... MODULE", options->arguments,
                   "Folders that --xla_dump_to filled, or archives of them; and the number or name "
                   "of a module in them")
      ->required()
      ->expected(2, 1000);
  command
      ->add_option("--from", options->from,
                   "First dump to compare: a number, a pass, before or after")
      ->type_name("DUMP");
  command
      ->add_option("--to", options->to,
                   "Second dump to compare, with what was fused, replaced, removed")
      ->type_name("DUMP");
  command
      ->add_option("--instruction", options->instruction,
                   "Print the passes that made and changed this instruction")
      ->type_name("NAME");
  command->add_flag("--all", options->all, "Leave nothing out");
  command->add_option("--format", options->format, "table or json")
      ->check(OneOf({"table", "json"}))
      ->capture_default_str();
  command->footer(
      "Dumps of passes are written with\n"
      "  XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*'\n"
      "Example:\n"
      "  xlatrace passes dump/ train_step\n"
      "  xlatrace passes dump/ train_step --from 73 --to priority-fusion\n"
      "  xlatrace passes dump/ train_step --instruction loop_add_fusion.3");
  command->callback([options, selected] { *selected = [options] { return RunPasses(*options); }; });
}

}  // namespace xlatrace::tools
