// SPDX-License-Identifier: Apache-2.0

// `xlatrace merge RUN... -o job.db`: the recordings of many ranks as one job.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "recording/folder.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/merge_job.h"

namespace xlatrace::tools {
namespace {

struct MergeOptions {
  std::vector<std::string> runs;
  std::string output;
  std::vector<int64_t> ranks;
  bool force = false;
};

// A folder that is no recording stands for the run.db files and recordings in it and one below.
std::vector<std::string> RunsIn(const std::string& folder) {
  std::vector<std::string> runs;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    if (IsDirectory(path) && recording::LooksLikeRecordingFolder(path)) {
      runs.push_back(path);
    } else if (IsDirectory(path)) {
      for (const auto& inner : std::filesystem::directory_iterator(path, ignored)) {
        const std::string below = inner.path().string();
        if (inner.path().extension() == ".db" ||
            (IsDirectory(below) && recording::LooksLikeRecordingFolder(below))) {
          runs.push_back(below);
        }
      }
    } else if (entry.path().extension() == ".db") {
      runs.push_back(path);
    }
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

Result<std::vector<std::string>> FoldedRuns(const MergeOptions& options) {
  std::vector<std::string> named;
  for (const std::string& run : options.runs) {
    if (!IsDirectory(run) || recording::LooksLikeRecordingFolder(run)) {
      named.push_back(run);
      continue;
    }
    const std::vector<std::string> inside = RunsIn(run);
    if (inside.empty()) {
      return MakeError(fmt::format("'{}' holds no run.db and no recording", run),
                       "name the run.db files: xlatrace merge rank*/run.db -o job.db",
                       ErrorCode::kUsage);
    }
    named.insert(named.end(), inside.begin(), inside.end());
  }
  std::vector<std::string> folded;
  for (const std::string& run : named) {
    // A folder may hold the job.db of last time.
    if (IsSameFile(run, options.output)) {
      if (std::find(options.runs.begin(), options.runs.end(), run) == options.runs.end()) continue;
      return MakeError(fmt::format("'{}' is both input and output", run),
                       "name another output: -o job.db", ErrorCode::kUsage);
    }
    XLATRACE_ASSIGN(std::string path, FoldedRun(run));
    const bool known = std::any_of(folded.begin(), folded.end(), [&](const std::string& other) {
      return IsSameFile(path, other);
    });
    if (!known) folded.push_back(std::move(path));
  }
  return folded;
}

Result<int> RunMerge(const MergeOptions& options) {
  XLATRACE_TRY(CheckOutputPath(options.output, options.force));
  MergeRequest request;
  XLATRACE_ASSIGN(request.run_dbs, FoldedRuns(options));
  request.output = options.output;
  request.replace = options.force;
  request.asked = options.ranks;
  XLATRACE_ASSIGN(const MergeOutcome outcome, MergeJob(request));
  for (const Error& error : outcome.job.skipped) Warn("skipped: " + error.message);
  for (const model::RunStat& stat : outcome.job.said) {
    if (stat.severity == model::Severity::kInfo) continue;
    Warn(fmt::format("{} ({}): {}", stat.name, stat.source, stat.advice));
  }
  Note(fleet::Sentence(outcome.job));
  std::string kept;
  for (const int64_t rank : outcome.kept) {
    kept += fmt::format("{}{}", kept.empty() ? "" : ", ", rank);
  }
  Note(fmt::format("{} rank{} -> {}; {} activities of rank{} {}", outcome.job.ranks.size(),
                   outcome.job.ranks.size() == 1 ? "" : "s", options.output,
                   Thousands(static_cast<int64_t>(outcome.activities)),
                   outcome.kept.size() == 1 ? "" : "s", kept));
  Note(fmt::format("next: xlatrace summary {}", ShellWord(options.output)));
  return 0;
}

}  // namespace

void AddMergeCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command =
      app.add_subcommand("merge", "Merge the recordings of many ranks into one job");
  command->add_option("RUN", options->runs, "run.db files, recordings, or folders of them")
      ->required();
  command->add_option("-o,--output", options->output, "The job's run.db to write")
      ->type_name("FILE")
      ->default_val("job.db");
  command
      ->add_option("--ranks", options->ranks,
                   "Keep the launches of these ranks too, besides slowest, median and fastest")
      ->delimiter(',')
      ->type_name("N,N");
  command->add_flag("--force", options->force, "Replace an existing output");
  command->footer("Example:\n  xlatrace merge rank*/run.db -o job.db --ranks 3,17");
  command->callback([options, selected] { *selected = [options] { return RunMerge(*options); }; });
}

}  // namespace xlatrace::tools
