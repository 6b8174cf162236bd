// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "analysis/time_tree/process_steps.h"
#include "analysis/time_tree/step_spans.h"
#include "model/windows.h"

namespace xlatrace::analysis {
namespace {

using model::Id;
using model::StepRow;
using time_tree::ProcessSteps;
using time_tree::StepSpan;

Intervals WindowsOf(const model::RunTables& run, Id process_id) {
  Intervals windows;
  for (const model::Window& window : run.windows) {
    if (window.process_id == process_id) windows.push_back({window.start_ns, window.end_ns});
  }
  return Normalise(std::move(windows));
}

void AddRows(const ProcessSteps& found, Id process_id, std::vector<StepRow>& rows) {
  const std::vector<int64_t>& steady = found.figures.steady;
  for (size_t d = 0; d < found.devices.size(); ++d) {
    for (const StepSpan& span : found.spans[d]) {
      StepRow row;
      row.step = span.number;
      row.process_id = process_id;
      row.device_id = found.devices[d];
      row.start_ns = span.start_ns;
      row.end_ns = span.end_ns;
      row.has_duration = span.has_duration;
      row.first_execution = span.first_execution;
      row.steady =
          !span.first_execution && std::binary_search(steady.begin(), steady.end(), span.number);
      row.how = found.marked ? model::StepHow::kMarked : model::StepHow::kExecution;
      rows.push_back(row);
    }
  }
}

// Replaces the start of an execution if each of its activities counts alone.
constexpr int64_t kByActivityStartCode = INT64_MIN + 1;

// True if a whole step lies inside the execution, such as an iteration of a loop in the program.
bool HoldsSteps(const model::Execution& execution, const std::vector<StepSpan>& spans) {
  const auto inside = std::partition_point(spans.begin(), spans.end(), [&](const StepSpan& span) {
    return span.start_ns <= execution.start_ns;
  });
  return inside != spans.end() && inside->end_ns < execution.end_ns;
}

// An activity belongs to the step of its execution, otherwise to the step in which it starts. An
// execution starts with its first activity. `starts_ns`: scratch, per execution.
void SetStepOf(const model::RunTables& run, const model::AttributionTables& attribution,
               const std::vector<uint32_t>& activities, const std::vector<StepSpan>& spans,
               std::vector<int64_t>& starts_ns, std::vector<std::optional<int32_t>>& step_of) {
  if (spans.empty()) return;
  starts_ns.assign(attribution.executions.size(), INT64_MIN);
  size_t at = 0;  // The last span that starts no later.
  for (const uint32_t i : activities) {
    int64_t start = run.activities.start_ns[i];
    if (const uint32_t execution = attribution.execution_of[i]; execution != 0) {
      int64_t& first = starts_ns[execution - 1];
      if (first == INT64_MIN) {
        const bool holds_steps = HoldsSteps(attribution.executions[execution - 1], spans);
        first = holds_steps ? kByActivityStartCode : start;
      }
      if (first != kByActivityStartCode) start = first;
    }
    while (at > 0 && spans[at].start_ns > start) --at;
    while (at + 1 < spans.size() && spans[at + 1].start_ns <= start) ++at;
    if (start < spans[at].start_ns || start >= spans[at].end_ns) continue;
    step_of[i] = static_cast<int32_t>(spans[at].number);
  }
}

// A step in which records may be missing is not steady. Windows that losses cut can touch.
void LeaveOutLosses(const model::Recorded& recorded, Id process_id, ProcessSteps& found) {
  for (std::vector<StepSpan>& spans : found.spans) {
    for (StepSpan& span : spans) {
      span.steady = span.steady && recorded.Whole(process_id, span.start_ns, span.end_ns);
    }
  }
  found.figures = time_tree::FiguresOf(found.spans);
}

void AddStats(const ProcessSteps& found, std::vector<model::RunStat>& stats) {
  if (found.numbers_again > 0) {
    stats.push_back({"step_numbers_again", model::Severity::kNotice, "analysis",
                     found.numbers_again,
                     "numbers of the framework's steps come again (a loop that counts each epoch "
                     "from 0); from there on steps are counted in order of time"});
  }
  std::set<size_t> counts;
  for (const std::vector<StepSpan>& spans : found.spans) {
    if (!spans.empty()) counts.insert(spans.size());
  }
  if (counts.size() > 1) {
    stats.push_back({"devices_with_different_step_counts", model::Severity::kNotice, "analysis", 1,
                     "the recording starts or ends inside a step on some devices; record more "
                     "steps, or only whole ones with --steps"});
  }
}

}  // namespace

std::vector<StepRow> Steps::OfDevice(Id device_id) const {
  std::vector<StepRow> of_device;
  for (const StepRow& row : rows) {
    if (row.device_id == device_id) of_device.push_back(row);
  }
  return of_device;
}

Steps FindSteps(const model::RunTables& run, const model::AttributionTables& attribution,
                const StepSources& sources) {
  Steps steps;
  steps.step_of.resize(run.activities.size());
  std::vector<int64_t> starts_ns;
  const model::Recorded recorded(run.windows);
  for (size_t p = 0; p < run.processes.size(); ++p) {
    const auto process_id = static_cast<Id>(p + 1);
    ProcessSteps found = time_tree::FindProcessSteps(
        run, attribution, sources.classes, sources.by_device, sources.call_of, process_id,
        WindowsOf(run, process_id), sources.compiles[p], sources.named_compiles);
    LeaveOutLosses(recorded, process_id, found);
    AddRows(found, process_id, steps.rows);
    for (size_t d = 0; d < found.devices.size(); ++d) {
      SetStepOf(run, attribution, sources.by_device[static_cast<size_t>(found.devices[d]) - 1],
                found.spans[d], starts_ns, steps.step_of);
    }
    AddStats(found, steps.stats);
  }
  std::stable_sort(steps.rows.begin(), steps.rows.end(),
                   [](const StepRow& a, const StepRow& b) { return a.device_id < b.device_id; });
  SetTypical(run, steps.rows);
  return steps;
}

void SetTypical(const model::RunTables& run, std::vector<StepRow>& rows) {
  std::vector<time_tree::StepFigures> figures;  // By process.
  for (size_t p = 0; p < run.processes.size(); ++p) {
    figures.push_back(time_tree::StepsFromRows(run, rows, static_cast<Id>(p + 1)).figures);
  }
  for (StepRow& row : rows) {
    const time_tree::StepFigures& of = figures[static_cast<size_t>(row.process_id) - 1];
    row.typical =
        row.steady && of.known() && std::binary_search(of.kept.begin(), of.kept.end(), row.step);
  }
}

}  // namespace xlatrace::analysis
