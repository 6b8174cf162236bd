// SPDX-License-Identifier: Apache-2.0
#include "tools/pipeline.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/number_format.h"
#include "base/utf8.h"
#include "importers/common/modules_only_sink.h"
#include "importers/common/same_process_sink.h"
#include "importers/hook/compile_log.h"
#include "importers/importer.h"
#include "importers/recording/host_samples_import.h"
#include "store/run_builder.h"
#include "store/run_replay.h"
#include "store/run_saver.h"
#include "tools/console.h"
#include "tools/module_files.h"
#include "tools/nsight_report.h"
#include "tools/version.h"
#include "tools/written_analysis.h"

namespace xlatrace::tools {
namespace {

// Passes on only modules that the run does not contain.
class NewModules : public importers::ModulesOnlySink {
 public:
  using ModulesOnlySink::ModulesOnlySink;

  Status AddFrom(store::RunBuilder& run) {
    const std::vector<model::ModuleInfo>& modules = run.tables().modules;
    for (size_t m = 0; m < modules.size(); ++m) {
      auto stored = run.ReadModule(static_cast<model::Id>(m) + 1);
      if (stored) known_.emplace(modules[m].name, modules[m].program_id, Hash(stored->bytes));
    }
    return run.status();
  }
  model::Id AddModule(const model::ModuleBlob& module) override {
    if (!known_.emplace(module.name, module.program_id, Hash(module.bytes)).second) return 0;
    return ModulesOnlySink::AddModule(module);
  }

