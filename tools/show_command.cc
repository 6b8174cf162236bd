// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "analysis/gpu_table.h"
#include "base/file.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "report/show/show.h"
#include "store/run_db.h"
#include "store/run_db_mark.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/gpu_option.h"
#include "tools/run_provenance.h"
#include "tools/show_diff.h"
#include "tools/show_sequence.h"

namespace xlatrace::tools {
namespace {

// Time limit for reading the dumps of one module, because a person waits.
constexpr int kSecondsForOne = 120;

struct ShowOptions {
  std::string what;
  std::string path;
  std::string format = "text";
  std::string gpu;
  std::string base;     // Empty: none.
  std::string modules;  // A dump of the passes; empty: none.
  int width = 0;        // 0: the terminal's.
  bool ascii = false;
  bool hlo = false;
  bool sequence = false;
  bool why = false;
  int64_t execution = 0;  // 0: not given.
};

Result<int> RunShow(ShowOptions options) {
  // The other way round is as clear.
  const bool named_like_a_run = options.what.ends_with(".db") || options.what.ends_with(".rec");
  if (!Exists(options.path) && (store::LooksLikeRunDb(options.what) || named_like_a_run)) {
    std::swap(options.what, options.path);
  }
  if (!options.base.empty()) {
    if (options.format == "json") {
      return MakeError("show --base is text; the same as JSON is in diff --format json",
                       fmt::format("xlatrace diff {} {} --format json", ShellWord(options.base),
                                   ShellWord(options.path)),
                       ErrorCode::kUsage);
    }
    const Terminal screen = DetectTerminal();
    XLATRACE_ASSIGN(const std::string lines,
                    ShowDiff(options.base, options.path, options.what,
                             {.width = options.width > 0 ? options.width : screen.width,
                              .ascii = options.ascii || !screen.utf8}));
    XLATRACE_TRY(PrintResult(lines));
    return 0;
  }
  report::ShowOptions show;
  XLATRACE_ASSIGN(show.gpu, GpuOfOption(options.gpu));
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  const Terminal terminal = DetectTerminal();
  if (options.sequence || options.why || options.execution != 0) {
    SequenceOptions sequence;
    sequence.width = options.width > 0 ? options.width : terminal.width;
    sequence.why = options.why;
    if (options.execution != 0) sequence.execution = options.execution;
    XLATRACE_ASSIGN(const std::string lines, ShowSequence(db, options.what, sequence));
    XLATRACE_TRY(PrintResult(lines));
    return 0;
  }
  show.json = options.format == "json";
  show.width = options.width > 0 ? options.width : terminal.width;
  show.ascii = options.ascii || !terminal.utf8;
  show.color = terminal.color;
  show.whole_hlo = options.hlo;
  if (!options.modules.empty()) {
    show.provenance = [&](int64_t module_id, const std::string& instruction) {
      return ReadProvenance(db, options.modules, {{module_id, instruction}},
                            ForSeconds(kSecondsForOne));
    };
  }
  XLATRACE_ASSIGN(const std::string text, report::Show(db, options.what, show));
  XLATRACE_TRY(PrintResult(text));
  return 0;
}

}  // namespace

void AddShowCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command =
      app.add_subcommand("show", "Print everything about one op, kernel, module, layer or finding");
  command
      ->add_option("WHAT", options->what,
                   "A handle (o17, k3, m2, f1), a layer, FILE:LINE, or a name")
      ->required();
  command->add_option("RUN", options->path, "A run.db, or the run.rec it comes from")->required();
  command->add_option("--gpu", options->gpu, "The same launches on another GPU (h100, mi300x)")
      ->type_name("NAME");
  command
      ->add_option("--base", options->base,
                   "Beside what it was in this run: times, causes, both HLO texts")
      ->type_name("RUN");
  command
      ->add_option("--modules", options->modules,
                   "A dump of XLA's passes, folder or archive: where the op came from")
      ->type_name("DIR");
  command->add_flag("--hlo", options->hlo, "All of the HLO, however long");
  command->add_flag("--sequence", options->sequence,
                    "Module: its thunks in order, beside the launches of an execution");
  command->add_flag("--why", options->why,
                    "With --sequence: what kept each launch that is not exact from being so");
  command->add_option("--execution", options->execution,
                      "With --sequence: execution_id; default: the first complete one");
  command->add_option("--format", options->format, "text or json")
      ->check(OneOf({"text", "json"}))
      ->capture_default_str();
  command->add_option("--width", options->width, "Columns of the text; default: the terminal's")
      ->check(CLI::Range(60, 400));
  command->add_flag("--ascii", options->ascii, "No block characters");
  command->footer("Example:\n  xlatrace show o1 run.db\n  xlatrace show layers.py:88 run.db");
  command->callback([options, selected] { *selected = [options] { return RunShow(*options); }; });
}

}  // namespace xlatrace::tools
