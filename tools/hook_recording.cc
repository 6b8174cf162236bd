// SPDX-License-Identifier: Apache-2.0
#include "tools/hook_recording.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/number_format.h"
#include "importers/hook/compile_log.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kMaxStatusBytes = 1 << 20;

std::string TextOf(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

int64_t IntOf(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

bool BoolOf(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

// A profile must be a plain file directly in the process's folder, because status.json could name
// any path.
bool IsOwnFile(const fs::path& folder, const std::string& name) {
  return !name.empty() && fs::path(name).filename() == name && name != "." && name != ".." &&
         fs::is_regular_file(fs::symlink_status(folder / name));
}

Result<HookProcess> ReadProcess(const fs::path& folder) {
  XLATRACE_ASSIGN(const std::string text,
                  ReadFile((folder / "status.json").string(), kMaxStatusBytes));
  const json status = json::parse(text, nullptr, false);
  if (!status.is_object()) {
    return MakeError(fmt::format("'{}' is not a status of ours", folder.string()));
  }
  HookProcess process;
  process.folder = folder.string();
  process.pid = IntOf(status, "pid");
  process.framework = TextOf(status, "framework");
  process.framework_version = TextOf(status, "framework_version");
  process.jaxlib_version = TextOf(status, "jaxlib_version");
  if (const auto flags = status.find("xla_flags"); flags != status.end() && flags->is_string()) {
    process.xla_flags = flags->get<std::string>();
  }
  process.python_version = TextOf(status, "python_version");
  process.start_error = TextOf(status, "start_error");
  process.stop_error = TextOf(status, "stop_error");
  process.stop_reason = TextOf(status, "stop_reason");
  process.started = BoolOf(status, "started");
  process.stopped = BoolOf(status, "stopped");
  process.own_cost_ns = IntOf(status, "own_cost_ns");
  if (const auto delay = status.find("delay_s"); delay != status.end() && delay->is_number()) {
    process.is_delayed = delay->get<double>() > 0;
  }
  if (const auto exit = status.find("exit"); exit != status.end() && exit->is_object()) {
    process.end = TextOf(*exit, "kind");
    process.end_signal = TextOf(*exit, "signal");
  }
  if (const auto argv = status.find("argv"); argv != status.end() && argv->is_array()) {
    for (const json& word : *argv) {
      if (!word.is_string()) continue;
      if (!process.command.empty()) process.command += ' ';
      process.command += word.get<std::string>();
    }
  }
  if (const auto notes = status.find("notes"); notes != status.end() && notes->is_array()) {
    for (const json& note : *notes) {
      if (note.is_string()) process.notes.push_back(note.get<std::string>());
    }
  }
  if (const auto sessions = status.find("sessions");
      sessions != status.end() && sessions->is_array()) {
    for (const json& session : *sessions) {
      const std::string name = session.is_object() ? TextOf(session, "xplane") : std::string();
      if (IsOwnFile(folder, name)) {
        process.profiles.push_back({(folder / name).string(), TextOf(session, "stop_reason"),
                                    IntOf(session, "stop_unix_ns")});
      } else if (session.is_object() && session.contains("start_unix_ns")) {
        process.unsaved_unix_ns = IntOf(session, "start_unix_ns");
      }
    }
  }
  if (IsOwnFile(folder, "host.samples")) process.host_samples = (folder / "host.samples").string();
  return process;
}

constexpr std::string_view StageWords(model::CompileStage stage) {
  switch (stage) {
    case model::CompileStage::kTrace:
      return "while JAX traced";
    case model::CompileStage::kLower:
      return "while JAX lowered";
    default:
      return "while XLA compiled";
  }
}

// Where a process ended that had no chance to save its profile: in a compilation, after how long.
std::optional<Error> UnfinishedStage(const HookProcess& process) {
  const auto log = importers::ReadCompileLog(process.folder + "/compile.jsonl");
  if (!log || log->entries.empty()) return std::nullopt;
  const auto open = std::find_if(log->entries.rbegin(), log->entries.rend(),
                                 [](const auto& entry) { return !entry.end_unix_ns; });
  if (open == log->entries.rend()) return std::nullopt;
  std::string place;
  if (!open->facts->source_file.empty() && open->facts->source_line) {
    place = fmt::format(" ({}:{})", fs::path(open->facts->source_file).filename().string(),
                        *open->facts->source_line);
  }
  const std::string after =
      process.ended_unix_ns
          ? fmt::format(", after {}",
                        Duration(static_cast<double>(*process.ended_unix_ns - open->start_unix_ns)))
          : std::string();
  return Error{fmt::format("no device work was recorded: process {} ended {} {}{}{}", process.pid,
                           StageWords(open->stage), open->name, place, after),
               "let the compilation end, or look at the program: "
               "XLA_FLAGS=--xla_dump_to=DIR, then xlatrace modules DIR",
               ErrorCode::kFailed};
}

}  // namespace

Result<HookRecording> ReadHookRecording(const std::string& folder) {
  HookRecording recording;
  std::error_code error;
  std::vector<fs::path> folders;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error) && !it->is_symlink(error)) folders.push_back(it->path());
  }
  std::sort(folders.begin(), folders.end());
  for (const fs::path& path : folders) {
    auto process = ReadProcess(path);
    if (process) {
      recording.processes.push_back(std::move(*process));
    } else {
      recording.damaged.push_back(path.string());
    }
  }
  return recording;
}

