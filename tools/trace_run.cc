// SPDX-License-Identifier: Apache-2.0
#include "tools/trace_run.h"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "importers/importer.h"
#include "tools/console.h"
#include "tools/input_list.h"
#include "tools/nsight_report.h"
#include "tools/pipeline.h"
#include "tools/temporary_folder.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

// "log/" as "log".
fs::path WithoutSlash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

bool IsTrace(const std::string& path) {
  if (!Exists(path)) return false;
  const Result<importers::SourceKind> kind = importers::Detect(path);
  if (kind) return *kind != importers::SourceKind::kRecording;
  if (IsExportableReport(path)) return true;
  // For a folder without recordings ListInputs returns the folder itself.
  return IsDirectory(path) && ListInputs({path}).files != std::vector<std::string>{path};
}

Result<std::string> ImportTemporarily(const std::string& path) {
  XLATRACE_ASSIGN(const std::string folder, MakeTemporaryFolder());
  BuildRequest request;
  InputList inputs = ListInputs({path});
  request.inputs = std::move(inputs.files);
  for (const InputList::LeftOut& left : inputs.left_out) {
    request.left_out.emplace_back(left.path, left.why);
  }
  request.output = folder + "/" + WithoutSlash(path).filename().string() + ".db";
  RegisterTemporaryFile(request.output);
  XLATRACE_ASSIGN(const BuildOutcome outcome, BuildRun(request));
  Note(fmt::format(
      "'{}' is a trace: imported into a temporary run; to keep the run: xlatrace import "
      "{} -o run.db",
      path, ShellWord(path)));
  for (const model::RunStat& loss : outcome.losses) {
    Warn(fmt::format("{}{}{}", loss.name, loss.value > 1 ? " (" + Thousands(loss.value) + ")" : "",
                     loss.advice.empty() ? "" : ": " + loss.advice));
  }
  return request.output;
}

std::string NameForOutput(const std::string& run, const std::string& given) {
  return LiesInTemporaryFolder(run) ? WithoutSlash(given).string() : run;
}

}  // namespace xlatrace::tools
