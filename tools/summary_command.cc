// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/terminal.h"
#include "report/compile/compile_summary.h"
#include "report/memory/memory_text.h"
#include "report/other_gpu.h"
#include "report/run_view.h"
#include "report/summary/summary.h"
#include "report/summary/summary_slices.h"
#include "report/time_tree/host_table.h"
#include "report/time_tree/time_tree_text.h"
#include "store/run_db.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/gpu_option.h"

namespace xlatrace::tools {
namespace {

constexpr char kByTree[] = "tree";
constexpr char kByCompile[] = "compile";
constexpr char kByHost[] = "host";
constexpr char kByMemory[] = "memory";

struct SummaryOptions {
  bool strict = false;
  std::string path;
  std::string by = "op";
  std::string format = "text";
  int width = 0;  // 0: the terminal's.
  bool ascii = false;
  std::string phase, scope;
  std::string sort = "time";
  size_t top = 0;
  bool only_table = false;
  std::string gpu;
};

// `--gpu`: instead of the summary, what another GPU would do with the same launches.
Result<int> RunOnGpu(const SummaryOptions& options, const analysis::Gpu* gpu) {
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  const Terminal terminal = DetectTerminal();
  report::ShowOptions show;
  show.gpu = gpu;
  show.json = options.format == "json";
  show.width = options.width > 0 ? options.width : terminal.width;
  show.ascii = options.ascii || !terminal.utf8;
  XLATRACE_ASSIGN(const std::string text, report::SummaryOnGpu(db, show));
  XLATRACE_TRY(PrintResult(text));
  return 0;
}

// `--by tree`, `--by host`: instead of the summary, the parts of all recorded time, or the host
// code that devices waited for.
Result<int> RunTimeTree(const SummaryOptions& options) {
  if (options.format != "text" && options.format != "json") {
    return MakeError(fmt::format("--by {} has no format '{}'", options.by, options.format),
                     "use --format text or --format json");
  }
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  const Terminal terminal = DetectTerminal();
  const report::TimeTreeOptions tree{
      .width = options.width > 0 ? options.width : terminal.width,
      .ascii = options.ascii || !terminal.utf8,
      .rows = options.top,
  };
  const bool json = options.format == "json";
  auto text = options.by == kByHost
                  ? (json ? report::HostTableJson(db, tree) : report::HostTableText(db, tree))
                  : (json ? report::TimeTreeJson(db) : report::TimeTreeText(db, tree));
  if (!text) return tl::unexpected<Error>(std::move(text).error());
  XLATRACE_TRY(PrintResult(*text));
  return 0;
}

// `--by compile`: instead of the summary, functions and their compilations.
Result<int> RunCompile(const SummaryOptions& options) {
  if (options.format != "text" && options.format != "json") {
    return MakeError(fmt::format("--by compile has no format '{}'", options.format),
                     "use --format text or --format json");
  }
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  XLATRACE_ASSIGN(const report::CompileFigures figures, report::LoadCompileFigures(db));
  const Terminal terminal = DetectTerminal();
  const report::CompileTextOptions text{
      .width = options.width > 0 ? options.width : terminal.width,
      .ascii = options.ascii || !terminal.utf8,
      .rows = options.top,
  };
  XLATRACE_TRY(PrintResult(options.format == "json" ? report::CompileJson(figures)
                                                    : report::CompileText(figures, text)));
  return 0;
}

// `--by memory`: instead of the summary, the device memory of programs.
Result<int> RunMemory(const SummaryOptions& options) {
  if (options.format != "text" && options.format != "json") {
    return MakeError(fmt::format("--by memory has no format '{}'", options.format),
                     "use --format text or --format json");
  }
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  const Terminal terminal = DetectTerminal();
  const report::MemoryTextOptions memory{
      .width = options.width > 0 ? options.width : terminal.width,
      .ascii = options.ascii || !terminal.utf8,
      .rows = static_cast<size_t>(options.top),
  };
  XLATRACE_ASSIGN(const std::string text, options.format == "json"
                                              ? report::MemoryJson(db, memory)
                                              : report::MemoryText(db, memory));
  XLATRACE_TRY(PrintResult(text));
  return 0;
}

Result<int> RunSummary(const SummaryOptions& options) {
  if (options.by == kByTree || options.by == kByHost) return RunTimeTree(options);
  if (options.by == kByCompile) return RunCompile(options);
  if (options.by == kByMemory) return RunMemory(options);
  XLATRACE_ASSIGN(const analysis::Gpu* gpu, GpuOfOption(options.gpu));
  if (gpu != nullptr) return RunOnGpu(options, gpu);
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  XLATRACE_ASSIGN(const report::RunView view, report::LoadRunView(db));
  const Terminal terminal = DetectTerminal();
  report::SummaryOptions summary;
  summary.by = *report::ByFromText(options.by);
  summary.width = options.width > 0 ? options.width : terminal.width;
  summary.ascii = options.ascii || !terminal.utf8;
  summary.color = terminal.color;
  summary.rows = options.top;
  summary.only_table = options.only_table;
  const report::SummaryFilter filter{options.phase, options.scope};
  report::RunView table = view;
  if (!filter.phase.empty() || !filter.scope.empty()) {
    if (!report::CanFilter(summary.by)) {
      return MakeError(fmt::format("--by {} cannot be cut by --phase or --scope", options.by),
                       "they go with --by op, layer, source, phase, op_kind and module");
    }
    XLATRACE_TRY(report::ApplyFilter(db, filter, table));
  }
  XLATRACE_TRY(report::LoadSlices(db, summary.by, table));
  if (options.sort != "time") report::SortOps(*report::SortFromText(options.sort), table);
  summary.table = &table;
  const std::string text = options.format == "json"  ? report::SummaryJson(view, summary)
                           : options.format == "csv" ? report::SummaryCsv(view, summary)
                           : options.format == "md"  ? report::SummaryMarkdown(view, summary)
                                                     : report::SummaryText(view, summary);
  XLATRACE_TRY(PrintResult(text));
  return options.strict ? StrictStatus(view.lost, view.errors, view.losses.more_possible()) : 0;
}

}  // namespace

void AddSummaryCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<SummaryOptions>();
  CLI::App* command = app.add_subcommand("summary", "Print where the time of a run goes");
  command->add_option("RUN", options->path, "A run.db, or the run.rec it comes from")->required();
  std::vector<std::string> words;
  for (const std::string_view word : report::ByTexts()) words.emplace_back(word);
  words.emplace_back(kByTree);
  words.emplace_back(kByCompile);
  words.emplace_back(kByHost);
  words.emplace_back(kByMemory);
  command
      ->add_option(
          "--by", options->by,
          "op, phase, layer, scope, source, stack, kernel, op_kind, origin, module, step, device "
          "or "
          "rank. Other tables: tree (parts of all recorded time), compile (compilations and "
          "causes), host (code that devices waited for), memory (buffers)")
      ->type_name("WHAT")
      ->check(OneOfDescribed(words))
      ->capture_default_str();
  command->add_option("--phase", options->phase, "Only this phase: forward, backward, ...")
      ->type_name("PHASE");
  command
      ->add_option("--scope", options->scope,
                   "Only layers or source files that match ('layer_*', 'attention.py')")
      ->type_name("PATTERN");
  command->add_option("--top", options->top, "Rows of the table; JSON gets short as well")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--table", options->only_table, "Only the table of --by, as text");
  command->add_option("--sort", options->sort, "Order of ops: time, calls, average or waste")
      ->check(OneOf({"time", "calls", "average", "waste"}))
      ->capture_default_str();
  command->add_option("--format", options->format, "text, json, csv or md")
      ->check(OneOf({"text", "json", "csv", "md"}))
      ->capture_default_str();
  command->add_option("--width", options->width, "Columns of the text; default: the terminal's")
      ->check(CLI::Range(60, 400));
  command->add_flag("--ascii", options->ascii, "No block characters");
  command
      ->add_option("--gpu", options->gpu, "Predict the same launches on another GPU (h100, mi300x)")
      ->type_name("NAME");
  AddStrictFlag(*command, &options->strict);
  command->footer(
      "Examples:\n  xlatrace summary run.db\n"
      "  xlatrace summary run.db --by layer --phase backward\n"
      "  xlatrace summary run.db --by tree\n"
      "  xlatrace summary run.db --by compile");
  command->callback(
      [options, selected] { *selected = [options] { return RunSummary(*options); }; });
}

}  // namespace xlatrace::tools
