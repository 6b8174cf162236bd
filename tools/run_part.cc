// SPDX-License-Identifier: Apache-2.0
#include "tools/run_part.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/analysis.h"
#include "model/derived.h"
#include "store/attribution_reader.h"
#include "store/launch_scan.h"
#include "store/run_builder.h"
#include "store/run_replay.h"
#include "store/run_saver.h"
#include "tools/parsed_modules.h"
#include "tools/written_analysis.h"

namespace xlatrace::tools {
namespace {

using model::Id;

// The launches and calls of the part, and their labels.
struct Part {
  std::vector<bool> kept;  // By activity_id.
  std::unordered_set<int64_t> kept_calls, other_calls;
  std::vector<uint32_t> label_of, execution_of;  // Per kept activity; executions by their old id.
  std::vector<std::optional<int32_t>> step_of;
};

Result<Part> Choose(const exporter::RunRows& rows, const exporter::Selection& selection) {
  Part part;
  XLATRACE_TRY(store::ScanLaunches(rows.db(), [&](const store::ScannedLaunch& launch) {
    const auto id = static_cast<size_t>(launch.activity_id);
    if (part.kept.size() <= id) part.kept.resize(id + 1);
    const int64_t device_id = exporter::At(rows.lanes(), launch.lane_id).device_id;
    const bool kept = selection.HasStep(launch.step) && selection.HasDevice(device_id);
    part.kept[id] = kept;
    if (launch.api_call_id != 0) {
      if (kept) {
        part.kept_calls.insert(launch.api_call_id);
      } else if (!selection.HasDevice(device_id)) {
        part.other_calls.insert(launch.api_call_id);
      }
    }
    if (!kept) return true;
    part.label_of.push_back(static_cast<uint32_t>(launch.label_id));
    part.execution_of.push_back(static_cast<uint32_t>(launch.execution_id));
    part.step_of.push_back(launch.step ? std::optional(static_cast<int32_t>(*launch.step))
                                       : std::nullopt);
    return true;
  }));
  return part;
}

// The attribution of the part: executions that nothing is left of go, the others are counted anew.
Result<model::AttributionTables> AttributionOf(store::RunDb& run, const Part& part) {
  XLATRACE_ASSIGN(model::AttributionTables tables, store::ReadAttribution(run));
  std::vector<uint32_t> left(tables.executions.size() + 1, 0);
  for (const uint32_t execution : part.execution_of) {
    if (execution < left.size()) ++left[execution];
  }
  std::vector<uint32_t> number(left.size(), 0);
  std::vector<model::Execution> executions;
  for (size_t id = 1; id < left.size(); ++id) {
    if (left[id] == 0) continue;
    model::Execution execution = tables.executions[id - 1];
    execution.complete = execution.complete && execution.activities == left[id];
    execution.activities = left[id];
    executions.push_back(execution);
    number[id] = static_cast<uint32_t>(executions.size());
  }
  tables.executions = std::move(executions);
  for (const uint32_t execution : part.execution_of) {
    tables.execution_of.push_back(execution < number.size() ? number[execution] : 0);
  }
  tables.label_of = part.label_of;
  for (uint32_t& label : tables.label_of) {
    if (label != 0 && label <= tables.labels.size()) continue;
    return MakeError(fmt::format("reading '{}': a launch has no label", run.path()),
                     "make the run.db again from its recording or trace");
  }
  // Messages about modules from reading them. The analysis writes its own messages again.
  XLATRACE_TRY(
      run.ForEach("SELECT name, severity, source, value, advice FROM x_run_stat WHERE derived"
                  " AND coalesce(source, '') <> 'analysis' ORDER BY rowid",
                  [&](const store::Statement& row) {
                    tables.stats.push_back({.name = std::string(row.Text(0)),
                                            .severity = static_cast<model::Severity>(row.Int64(1)),
                                            .source = std::string(row.Text(2)),
                                            .value = row.Int64(3),
                                            .advice = std::string(row.Text(4))});
                    return true;
                  }));
  return tables;
}

analysis::KnownParts StepsOf(store::RunDb& run, const exporter::Selection& selection,
                             std::vector<std::optional<int32_t>> step_of, Status* status) {
  analysis::KnownParts known;
  known.step_of = std::move(step_of);
  *status = run.ForEach(
      "SELECT step, process_id, device_id, start_ns, end_ns, steady, how, has_duration,"
      " first_execution FROM x_step ORDER BY device_id, start_ns",
      [&](const store::Statement& row) {
        if (!selection.HasStep(row.Int64(0)) || !selection.HasDevice(row.Int64(2))) return true;
        model::StepRow& step = known.steps.emplace_back();
        step.step = row.Int64(0);
        step.process_id = row.Int64(1);
        step.device_id = row.Int64(2);
        step.start_ns = row.Int64(3);
        step.end_ns = row.Int64(4);
        step.steady = row.Int64(5) != 0;
        step.how = static_cast<model::StepHow>(row.Int64(6));
        step.has_duration = row.Int64(7) != 0;
        step.first_execution = row.Int64(8) != 0;
        return true;
      });
  return known;
}

std::string Words(const exporter::Selection& selection) {
  std::string words;
  if (selection.steps) {
    const auto [first, last] = *selection.steps;
    words = first == last       ? fmt::format("step {}", first)
            : last == INT64_MAX ? fmt::format("steps from {}", first)
                                : fmt::format("steps {} to {}", first, last);
  }
  if (selection.device_id) {
    words += fmt::format("{}device {}", words.empty() ? "" : ", ", *selection.device_id);
  }
  return words;
}

}  // namespace

Status WriteRunPart(store::RunDb& run, const exporter::Selection& selection,
                    const exporter::Progress& progress, const std::string& output) {
  // The error lists the steps and devices of the run if the selection is empty.
  XLATRACE_ASSIGN(const exporter::RunRows rows, exporter::RunRows::Load(run, progress, selection));
  XLATRACE_ASSIGN(Part part, Choose(rows, selection));
  if (part.label_of.empty()) {
    return MakeError(
        fmt::format("'{}' has no launches in {}", run.path(), Words(selection)),
        fmt::format("xlatrace query {} \"SELECT step, device_id, count(*) FROM activity GROUP BY"
                    " 1, 2\"",
                    run.path()),
        ErrorCode::kUsage);
  }
  XLATRACE_ASSIGN(store::RunSaver saver, store::RunSaver::Create(output));
  store::RunBuilder builder(saver.beside());
  store::ReplayPart replay;
  replay.window_ns = rows.window();
  replay.steps = selection.steps;
  replay.activity = [&](Id id) {
    return static_cast<size_t>(id) < part.kept.size() && part.kept[static_cast<size_t>(id)];
  };
  replay.call = [&](Id id, int64_t start_ns, int64_t end_ns) {
    if (part.kept_calls.contains(id)) return true;
    if (part.other_calls.contains(id)) return false;
    return !rows.window() || (start_ns < rows.window()->second && end_ns > rows.window()->first);
  };
  XLATRACE_TRY(store::Replay(run, builder, replay));
  // It is not what the recording beside it would be folded to.
  for (const char* key : {"recording_token", "recording_files"}) {
    XLATRACE_ASSIGN(const auto told, run.Info(key));
    if (told) builder.SetRunInfo(key, "");
  }
  builder.SetRunInfo("part", Words(selection));
  XLATRACE_TRY(builder.status());

  XLATRACE_ASSIGN(model::AttributionTables attribution, AttributionOf(run, part));
  builder.AddResults(attribution);
  Status read_steps;
  const analysis::KnownParts known = StepsOf(run, selection, std::move(part.step_of), &read_steps);
  XLATRACE_TRY(std::move(read_steps));
  ParsedModules modules([&](Id id) { return run.ReadModule(id); });
  model::AnalysisTables analysis = AnalyzeWritten(builder, attribution, modules, &known);
  builder.AddResults(analysis);
  builder.AddResults(std::exchange(analysis.time_tree, {}));
  return saver.Save(builder, &attribution, &analysis);
}

}  // namespace xlatrace::tools
