// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/number_format.h"
#include "report/html/html.h"
#include "report/run_view.h"
#include "store/run_db.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/run_provenance.h"
#include "tools/trace_run.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMarkerBytes = 256;

struct ReportOptions {
  std::string path;
  std::optional<std::string> given_output;  // Default: the run's name with .html.
  bool force = false;
  bool strict = false;
  std::optional<std::string> base;
  std::optional<std::string> modules;
  report::PageOptions page;
};

// Only a page of xlatrace is replaced without --force.
Status CheckPage(const std::string& output, bool force) {
  bool ours = false;
  if (Exists(output) && !IsDirectory(output)) {
    const auto head = ReadFileHead(output, kMarkerBytes);
    ours = head && report::IsOurReport(*head);
  }
  return CheckOutputPath(output, force || ours);
}

Result<int> RunReport(const ReportOptions& options) {
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  const std::string output =
      options.given_output
          ? *options.given_output
          : fs::path(NameForOutput(run, options.path)).replace_extension(".html").string();
  if (IsSameFile(run, output) || IsSameFile(options.path, output)) {
    return MakeError(fmt::format("'{}' is both input and output", output),
                     "name another page: -o run.html", ErrorCode::kUsage);
  }
  XLATRACE_TRY(CheckPage(output, options.force));
  XLATRACE_ASSIGN(const report::RunView view, report::LoadRunView(db));
  report::PageOptions page = options.page;
  std::optional<store::RunDb> base;
  std::optional<report::RunView> base_view;
  if (options.base) {
    XLATRACE_ASSIGN(const std::string base_run, FoldedRun(*options.base));
    XLATRACE_ASSIGN(store::RunDb base_db, store::RunDb::Open(base_run));
    base.emplace(std::move(base_db));
    XLATRACE_ASSIGN(base_view, report::LoadRunView(*base));
    page.base = &*base;
    page.base_view = &*base_view;
  }
  XLATRACE_ASSIGN(const auto provenance, FindProvenance(db, options.modules));
  if (provenance) {
    page.provenance = &*provenance;
    if (!options.modules) {
      Note(fmt::format("origins of ops are read from the dump in '{}'", provenance->dump));
    }
  }
  XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(output));
  int64_t bytes = 0;
  XLATRACE_TRY(report::WriteHtml(db, view, page, [&](std::string_view text) {
    bytes += static_cast<int64_t>(text.size());
    return file.Append(text);
  }));
  XLATRACE_TRY(file.Commit());
  Note(fmt::format("{} ({})", output, Bytes(static_cast<double>(bytes))));
  return options.strict ? StrictStatus(view.lost, view.errors, view.losses.more_possible()) : 0;
}

}  // namespace

void AddReportCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Write a report of a run as one offline HTML file");
  command->add_option("RUN", options->path, "A run.db, or the run.rec it comes from")->required();
  command
      ->add_option("--base", options->base,
                   "The same pages with differences to this run, matched by content")
      ->type_name("RUN");
  command
      ->add_option("--source", options->page.source_folders,
                   "Folder with the source files, to show lines with time; repeatable")
      ->type_name("DIR");
  command
      ->add_option("--modules", options->modules,
                   "A dump of XLA's passes, folder or archive: adds the origin of each op; "
                   "default: the run's own, where it is known and still there")
      ->type_name("DIR");
  command->add_option("-o,--output", options->given_output, "The page to write; default: RUN.html")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "Replace a file that is not a report of ours");
  const auto set_hlo_text = [options](const std::string& word) {
    options->page.hlo_text = word == "none"  ? report::HloText::kNone
                             : word == "all" ? report::HloText::kAll
                                             : report::HloText::kHot;
  };
  command
      ->add_option_function<std::string>("--hlo-text", set_hlo_text,
                                         "HLO text: none, hot (what takes time; default), all")
      ->check(OneOf({"none", "hot", "all"}));
  command
      ->add_option("--max-launches", options->page.max_launches,
                   "Launches in the timeline, beyond that sums; default: 4,000,000")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000'000'000}));
  AddStrictFlag(*command, &options->strict);
  command->footer("Example:\n  xlatrace report run.db -o run.html");
  command->callback([options, selected] { *selected = [options] { return RunReport(*options); }; });
}

}  // namespace xlatrace::tools