Error NothingRecorded(const HookRecording& recording) {
  if (recording.processes.empty()) {
    return {"nothing was recorded: no process imported jax or tensorflow",
            "check that the command trains with JAX or TensorFlow; a Python started with -I, -E or "
            "-S cannot be recorded",
            ErrorCode::kFailed};
  }
  const HookProcess& process = recording.processes.front();
  const std::string who = process.framework.empty() ? "the framework" : process.framework;
  if (!process.start_error.empty()) {
    return {fmt::format("nothing was recorded: the profiler of {} did not start: {}", who,
                        process.start_error),
            "xlatrace doctor", ErrorCode::kFailed};
  }
  if (!process.stop_error.empty()) {
    return {fmt::format("nothing was recorded: the profiler of {} could not save: {}", who,
                        process.stop_error),
            "check the free space and the rights of the folder", ErrorCode::kFailed};
  }
  for (const std::string& note : process.notes) {
    return {"nothing was recorded: " + note, "xlatrace doctor", {}};
  }
  if (!process.started) {
    return {fmt::format("nothing was recorded: process {} imported {} but ended before it computed "
                        "anything",
                        process.pid, who),
            "check that the script reaches its first jitted call", ErrorCode::kFailed};
  }
  if (!process.stopped) {
    if (auto unfinished = UnfinishedStage(process)) return *std::move(unfinished);
    return {fmt::format("nothing was recorded: process {} ended without a chance to save its "
                        "profile (killed by SIGKILL, abort or a crash)",
                        process.pid),
            "let it end by itself, with Ctrl-C or SIGTERM, or record less: --duration 10",
            ErrorCode::kFailed};
  }
  return {"nothing was recorded: no computation was compiled while the profiler ran",
          "check that the script calls a jitted function", ErrorCode::kFailed};
}

bool RemoveHookRecording(const std::string& folder, const HookRecording& recording) {
  for (const HookProcess& process : recording.processes) {
    for (const HookProcess::Profile& profile : process.profiles) unlink(profile.path.c_str());
    unlink((process.folder + "/compile.jsonl").c_str());
    if (!process.host_samples.empty()) unlink(process.host_samples.c_str());
    unlink((process.folder + "/status.json").c_str());
    rmdir(process.folder.c_str());
  }
  return rmdir(folder.c_str()) == 0 || !Exists(folder);
}

}  // namespace xlatrace::tools
