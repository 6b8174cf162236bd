// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/abandoned_files.h"
#include "base/file.h"
#include "base/number_format.h"
#include "export/export_format.h"
#include "export/lake.h"
#include "export/run_rows.h"
#include "export/share_safe.h"
#include "store/run_copy.h"
#include "store/run_db.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/run_part.h"
#include "tools/step_window.h"
#include "tools/trace_run.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string path;
  std::string format;
  std::optional<std::string> output;
  std::vector<std::string> views;
  std::string steps;
  std::optional<int64_t> device;
  bool force = false;
  bool share_safe = false;
  std::optional<std::string> salt;
  std::string layout;
  std::optional<std::string> job, date;
};

// A temporary run beside the output: the selected part of a run, or a run without names. The
// destructor removes it.
class PassingRun {
 public:
  static Result<PassingRun> PartOf(store::RunDb& run, const std::string& output,
                                   const exporter::Selection& selection,
                                   const exporter::Progress& progress) {
    PassingRun part(output, "part");
    XLATRACE_TRY(WriteRunPart(run, selection, progress, part.path_));
    return part;
  }
  static Result<PassingRun> WithoutNames(const std::string& run, const std::string& output,
                                         const std::optional<std::string>& salt_file) {
    PassingRun copy(output, "names");
    XLATRACE_ASSIGN(std::string salt,
                    salt_file ? exporter::ReadSalt(*salt_file) : exporter::RandomSalt());
    XLATRACE_TRY(store::CopyRun(run, copy.path_, exporter::ShareSafeNames(std::move(salt))));
    return copy;
  }
  PassingRun(PassingRun&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PassingRun& operator=(PassingRun&&) = delete;
  ~PassingRun() {
    if (path_.empty()) return;
    unlink(path_.c_str());
    UnregisterTemporaryFile(path_);
  }
  const std::string& path() const { return path_; }

 private:
  PassingRun(std::string output, std::string_view what) {
    while (output.size() > 1 && output.back() == '/') output.pop_back();
    const std::string passing = fmt::format("{}.{}", output, what);
    RemoveAbandonedFiles(passing);
    path_ = fmt::format("{}.tmp.{}", passing, getpid());
    RegisterTemporaryFile(path_);
  }
  std::string path_;
};

std::vector<std::string> FormatWords() {
  std::vector<std::string> words;
  for (const exporter::ExportFormat& format : exporter::ExportFormats()) {
    words.emplace_back(format.name);
  }
  return words;
}

std::string FormatNames() { return fmt::format("{}", fmt::join(FormatWords(), ", ")); }

exporter::Selection SelectionOf(const ExportOptions& options) {
  exporter::Selection selection;
  selection.device_id = options.device;
  if (const std::optional<StepWindow> window = ParseStepWindow(options.steps)) {
    selection.steps = {window->first.value_or(0), window->end.value_or(INT64_MAX) - 1};
  }
  return selection;
}

// " in steps 3 to 6", for the sentence about a partial export.
std::string StepsText(const exporter::Selection& selection) {
  if (!selection.steps) return {};
  const auto [first, last] = *selection.steps;
  if (first == last) return fmt::format(" in step {}", first);
  if (last == INT64_MAX - 1) return fmt::format(" in steps from {} on", first);
  return fmt::format(" in steps {} to {}", first, last);
}

// Options that exclude --layout lake.
Status CheckLake(const ExportOptions& options) {
  const auto refuse = [](std::string_view what, std::string_view hint) {
    return MakeError(std::string(what), std::string(hint), ErrorCode::kUsage);
  };
  if (options.layout.empty()) {
    if (!options.job && !options.date) return {};
    return refuse("--job and --date are for --layout lake", "add --to parquet --layout lake");
  }
  if (options.layout != "lake") {
    return refuse(fmt::format("there is no layout '{}'", options.layout), "--layout lake");
  }
  if (options.format != "parquet") {
    return refuse("--layout lake is for --to parquet", "--to parquet --layout lake -o LAKE/");
  }
  if (!options.output) return refuse("a lake needs a place", "--layout lake -o LAKE/");
  if (!options.steps.empty() || options.device) {
    return refuse("a lake holds whole runs: a part would count as the run",
                  "leave out --steps and --device");
  }
  if (options.share_safe && !options.salt) {
    return refuse(
        "with a random salt the same run would come into the lake under other names each time",
        "--share-safe --salt FILE");
  }
  return {};
}

Result<int> ExportToLake(const ExportOptions& options, store::RunDb& db,
                         const exporter::Progress& progress) {
  XLATRACE_ASSIGN(const exporter::LakeCount written,
                  exporter::WriteLake(db, {.folder = *options.output,
                                           .job = options.job,
                                           .date = options.date,
                                           .views = options.views,
                                           .progress = progress}));
  Note(fmt::format("{} rows, {} files -> {} (dt={}, job={}, run {})", Thousands(written.count.rows),
                   written.count.files, *options.output, written.date, written.job,
                   written.run_id));
  Note(fmt::format("next: python -m xlatrace.fleet query {} slowest_ranks", *options.output));
  return 0;
}

Result<int> RunExport(const ExportOptions& options) {
  const exporter::ExportFormat* format = exporter::FindFormat(options.format);
  if (format == nullptr) {
    return MakeError(fmt::format("there is no format '{}' to export to", options.format),
                     fmt::format("--to {}", FormatNames()), ErrorCode::kUsage);
  }
  if (!options.views.empty() && format->name != "csv" && format->name != "parquet") {
    return MakeError("--view is for --to csv and --to parquet", "leave it out", ErrorCode::kUsage);
  }
  XLATRACE_TRY(CheckLake(options));
  const bool lake = !options.layout.empty();
  if (options.salt && !options.share_safe) {
    return MakeError("--salt is for --share-safe", "add --share-safe, or leave it out",
                     ErrorCode::kUsage);
  }
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_TRY(store::RunDb::Open(run));  // An unreadable input is reported before other errors.
  exporter::ExportRequest request;
  request.force = options.force;
  request.views = options.views;
  request.output = options.output
                       ? *options.output
                       : fs::path(NameForOutput(run, options.path)).replace_extension().string() +
                             std::string(format->suffix);
  if (IsSameFile(run, request.output) || IsSameFile(options.path, request.output)) {
    return MakeError(fmt::format("'{}' is both input and output", request.output),
                     "name another output with -o", ErrorCode::kUsage);
  }
  if (!format->is_folder) XLATRACE_TRY(CheckOutputPath(request.output, options.force));
  request.selection = SelectionOf(options);
  const std::string steps = StepsText(request.selection);
  const exporter::Progress progress = CountWork(fmt::format("export to {}", format->name));
  std::string source = run;
  std::optional<PassingRun> part, shared;
  // These formats are views of a database, which for a part is one of its own.
  if (!request.selection.all() && (format->name == "db" || format->name == "nsys")) {
    XLATRACE_ASSIGN(store::RunDb whole, store::RunDb::Open(run));
    XLATRACE_ASSIGN(PassingRun made,
                    PassingRun::PartOf(whole, request.output, request.selection, progress));
    part.emplace(std::move(made));
    source = part->path();
    request.selection = {};
  }
  if (options.share_safe) {
    // Errors name the run and not its copy.
    XLATRACE_ASSIGN(store::RunDb named, store::RunDb::Open(source));
    XLATRACE_TRY(exporter::RunRows::Load(named, {}, request.selection));
    XLATRACE_ASSIGN(PassingRun made,
                    PassingRun::WithoutNames(source, request.output, options.salt));
    shared.emplace(std::move(made));
    source = shared->path();
    part.reset();
  }
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(source));
  request.progress = progress;
  if (lake) return ExportToLake(options, db, progress);
  const auto written = format->write(db, request);
  if (!written) {
    // The user has the path of the run and not of its copy.
    Error error = written.error();
    for (std::string* text : {&error.message, &error.hint}) {
      const size_t at = source == run ? std::string::npos : text->find(source);
      if (at != std::string::npos) text->replace(at, source.size(), run);
    }
    return tl::unexpected<Error>(std::move(error));
  }
  Note(fmt::format("{} {}{}{} -> {}", Thousands(written->rows), written->rows == 1 ? "row" : "rows",
                   steps, written->files > 1 ? fmt::format(", {} files", written->files) : "",
                   request.output));
  Note(fmt::format("opens in: {}", format->reader));
  if (!format->lacks.empty()) {
    Note(fmt::format("the format has no place for {}", format->lacks));
  }
  if (!written->note.empty()) Note(written->note);
  return 0;
}

}  // namespace

void AddExportCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      app.add_subcommand("export", "Convert a run for another tool (docs/how-to/export.md)");
  command->add_option("RUN", options->path, "A run.db, or the run.rec it comes from")->required();
  command->add_option("--to", options->format, FormatNames())
      ->type_name("FORMAT")
      ->check(OneOfDescribed(FormatWords()))
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "File or folder to write; default: RUN with the format's suffix")
      ->type_name("FILE");
  command
      ->add_option("--steps", options->steps,
                   "Export only steps A to B - 1; A: and :B leave one end open")
      ->check(StepWindowText(/*open=*/true));
  command->add_option("--device", options->device, "Only this device_id (view device)")
      ->type_name("N");
  command->add_option("--view", options->views, "csv, parquet: only this view; repeatable")
      ->type_name("NAME");
  command->add_flag(
      "--share-safe", options->share_safe,
      "Names of the program become salted hashes; HLO, ranges, commands are left out");
  command
      ->add_option("--salt", options->salt,
                   "With --share-safe: equal salts make shared files comparable")
      ->type_name("FILE");
  command
      ->add_option("--layout", options->layout,
                   "parquet: lake = runs beside each other in one folder (docs/how-to/lake.md)")
      ->check(OneOf({"lake"}));
  command->add_option("--job", options->job, "lake: the job's name; default: its token or program")
      ->type_name("NAME");
  command->add_option("--date", options->date, "lake: the run's day; default: that of its start")
      ->type_name("DAY");
  command->add_flag("--force", options->force, "Replace an existing output");
  command->footer("Example:\n  xlatrace export run.db --to csv -o tables");
  command->callback([options, selected] { *selected = [options] { return RunExport(*options); }; });
}

}  // namespace xlatrace::tools
