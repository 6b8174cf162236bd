// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "dumps/dump_dir.h"
#include "report/compare/compare_output.h"
#include "store/run_db_mark.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/compare_dumps.h"
#include "tools/console.h"
#include "tools/run_set.h"
#include "tools/trace_run.h"

namespace xlatrace::tools {
namespace {

struct DiffOptions {
  std::vector<std::string> base, now;
  std::string by = "op";
  std::string format = "text";
  std::string module;
  int width = 0;
  bool ascii = false;
  size_t top = 0;
};

bool IsRun(const std::string& path) {
  return store::LooksLikeRunDb(path) || path.ends_with(".db") || path.ends_with(".rec") ||
         (!dumps::MayHoldDumps(path) && IsTrace(path));
}

Result<int> RunDiff(DiffOptions options) {
  // `diff BASE... -- NEW...`; without the dashes one of each.
  if (options.now.empty()) {
    if (options.base.size() != 2) {
      return MakeError(fmt::format("diff takes two runs, not {}", options.base.size()),
                       "several runs a side: xlatrace diff a1.db a2.db -- b1.db b2.db",
                       ErrorCode::kUsage);
    }
    options.now = {options.base[1]};
    options.base.resize(1);
  }
  if (IsRun(options.base[0]) != IsRun(options.now[0])) {
    const bool run_first = IsRun(options.base[0]);
    const std::string& run = run_first ? options.base[0] : options.now[0];
    const std::string& dump = run_first ? options.now[0] : options.base[0];
    return MakeError(
        fmt::format("'{}' is a run and '{}' is none: two runs or two dumps are compared", run,
                    dump),
        fmt::format("the modules of a dump go into a run with: xlatrace attach {} --modules {}",
                    ShellWord(run), ShellWord(dump)),
        ErrorCode::kUsage);
  }
  if (!IsRun(options.base[0]) && !IsRun(options.now[0])) {
    if (options.base.size() != 1 || options.now.size() != 1 || options.format == "csv" ||
        options.format == "md") {
      return MakeError("dumps are compared one with one, as text or json",
                       "xlatrace diff DUMP DUMP", ErrorCode::kUsage);
    }
    CompareDumpsOptions dumps;
    dumps.module = options.module;
    dumps.json = options.format == "json";
    dumps.rows = options.top;
    XLATRACE_ASSIGN(const std::string text, CompareDumps(options.base[0], options.now[0], dumps));
    XLATRACE_TRY(PrintResult(text));
    return 0;
  }
  XLATRACE_ASSIGN(const ComparedRuns compared, CompareRunSets(options.base, options.now));
  const report::ComparisonView view{compared.base(), compared.now(), compared.comparison,
                                    compared.changes, compared.verdict};
  const Terminal terminal = DetectTerminal();
  report::CompareOptions output;
  output.by = *compare::ByFromText(options.by);
  output.width = options.width > 0 ? options.width : terminal.width;
  output.ascii = options.ascii || !terminal.utf8;
  output.rows = options.top;
  const std::string text = options.format == "json"  ? report::CompareJson(view, output)
                           : options.format == "csv" ? report::CompareCsv(view, output)
                           : options.format == "md"  ? report::CompareMarkdown(view, output)
                                                     : report::CompareText(view, output);
  XLATRACE_TRY(PrintResult(text));
  return 0;
}

}  // namespace

void AddDiffCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command =
      app.add_subcommand("diff", "Print the changes between two runs, and their causes");
  command
      ->add_option("BASE", options->base,
                   "Two runs or two dump folders; several runs of each side: BASE... -- NEW...")
      ->required();
  // The words after `--` (command_line.cc).
  command->add_option("--new", options->now, "The other runs, as after --")->type_name("NEW...");
  std::vector<std::string> words;
  for (const std::string_view word : compare::ByTexts()) words.emplace_back(word);
  command
      ->add_option("--by", options->by,
                   "Table by op, phase, layer, op_kind, source, kernel or module")
      ->type_name("WHAT")
      ->check(OneOfDescribed(words))
      ->capture_default_str();
  command->add_option("--format", options->format, "text, json, md or csv")
      ->check(OneOf({"text", "json", "md", "csv"}))
      ->capture_default_str();
  command->add_option("--module", options->module, "Dumps: only modules with this name")
      ->type_name("NAME");
  command->add_option("--top", options->top, "Rows of the table")->check(CLI::Range(1, 1'000'000));
  command->add_option("--width", options->width, "Columns of the text; default: the terminal's")
      ->check(CLI::Range(60, 400));
  command->add_flag("--ascii", options->ascii, "No block characters");
  command->footer(
      "Examples:\n  xlatrace diff before.db after.db\n"
      "  xlatrace diff b1.db b2.db b3.db b4.db -- a1.db a2.db a3.db a4.db\n"
      "  xlatrace diff dump_before/ dump_after/");
  command->callback([options, selected] { *selected = [options] { return RunDiff(*options); }; });
}

}  // namespace xlatrace::tools
