// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "importers/importer.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/input_list.h"
#include "tools/nsight_report.h"
#include "tools/pipeline.h"
#include "tools/user_code_option.h"

namespace xlatrace::tools {
namespace {

struct ImportOptions {
  BuildRequest request;
  bool force = false;
  bool strict = false;
};

Result<int> RunImport(const ImportOptions& options) {
  BuildRequest request = options.request;
  InputList inputs = ListInputs(request.inputs);
  request.inputs = std::move(inputs.files);
  for (const InputList::LeftOut& left : inputs.left_out) {
    Note(fmt::format("left out: '{}' {}", left.path, left.why));  // Also where the import fails.
    request.left_out.emplace_back(left.path, left.why);
  }
  // An unreadable input is reported before an existing output.
  for (const std::string& input : request.inputs) {
    if (request.inputs.size() == 1 && !IsExportableReport(input)) {
      XLATRACE_TRY(importers::Detect(input));
    }
  }
  for (const std::string& input : request.inputs) {
    if (IsSameFile(input, request.output)) {
      return MakeError(fmt::format("'{}' is both input and output", input),
                       "name another output: -o run.db", ErrorCode::kUsage);
    }
  }
  XLATRACE_TRY(CheckOutputPath(request.output, options.force));
  request.replace = options.force;
  XLATRACE_ASSIGN(const BuildOutcome outcome, BuildRun(request));
  for (const Error& error : outcome.skipped) Warn("skipped: " + error.message);
  for (const model::RunStat& loss : outcome.losses) {
    Warn(fmt::format("{}{}{}", loss.name, loss.value > 1 ? " (" + Thousands(loss.value) + ")" : "",
                     loss.advice.empty() ? "" : ": " + loss.advice));
  }
  Note(BuildSentence(outcome, request.output));
  Note(fmt::format("next: xlatrace summary {}", ShellWord(request.output)));
  int64_t lost = 0;
  int64_t errors = 0;
  for (const model::RunStat& loss : outcome.losses) {
    if (loss.severity == model::Severity::kError) errors += loss.value;
    if (loss.severity == model::Severity::kDataLoss) lost += loss.value;
  }
  return options.strict ? StrictStatus(lost, errors) : 0;
}

}  // namespace

void AddImportCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import", "Make a run.db from traces of other tools (XProf, Nsight Systems, Kineto)");
  command
      ->add_option("FILE", options->request.inputs,
                   ".xplane.pb, .sqlite (nsys), .json (Kineto), nsys-jax zip; folders of them")
      ->required();
  command
      ->add_option("--modules", options->request.module_paths,
                   "XLA dump folders, HLO files or other profiles to take modules from")
      ->type_name("PATH");
  AddUserCodeOption(command);
  command->add_option("-o,--output", options->request.output, "The run.db to write")
      ->type_name("FILE")
      ->default_val("run.db");
  command->add_flag("--force", options->force, "Replace an existing output");
  AddStrictFlag(*command, &options->strict);
  command->footer("Example:\n  xlatrace import trace.xplane.pb -o run.db");
  command->callback([options, selected] { *selected = [options] { return RunImport(*options); }; });
}

}  // namespace xlatrace::tools
