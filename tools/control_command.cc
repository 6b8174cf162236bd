// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "recording/control.h"
#include "recording/folder.h"
#include "store/run_db_mark.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/hook_recording.h"

namespace xlatrace::tools {
namespace {

constexpr int kPollMs = 50;

struct ControlOptions {
  std::string path;
  std::string verb;
  double timeout_s = 10;
  std::string format = "text";
};

struct Answer {
  recording::FolderEntry entry;
  recording::ReportedState told;  // The default: recording, without a reported state.
};

// The processes of the folder's job that are still writing, and those that have ended.
struct Answers {
  std::vector<Answer> live;
  size_t ended = 0;
};

// `run.db` and `run.rec` both name the recording.
std::string RequestedFolder(const std::string& path) {
  return IsDirectory(path) ? path : std::filesystem::path(path).replace_extension(".rec").string();
}

Result<Answers> ReadAnswers(const std::string& folder) {
  XLATRACE_ASSIGN(const recording::Folder listed, recording::ListFolder(folder));
  const auto job = ReadFile(folder + "/job", recording::kMaxJobFileBytes);
  const auto states = recording::ParseStates(job ? std::string_view(*job) : std::string_view());
  Answers answers;
  for (const recording::FolderEntry& entry : listed.recordings) {
    if (entry.token != listed.job) continue;
    if (!entry.live) {
      if (entry.bytes > 0) ++answers.ended;  // One that is made just now is not locked yet.
      continue;
    }
    Answer answer{entry, {0, recording::Word(recording::ProcessState::kRecording)}};
    const std::string identity = std::filesystem::path(entry.path).stem().string();
    if (const auto told = states.find(identity); told != states.end()) answer.told = told->second;
    answers.live.push_back(std::move(answer));
  }
  return answers;
}

// Appears whole, under its name.
Status WriteOrder(const std::string& folder, const recording::ControlOrder& order) {
  const std::string path = folder + "/" + recording::kControlName;
  const std::string temporary = fmt::format("{}/.control.{}", folder, getpid());
  const std::string text = recording::FormatControl(order);
  unlink(temporary.c_str());  // Left by an earlier process with this process id.
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int why = written ? errno : error;
  unlink(temporary.c_str());
  return MakeError(fmt::format("cannot write '{}': {}", path, std::strerror(why)),
                   "a recording is steered by the user who makes it");
}

std::string AsText(const Answers& answers) {
  std::string text;
  for (const Answer& answer : answers.live) {
    text +=
        fmt::format("process {} on {}: {}, {}\n", answer.entry.pid, Printable(answer.entry.host),
                    answer.told.word, Bytes(static_cast<double>(answer.entry.bytes)));
  }
  if (answers.ended > 0) {
    text += fmt::format("{} process{} ended\n", answers.ended, answers.ended == 1 ? "" : "es");
  }
  return text.empty() ? "no process has written here yet\n" : text;
}

std::string AsJson(const Answers& answers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Answer& answer : answers.live) {
    list.push_back({{"pid", answer.entry.pid},
                    {"host", answer.entry.host},
                    {"state", answer.told.word},
                    {"bytes", answer.entry.bytes}});
  }
  const nlohmann::ordered_json document = {
      {"schema_version", 1}, {"live", std::move(list)}, {"ended", answers.ended}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

bool AllHaveSeen(const Answers& answers, uint64_t order) {
  for (const Answer& answer : answers.live) {
    if (answer.told.order < order) return false;
  }
  return true;
}

std::string ProfilerState(const HookProcess& process) {
  if (process.stopped) return "has ended";
  if (!process.start_error.empty()) return "did not start: " + process.start_error;
  if (!process.started) return "has not begun";
  // Killed, or on another host.
  const bool gone =
      process.pid <= 0 || (kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH);
  return gone ? "had begun; no such process here any more" : "is recording";
}

std::string ProfilersAsText(const HookRecording& hook) {
  std::string text;
  for (const HookProcess& process : hook.processes) {
    text += fmt::format("process {}: the profiler of {} {}\n", process.pid,
                        process.framework.empty() ? "the framework" : Printable(process.framework),
                        Printable(ProfilerState(process)));
  }
  return text;
}

std::string ProfilersAsJson(const HookRecording& hook) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const HookProcess& process : hook.processes) {
    list.push_back({{"pid", process.pid},
                    {"framework", process.framework},
                    {"state", ProfilerState(process)}});
  }
  const nlohmann::ordered_json document = {{"schema_version", 1}, {"profilers", std::move(list)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// `folder` is not a recording of the collector. Prints the status of the framework's own profiler,
// or returns an error.
Result<int> NotSteered(const ControlOptions& options, const std::string& folder) {
  if (IsDirectory(folder)) {
    XLATRACE_ASSIGN(const HookRecording hook, ReadHookRecording(folder));
    if (!hook.processes.empty() && options.verb == "status") {
      XLATRACE_TRY(
          PrintResult(options.format == "json" ? ProfilersAsJson(hook) : ProfilersAsText(hook)));
      return 0;
    }
    if (!hook.processes.empty()) {
      return MakeError(
          fmt::format(
              "'{}' is recorded by the framework's own profiler, which cannot be controlled; "
              "only NVIDIA recordings can",
              options.path),
          "select the part when you start it: xlatrace record --delay 60 --duration 10 -- "
          "python train.py");
    }
  }
  // `run.rec` goes when all of it is in `run.db`.
  const std::string run = std::filesystem::path(folder).replace_extension(".db").string();
  for (const std::string& path : {options.path, run}) {
    if (!store::LooksLikeRunDb(path)) continue;
    return MakeError(fmt::format("'{}' is a run that has ended", path),
                     "xlatrace summary " + ShellWord(path));
  }
  if (!Exists(options.path) && !Exists(folder)) {
    return MakeError(fmt::format("there is no '{}'", options.path),
                     "look for the folder that the running program writes: ls -d *.rec");
  }
  return MakeError(fmt::format("'{}' is no recording", options.path),
                   "name the folder that the running program writes: xlatrace control run.rec "
                   "status");
}

Result<int> RunControl(const ControlOptions& options) {
  const std::string folder = RequestedFolder(options.path);
  if (!recording::LooksLikeRecordingFolder(folder)) return NotSteered(options, folder);
  XLATRACE_ASSIGN(Answers answers, ReadAnswers(folder));
  if (options.verb != "status") {
    // A program that has just begun: its folder is there, its file is not yet.
    for (int waited = 0; answers.live.empty() && answers.ended == 0; waited += kPollMs) {
      if (waited > options.timeout_s * 1000) {
        return MakeError(
            fmt::format("no process has recorded into '{}' within {} s", folder, options.timeout_s),
            fmt::format("xlatrace control {} status", ShellWord(options.path)));
      }
      poll(nullptr, 0, kPollMs);
      XLATRACE_ASSIGN(answers, ReadAnswers(folder));
    }
    if (answers.live.empty()) {
      return MakeError(
          fmt::format("no process records into '{}' any more", folder),
          fmt::format("xlatrace report {}",
                      ShellWord(std::filesystem::path(folder).replace_extension(".db").string())));
    }
    recording::ControlOrder order = recording::ReadControl(folder);
    ++order.number;
    // A process that starts later obeys the last order, so a flush repeats whether to record.
    order.flush = options.verb == "flush";
    if (!order.flush) order.recording = options.verb == "start";
    XLATRACE_TRY(WriteOrder(folder, order));
    // A process looks once per flush period.
    for (int waited = 0; !AllHaveSeen(answers, order.number); waited += kPollMs) {
      if (waited > options.timeout_s * 1000) {
        return MakeError(fmt::format("not every process has answered within {} s; the order stays",
                                     options.timeout_s),
                         fmt::format("xlatrace control {} status", ShellWord(options.path)));
      }
      poll(nullptr, 0, kPollMs);
      XLATRACE_ASSIGN(answers, ReadAnswers(folder));
    }
  }
  XLATRACE_TRY(PrintResult(options.format == "json" ? AsJson(answers) : AsText(answers)));
  return 0;
}

}  // namespace

void AddControlCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<ControlOptions>();
  CLI::App* command = app.add_subcommand(
      "control", "Stop, start or flush a running recording of a GPU, or print its state");
  command->add_option("RECORDING", options->path, "run.rec, or the run.db it will be")->required();
  command->add_option("ORDER", options->verb, "start, stop, flush or status")
      ->required()
      ->check(OneOf({"start", "stop", "flush", "status"}));
  command->add_option("--timeout", options->timeout_s, "Seconds to wait for the processes' answer")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--format", options->format, "text or json")
      ->check(OneOf({"text", "json"}))
      ->capture_default_str();
  command->footer("Example:\n  xlatrace control run.rec stop");
  command->callback(
      [options, selected] { *selected = [options] { return RunControl(*options); }; });
}

}  // namespace xlatrace::tools
