// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "analysis/replay/graph.h"
#include "analysis/replay/what_if.h"
#include "analysis/timeline.h"
#include "base/terminal.h"
#include "store/run_db.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/loaded_run.h"
#include "tools/what_if_change.h"
#include "tools/what_if_output.h"

namespace xlatrace::tools {
namespace {

namespace replay = analysis::replay;

struct WhatIfOptions {
  std::string path;
  WhatIfWords words;
  std::string format = "text";
  int width = 0;  // 0: the terminal's.
  int rows = 8;
};

Result<int> RunWhatIf(const WhatIfOptions& options) {
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  XLATRACE_ASSIGN(const LoadedRun loaded, LoadRun(db));
  XLATRACE_ASSIGN(const WhatIfChange change, ReadChange(db, loaded, options.words));
  const analysis::HostCallOf call_of = loaded.CallOf();
  const replay::Input input = {loaded.run,     loaded.attribution, loaded.steps,
                               loaded.step_of, loaded.gaps,        call_of,
                               loaded.waits};
  const std::vector<analysis::ActivityClass> classes =
      analysis::ClassifyActivities(loaded.run, loaded.attribution);
  const replay::Graph graph = replay::BuildGraph(input, classes);
  if (graph.spans.empty()) {
    return MakeError(fmt::format("'{}' has nothing to replay: no launch has a time", run),
                     fmt::format("xlatrace summary {}", run));
  }
  WhatIfAnswer answer;
  answer.path = run;
  answer.error = replay::MeasureError(graph, input);
  answer.change = &change;
  answer.withheld = answer.error && answer.error->milli_pct > replay::kMaxErrorMilliPct;
  answer.prediction = replay::Predict(graph, input, change.change, answer.error);
  const Terminal terminal = DetectTerminal();
  const WhatIfStyle style = {.width = options.width > 0 ? options.width : terminal.width,
                             .ascii = !terminal.utf8,
                             .rows = options.rows};
  XLATRACE_TRY(PrintResult(options.format == "json"
                               ? WhatIfJson(loaded, input, graph, answer, style)
                               : WhatIfText(loaded, input, graph, answer, style)));
  return 0;
}

}  // namespace

void AddWhatIfCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<WhatIfOptions>();
  CLI::App* command =
      app.add_subcommand("what-if", "Predict the step time after a change, by replay");
  WhatIfWords& words = options->words;
  command->add_option("RUN", options->path, "A run.db, or the run.rec it comes from")->required();
  command
      ->add_option("--op", words.ops,
                   "An op takes this many times as long: o17=0.5x, fusion.9=2x; also "
                   "kind:gemm=0.8x, phase:backward=0.9x")
      ->type_name("OP=FACTOR")
      ->allow_extra_args(false);
  command
      ->add_option("--kernel", words.kernels,
                   "A kernel takes this many times as long: k3=0.5x, or its name")
      ->type_name("KERNEL=FACTOR")
      ->allow_extra_args(false);
  command->add_option("--without", words.without, "An op, kernel or phase is not there: o17, k3")
      ->type_name("OP")
      ->allow_extra_args(false);
  command->add_flag("--no-gaps{all}", words.gaps,
                    "The device never waits for the host; --no-gaps=CAUSE only where host, input, "
                    "synchronisation, launch_bound, copy, compile or unknown is why");
  command
      ->add_option("--collective-bandwidth", words.collective_bandwidth,
                   "Collectives are this many times as fast: 2x")
      ->type_name("FACTOR");
  command->add_option("--copies", words.copies, "Copies are hidden behind computation, or gone")
      ->check(OneOf({"hidden", "gone"}));
  command->add_flag("--early-collectives", words.early_collectives,
                    "Collectives begin as soon as their operands are there");
  command->add_flag("--one-launch", words.one_launch,
                    "All launches of a module's execution are one, as under one CUDA graph");
  command->add_flag("--no-recompute", words.no_recompute, "Nothing is computed twice");
  command->add_option("--top", options->rows, "Rows of the new critical path")
      ->check(CLI::Range(1, 1'000));
  command->add_option("--format", options->format, "text or json")
      ->check(OneOf({"text", "json"}))
      ->capture_default_str();
  command->add_option("--width", options->width, "Columns of the text; default: the terminal's")
      ->check(CLI::Range(60, 400));
  command->footer(
      "Several changes are replayed together. Without one, the step as it is.\n"
      "Examples:\n  xlatrace what-if run.db --op o17=0.5x\n"
      "  xlatrace what-if run.db --without k3 --no-gaps --collective-bandwidth 2x");
  command->callback([options, selected] { *selected = [options] { return RunWhatIf(*options); }; });
}

}  // namespace xlatrace::tools
