// SPDX-License-Identifier: Apache-2.0
#include "tools/hook_fold.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/pipeline.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

bool Lives(const HookProcess& process) {
  return process.pid > 0 && (kill(static_cast<pid_t>(process.pid), 0) == 0 || errno != ESRCH);
}

// Every profile is older than the database.
bool IsOlder(const std::vector<HookProcess>& sessions, const std::string& database) {
  std::error_code error;
  const auto made = fs::last_write_time(database, error);
  if (error) return false;
  for (const HookProcess& process : sessions) {
    for (const HookProcess::Profile& profile : process.profiles) {
      if (fs::last_write_time(profile.path, error) > made || error) return false;
    }
  }
  return true;
}

Error NotSavedYet(const HookProcess& process, const std::string& folder) {
  return {fmt::format("process {} still runs and has saved no profile yet", process.pid),
          fmt::format(
              "the profiler of {} saves it when the script ends or when --duration is over; "
              "look again later: xlatrace control {} status",
              process.framework.empty() ? "the framework" : process.framework, ShellWord(folder)),
          ErrorCode::kFailed};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> HookRunInfo(const HookRecording& recording,
                                                             const std::string& command) {
  std::vector<std::pair<std::string, std::string>> info = {
      {"source", "record"}, {"mode", "profiler"}, {"command", command}};
  int64_t cost_ns = 0;
  for (const HookProcess& process : recording.processes) {
    cost_ns += process.own_cost_ns;
    if (process.profiles.empty() || info.size() > 3) continue;
    info.emplace_back("framework", process.framework);
    info.emplace_back(process.framework + "_version", process.framework_version);
    if (!process.jaxlib_version.empty()) {
      info.emplace_back("jaxlib_version", process.jaxlib_version);
    }
    info.emplace_back("python_version", process.python_version);
    if (process.xla_flags) {
      info.emplace_back("xla_flags", process.xla_flags->empty() ? "none" : *process.xla_flags);
    }
    info.emplace_back("stop_reason", process.stop_reason);
  }
  info.emplace_back("own_cost_ns", std::to_string(cost_ns));
  return info;
}

bool LooksLikeHookFolder(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error) && !it->is_symlink(error) &&
        IsRegularFile((it->path() / "status.json").string())) {
      return true;
    }
  }
  return false;
}

Status FoldHookFolder(const std::string& folder, const std::string& database) {
  XLATRACE_ASSIGN(const HookRecording recording, ReadHookRecording(folder));
  BuildRequest request{.output = database};
  const HookProcess* live = nullptr;
  for (const HookProcess& process : recording.processes) {
    if (Lives(process)) live = &process;
    if (!process.profiles.empty()) request.sessions.push_back(process);
  }
  if (request.sessions.empty()) {
    if (Exists(database)) return {};
    return tl::unexpected<Error>(live != nullptr ? NotSavedYet(*live, folder)
                                                 : NothingRecorded(recording));
  }
  if (IsOlder(request.sessions, database)) return {};
  request.run_info = HookRunInfo(recording, request.sessions.front().command);
  XLATRACE_TRY(CheckOutputPath(database, true));
  XLATRACE_ASSIGN(const std::string moved, MoveAside(database));
  if (!moved.empty()) {
    Note(fmt::format("the earlier {} is now {}", fs::path(database).filename().string(),
                     fs::path(moved).filename().string()));
  }
  XLATRACE_ASSIGN(const BuildOutcome outcome, BuildRun(request));
  chmod(database.c_str(), 0600);  // As the recording was: a run holds command lines and paths.
  for (const Error& skipped : outcome.skipped) Warn("skipped: " + skipped.message);
  if (live != nullptr) {
    Note(fmt::format("process {} still runs: this is the part that its profiler has saved so far",
                     live->pid));
  }
  Note(BuildSentence(outcome, database));
  return {};
}

}  // namespace xlatrace::tools