 private:
  std::set<std::tuple<std::string, std::optional<int64_t>, uint64_t>> known_;
};

void CountLabels(const model::RunTables& run, const model::AttributionTables& attribution,
                 BuildOutcome* outcome) {
  outcome->activities = run.activities.size();
  outcome->processes = run.processes.size();
  outcome->modules = run.modules.size();
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    const int64_t self = run.activities.self_ns[i];
    outcome->device_ns += self;
    if (label.confidence == model::Confidence::kExact) outcome->exact_ns += self;
    if (label.confidence == model::Confidence::kInferred) outcome->inferred_ns += self;
  }
}

// A text file beside recordings, such as a README, which `import FOLDER/*` names, too. It is
// skipped without a warning. JSON and HTML are not skipped, because they may be failed downloads of
// recordings.
bool IsProse(const std::string& path) {
  constexpr size_t kHeadBytes = 4096;
  const auto head = ReadFileHead(path, kHeadBytes);
  if (!head || head->empty()) return false;
  const size_t first = head->find_first_not_of(" \t\r\n");
  if (first == std::string::npos ||
      std::string_view("{[<").find((*head)[first]) != std::string::npos) {
    return false;
  }
  for (size_t at = 0; at < head->size();) {
    size_t length = 1;
    const int32_t code = DecodeUtf8(*head, at, &length);
    const bool cut = at + 4 > kHeadBytes;  // A character at the end of what was read.
    if ((code < 0 && !cut) ||
        (code >= 0 && code < ' ' && code != '\t' && code != '\n' && code != '\r')) {
      return false;
    }
    at += std::max<size_t>(length, 1);
  }
  return true;
}

void Skip(const std::string& input, Error error, store::RunBuilder* run, BuildOutcome* outcome,
          model::Severity severity = model::Severity::kDataLoss) {
  run->AddRunStat({.name = "input_skipped",
                   .severity = severity,
                   .source = input,
                   .value = 1,
                   .advice = error.message});
  outcome->skipped.push_back(std::move(error));
}

// Adds the signal and the end time of a process, which `record` has because it waited for the
// process.
void KnowEnd(const ChildEnd& child, store::RunBuilder* run, model::ProcessEnding* ending) {
  if (ending->how != model::ProcessEnd::kSignal || ending->signal) return;
  if (child.signal != 0) ending->signal = child.signal;
  if (child.signal == SIGABRT) ending->how = model::ProcessEnd::kAbort;
  if (ending->unrecorded_from_ns && run->start_unix_ns()) {
    ending->unrecorded_tail_ns = std::max<int64_t>(
        child.ended_unix_ns - *run->start_unix_ns() - *ending->unrecorded_from_ns, 0);
  }
  run->SetEnding(*ending);
}

Status ImportRecordings(const BuildRequest& request, store::RunBuilder* run,
                        BuildOutcome* outcome) {
  for (const recording::FolderEntry& entry : request.recordings) {
    auto imported = importers::ImportRecording(entry.path, entry.live, *run);
    XLATRACE_TRY(run->status());
    if (!imported) {
      Skip(entry.path, std::move(imported).error(), run, outcome);
      continue;
    }
    ++outcome->inputs_read;
    if (request.child && request.child->pid == entry.pid) {
      KnowEnd(*request.child, run, &imported->ending);
    }
    // Light mode: what XLA did not register it has dumped.
    if (!imported->has_modules && !imported->dump_folder.empty() &&
        IsDirectory(imported->dump_folder)) {
      Status added = AddModuleFiles(imported->dump_folder, *run, imported->process_id);
      if (!added) Skip(imported->dump_folder, std::move(added).error(), run, outcome);
    }
    outcome->recordings.push_back({entry, std::move(*imported)});
  }
  for (const auto& [pid, launches] : request.without_file) {
    run->AddRunStat({.name = "recording_missing",
                     .severity = model::Severity::kDataLoss,
                     .source = fmt::format("process {}", pid),
                     .value = std::max<int64_t>(launches, 1),
                     .advice = "launches of a process whose file is not in the folder"});
  }
  if (outcome->recordings.empty()) return {};
  // The run is called after the process that did most of it.
  const auto main = std::max_element(
      outcome->recordings.begin(), outcome->recordings.end(),
      [](const auto& a, const auto& b) { return a.import.activities < b.import.activities; });
  if (!main->import.command.empty()) run->SetRunInfo("command", main->import.command);
  int64_t cost_ns = 0;
  for (const auto& recording : outcome->recordings) cost_ns += recording.import.own_cost_ns;
  run->SetRunInfo("own_cost_ns", std::to_string(cost_ns));
  run->SetRunInfo("recording_token", main->entry.token);
  run->SetRunInfo("recording_files", FoldedFiles(*outcome));
  return {};
}

// Reasons of the Python hook (python/xlatrace_hook/xlatrace_hook/status.py).
model::WindowEnd EndOfProfile(std::string_view reason) {
  if (reason == "duration" || reason == "memory") return model::WindowEnd::kLimit;
  // The script started the profiler itself, or another framework started.
  const bool asked = reason == "script_profiler" || reason == "jax_started";
  return asked ? model::WindowEnd::kRequested : model::WindowEnd::kEnd;
}

// The end of a process that its framework's profiler recorded. A process without a reported end was
// killed, and its open profile is lost.
void SetHookEnding(const HookProcess& process, model::Id process_id, store::RunBuilder& run) {
  model::ProcessEnding ending{.process_id = process_id};
  if (process.end == "exec") {
    ending.how = model::ProcessEnd::kExec;
  } else if (process.end == "signal" || process.end == "SIGINT" || process.end.empty()) {
    ending.how = model::ProcessEnd::kSignal;
    const std::string_view name = process.end == "signal" ? process.end_signal : process.end;
    for (const auto& [word, number] : {std::pair<std::string_view, int>{"SIGHUP", SIGHUP},
                                       {"SIGINT", SIGINT},
                                       {"SIGTERM", SIGTERM}}) {
      if (name == word) ending.signal = number;
    }
  } else {
    ending.how = model::ProcessEnd::kExit;
  }
  if (process.unsaved_unix_ns != 0 && run.start_unix_ns()) {
    ending.unrecorded_from_ns = process.unsaved_unix_ns - *run.start_unix_ns();
  } else {
    ending.unrecorded_tail_ns = 0;
  }
  run.SetEnding(ending);
}

}  // namespace

std::string FoldedFiles(const BuildOutcome& outcome) {
  std::string text;
  for (const auto& [entry, import] : outcome.recordings) {
    text += fmt::format("{} {} {} {}\n", std::filesystem::path(entry.path).filename().string(),
                        import.bytes, entry.bytes,
                        entry.live        ? "live"
                        : import.complete ? "complete"
                                          : "ended");
  }
  return text;
}

