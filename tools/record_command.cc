// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/masking.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "base/subprocess.h"
#include "store/run_db_mark.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/hook_fold.h"
#include "tools/hook_recording.h"
#include "tools/launchers.h"
#include "tools/pipeline.h"
#include "tools/places.h"
#include "tools/preload_recording.h"
#include "tools/recording_options.h"
#include "tools/user_code_option.h"

namespace xlatrace::tools {
namespace {

constexpr int kCannotRecordStatus = 125;  // As env(1): the wrapper itself failed.

struct RecordOptions {
  std::string output = "run.db";
  RecordingOptions recording;
  std::vector<std::string> command;
};

struct Places {
  std::string output;     // Absolute.
  std::string recording;  // Absolute folder.
};

tl::unexpected<Error> CannotRecord(Error error) {
  error.code = static_cast<ErrorCode>(kCannotRecordStatus);
  return tl::unexpected<Error>(std::move(error));
}

// `run.db` -> `run.rec`, or `run.2.rec` when another recording lies there.
std::string FreeRecordingFolder(const std::string& output) {
  std::filesystem::path base(output);
  base.replace_extension();
  for (int n = 1; n < 10000; ++n) {
    const std::string folder =
        n == 1 ? base.string() + ".rec" : fmt::format("{}.{}.rec", base.string(), n);
    if (!Exists(folder)) return folder;
  }
  return base.string() + ".rec";
}

// Absolute: the command may change directory.
Result<std::string> OutputPath(const RecordOptions& options) {
  std::error_code error;
  std::string output = std::filesystem::absolute(options.output, error).lexically_normal().string();
  // An earlier run.db of any version is kept as run.old.db. Any other file of that name belongs to
  // the user.
  if (Exists(output) && !IsDirectory(output) && !store::LooksLikeRunDb(output)) {
    return MakeError(fmt::format("'{}' exists and is not a run.db", options.output),
                     "name another output: -o FILE", ErrorCode::kUsage);
  }
  // The recording would have the same path as its output.
  const std::filesystem::path named(options.output);
  if (named.extension() == ".rec") {
    return MakeError(fmt::format("'{}' names a recording: -o names the run.db that is made of it",
                                 options.output),
                     fmt::format("name a database: -o {}",
                                 std::filesystem::path(named).replace_extension(".db").string()),
                     ErrorCode::kUsage);
  }
  XLATRACE_TRY(CheckOutputPath(output, true));
  return output;
}

Result<Places> PreparePlaces(const RecordOptions& options) {
  Places places;
  XLATRACE_ASSIGN(places.output, OutputPath(options));
  places.recording = FreeRecordingFolder(places.output);
  if (mkdir(places.recording.c_str(), 0700) != 0) {
    return MakeError(
        fmt::format("cannot make the folder '{}': {}", places.recording, std::strerror(errno)),
        "name a place you may write to: -o FILE");
  }
  return places;
}

std::vector<std::pair<std::string, std::string>> Environment(const RecordOptions& options,
                                                             const Places& places,
                                                             const std::string& hook) {
  std::string python_path = hook;
  if (const char* before = std::getenv("PYTHONPATH"); before != nullptr && *before != '\0') {
    python_path.append(":").append(before);
  }
  return {{"PYTHONPATH", python_path},
          {"XLATRACE_HOOK_DIR", places.recording},
          {"XLATRACE_STACKS_LIBRARY", StacksLibrary()},
          {"XLATRACE_HOOK_DURATION_S", fmt::format("{}", options.recording.duration_s)},
          {"XLATRACE_HOOK_DELAY_S", fmt::format("{}", options.recording.delay_s)}};
}

// "jax 0.10.2"
std::string Frameworks(const HookRecording& recording) {
  for (const HookProcess& process : recording.processes) {
    if (!process.profiles.empty()) return process.framework + " " + process.framework_version;
  }
  return "the framework";
}

// Recording -> run.db. The recording goes only when all of it is in run.db.
Status FoldHook(const RecordOptions& options, const Places& places, const ChildExit& child) {
  XLATRACE_ASSIGN(HookRecording recording, ReadHookRecording(places.recording));
  for (HookProcess& process : recording.processes) {
    if (process.pid == child.pid) process.ended_unix_ns = child.ended_unix_ns;
  }
  BuildRequest request{.output = places.output,
                       .run_info = HookRunInfo(recording, MaskedCommand(options.command))};
  for (const HookProcess& process : recording.processes) {
    if (!process.profiles.empty()) request.sessions.push_back(process);
  }
  if (request.sessions.empty()) {
    const Error reason = NothingRecorded(recording);
    RemoveHookRecording(places.recording, recording);
    return tl::unexpected<Error>(reason);
  }
  XLATRACE_ASSIGN(const std::string moved, MoveAside(places.output));
  if (!moved.empty()) {
    const auto name = [](const std::string& path) {
      return std::filesystem::path(path).filename().string();
    };
    Note(fmt::format("the earlier {} is now {}", name(places.output), name(moved)));
  }
  auto outcome = BuildRun(request);
  if (!outcome) {
    Error error = std::move(outcome).error();
    error.hint = fmt::format("the recording is kept in {}", places.recording);
    return tl::unexpected<Error>(std::move(error));
  }
  // As private as the recording, because a run contains command lines and paths.
  chmod(places.output.c_str(), 0600);
  for (const Error& skipped : outcome->skipped) Warn("skipped: " + skipped.message);
  for (const HookProcess& process : recording.processes) {
    for (const std::string& note : process.notes) Note(note);
    if (process.stop_reason == "duration") {
      Note(fmt::format("recording of process {} ended after {}; for more: --duration SECONDS",
                       process.pid, Duration(options.recording.duration_s * 1e9)));
    }
  }
  if (outcome->activities == 0) {
    std::remove(places.output.c_str());
    const Error reason = NothingRecorded(recording);
    RemoveHookRecording(places.recording, recording);
    return tl::unexpected<Error>(reason);
  }
  Note(fmt::format("recorded with the profiler of {} (no NVIDIA collector on this machine)",
                   Frameworks(recording)));
  Note(BuildSentence(*outcome, options.output));
  const bool complete = outcome->skipped.empty() && recording.damaged.empty();
  if (!complete) {
    Note(fmt::format("the recording stays in {}; remove it when you do not need it",
                     places.recording));
  } else if (!RemoveHookRecording(places.recording, recording)) {
    Note(fmt::format("all of the recording is in {}; {} may go", options.output, places.recording));
  }
  Note(
      fmt::format("next: xlatrace summary {0}  |  xlatrace report {0}", ShellWord(options.output)));
  return {};
}

// As RunChild, with a sentence for what went wrong; the error's code is the exit status.
Result<ChildExit> RunCommand(const RecordOptions& options,
                             const std::vector<std::pair<std::string, std::string>>& environment) {
  auto child = RunChild(options.command, environment);
  if (!child) return CannotRecord(std::move(child).error());
  if (child->exec_error != 0) {
    const bool script = options.command[0].ends_with(".py") && Exists(options.command[0]);
    return MakeError(
        fmt::format("cannot run '{}': {}", options.command[0], std::strerror(child->exec_error)),
        script ? fmt::format("xlatrace record -- python {}", options.command[0])
               : fmt::format("check the command: command -v {}", options.command[0]),
        static_cast<ErrorCode>(child->status));
  }
  if (child->signal != 0) {
    Note(fmt::format("the command was ended by signal {} ({})", child->signal,
                     strsignal(child->signal)));
  } else if (child->status != 0) {
    Note(fmt::format("the command ended with exit status {}", child->status));
  }
  return child;
}

// Usage errors keep their code; everything else is 125.
tl::unexpected<Error> CannotPrepare(Error error) {
  if (error.code == ErrorCode::kUsage) return tl::unexpected<Error>(std::move(error));
  return CannotRecord(std::move(error));
}

// `run-%r.db`: %r the rank, %h the host, %p our process id, %% a percent sign. One command line
// then serves every rank of a launcher.
std::string ExpandedOutput(const std::string& pattern) {
  std::string output;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      output.push_back(pattern[i]);
      continue;
    }
    switch (pattern[++i]) {
      case 'r': {
        std::string rank = "0";
        for (const char* name :
             {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK"}) {
          const char* value = std::getenv(name);
          if (value == nullptr || *value == '\0') continue;
          rank = value;
          break;
        }
        std::replace(rank.begin(), rank.end(), '/', '-');
        output += rank;
        break;
      }
      case 'h': {
        char host[256] = "host";
        gethostname(host, sizeof(host) - 1);
        output += host;
        break;
      }
      case 'p':
        output += std::to_string(getpid());
        break;
      case '%':
        output.push_back('%');
        break;
      default:
        output.push_back('%');
        output.push_back(pattern[i]);
    }
  }
  return output;
}

Result<int> RunWithHook(const RecordOptions& options) {
  auto hook = HookFolder();
  if (!hook) return CannotRecord(std::move(hook).error());
  auto places = PreparePlaces(options);
  if (!places) return CannotPrepare(std::move(places).error());
  const Result<ChildExit> child = RunCommand(options, Environment(options, *places, *hook));
  if (!child) {
    rmdir(places->recording.c_str());
    return tl::unexpected<Error>(child.error());
  }
  // Returns the command's exit status even if folding fails.
  if (const Status folded = FoldHook(options, *places, *child); !folded) PrintError(folded.error());
  return child->status;
}

Result<int> RunWithPreload(const RecordOptions& options, const std::string& library) {
  auto output = OutputPath(options);
  if (!output) return CannotPrepare(std::move(output).error());
  auto places = PreparePreload(*output);
  if (!places) return CannotPrepare(std::move(places).error());
  auto environment = PreloadEnvironment(*places, library);
  for (auto& variable : CollectorEnvironment(options.recording, *output)) {
    environment.push_back(std::move(variable));
  }
  const char* mode = std::getenv("XLATRACE_MODE");
  const bool light =
      options.recording.mode == "light" || (mode != nullptr && std::string_view(mode) == "light");
  for (auto& variable : InjectionEnvironment(library, light)) {
    environment.push_back(std::move(variable));
  }
  const Result<ChildExit> child = RunCommand(options, environment);
  if (!child) {
    if (places->own) RemoveRecording(places->recording, places->token);
    return tl::unexpected<Error>(child.error());
  }
  const Status folded =
      FoldPreload(*places, MaskedCommand(options.command), options.output, *child);
  if (!folded) PrintError(folded.error());
  if (const std::string dump = DumpFolder(options.recording, *output); IsDirectory(dump)) {
    Note(fmt::format("XLA's dumps are in {}; they may go", dump));
  }
  return child->status;
}

Result<int> RunRecord(const RecordOptions& options) {
  XLATRACE_TRY(RefuseLaunchers(options.command));
  XLATRACE_TRY(CheckRecordingOptions(options.recording));
  if (HasNvidiaDriver()) {
    auto library = PreloadLibrary().and_then(PreloadName);
    if (library) return RunWithPreload(options, *library);
    Warn(library.error().message + "; recording with the framework's own profiler instead");
  }
  if (const std::string names = OnlyForCollector(options.recording); !names.empty()) {
    Warn(fmt::format("{}: only for NVIDIA GPUs, without effect here", names));
  }
  return RunWithHook(options);
}

}  // namespace

void AddRecordCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command = app.add_subcommand(
      "record", "Run a training command and record it; returns the command's exit status");
  command
      ->add_option("-o,--output", options->output,
                   "The run.db to write; %r: rank, %h: host, %p: our pid")
      ->type_name("FILE")
      ->capture_default_str();
  AddRecordingOptions(*command, &options->recording);
  AddUserCodeOption(command);
  command->add_option("CMD", options->command, "The command and its arguments, after --")
      ->required();
  command->positionals_at_end();
  command->footer(
      "Examples:\n"
      "  xlatrace record -- python train.py\n"
      "  xlatrace record --steps 10:20 -- python train.py  # ten steps of a long one\n"
      "  xlatrace record --last 30s -- python train.py     # what came before its end\n"
      "The exit status is that of the command. It is 128 + N if signal N ended it.\n"
      "It is 125 if recording failed, 126 if the command cannot be started,\n"
      "and 127 if the command is not found.");
  command->callback([options, selected] {
    options->output = ExpandedOutput(options->output);
    *selected = [options] { return RunRecord(*options); };
  });
}

}  // namespace xlatrace::tools