Result<BuildOutcome> BuildRun(const BuildRequest& request) {
  BuildOutcome outcome;
  const Progress progress("reading");
  XLATRACE_ASSIGN(store::RunSaver saver, store::RunSaver::Create(request.output, request.replace));
  store::RunBuilder builder(saver.beside());
  builder.SetRunInfo("tool_version", kVersion);
  const auto import = [&](const std::string& input, model::EventSink& sink) -> Status {
    Status imported;
    SetWork("reading " + input);
    if (IsExportableReport(input)) {
      Result<std::string> exported = ExportReport(input);
      imported = exported ? importers::Import(*exported, sink)
                          : tl::unexpected<Error>(std::move(exported).error());
    } else {
      imported = importers::Import(input, sink);
    }
    XLATRACE_TRY(builder.status());
    if (imported) {
      ++outcome.inputs_read;
    } else {
      Skip(input, std::move(imported).error(), &builder, &outcome,
           IsProse(input) ? model::Severity::kNotice : model::Severity::kDataLoss);
    }
    return {};
  };
  for (const std::string& input : request.inputs) XLATRACE_TRY(import(input, builder));
  for (const HookProcess& process : request.sessions) {
    XLATRACE_ASSIGN(const importers::CompileLog log,
                    importers::ReadCompileLog(process.folder + "/compile.jsonl"));
    importers::SameProcessSink sink(builder,
                                    process.is_delayed ? std::nullopt : log.process_start_unix_ns);
    for (const HookProcess::Profile& profile : process.profiles) {
      XLATRACE_TRY(import(profile.path, sink));
      const bool last = &profile == &process.profiles.back();
      const model::WindowEnd why = EndOfProfile(profile.reason);
      if (profile.stop_unix_ns > 0) sink.StopSession(profile.stop_unix_ns);
      last ? sink.FinishSessions(why) : sink.NextSession(why, profile.reason == "memory");
    }
    if (!sink.process()) continue;
    // Without a program that waited for the process, its end is that of its last profile.
    const int64_t stopped_unix_ns =
        process.profiles.empty() ? 0 : process.profiles.back().stop_unix_ns;
    importers::AddCompileLog(log, sink.compiles(), sink.modules(), *sink.process(),
                             process.ended_unix_ns.value_or(stopped_unix_ns), builder);
    SetHookEnding(process, *sink.process(), builder);
    if (process.host_samples.empty()) continue;
    if (auto added = importers::ImportHostSamples(process.host_samples, *sink.process(), builder);
        !added) {
      Skip(process.host_samples, std::move(added).error(), &builder, &outcome);
    }
  }
  XLATRACE_TRY(ImportRecordings(request, &builder, &outcome));
  if (!request.run.empty()) {
    XLATRACE_ASSIGN(store::RunDb run, store::RunDb::Open(request.run));
    XLATRACE_TRY(store::Replay(run, builder));
    ++outcome.inputs_read;
  }
  if (outcome.inputs_read == 0) return tl::unexpected<Error>(outcome.skipped.front());
  // Modules that are given belong to the program that ran on the devices, not to a helper of it.
  const std::vector<model::Device>& devices = builder.tables().devices;
  const model::Id owner = devices.empty() ? 1 : devices.front().process_id;
  NewModules fresh(builder, owner);
  model::EventSink& sink = request.run.empty() ? static_cast<model::EventSink&>(builder) : fresh;
  if (!request.run.empty()) XLATRACE_TRY(fresh.AddFrom(builder));
  for (const std::string& path : request.module_paths) {
    SetWork("reading " + path);
    if (Status added = AddModuleFiles(path, sink, owner); !added) {
      Skip(path, std::move(added).error(), &builder, &outcome);
    }
  }
  outcome.new_modules = fresh.modules();
  // A run is not rewritten for nothing.
  if (!request.run.empty() && fresh.modules() == 0 && !outcome.skipped.empty()) {
    return tl::unexpected<Error>(outcome.skipped.front());
  }
  for (const auto& [key, value] : request.run_info) builder.SetRunInfo(key, value);
  for (const auto& [path, why] : request.left_out) {
    builder.AddRunStat({.name = "input_left_out",
                        .severity = model::Severity::kNotice,
                        .source = path,
                        .value = 1,
                        .advice = "it " + why});
  }

  SetWork("attributing the recorded time");
  XLATRACE_ASSIGN(const Derived derived, Derive(builder));
  outcome.losses = builder.Losses();
  SetWork("writing " + request.output);
  XLATRACE_TRY(saver.Save(builder, &derived.attribution, &derived.analysis));
  CountLabels(builder.tables(), derived.attribution, &outcome);
  return outcome;
}

std::string BuildSentence(const BuildOutcome& outcome, const std::string& output) {
  const auto device_ns = static_cast<double>(outcome.device_ns);
  return fmt::format(
      "{} activities, {} process{}, {} modules; {} of device time exact{} -> {}",
      Thousands(static_cast<int64_t>(outcome.activities)), outcome.processes,
      outcome.processes == 1 ? "" : "es", outcome.modules,
      outcome.device_ns == 0 ? "nothing"
                             : Percent(static_cast<double>(outcome.exact_ns), device_ns) + "%",
      outcome.inferred_ns == 0
          ? ""
          : fmt::format(", {}% inferred",
                        Percent(static_cast<double>(outcome.inferred_ns), device_ns)),
      output);
}

}  // namespace xlatrace::tools
