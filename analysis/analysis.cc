// SPDX-License-Identifier: Apache-2.0
#include "analysis/analysis.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/busy.h"
#include "analysis/collectives.h"
#include "analysis/compile_times.h"
#include "analysis/device_facts.h"
#include "analysis/findings.h"
#include "analysis/findings/tree_fit.h"
#include "analysis/gaps.h"
#include "analysis/instruction_facts.h"
#include "analysis/intervals.h"
#include "analysis/launch_occupancy.h"
#include "analysis/op_time.h"
#include "analysis/rank_work.h"
#include "analysis/replay/run_replay.h"
#include "analysis/roofline.h"
#include "analysis/run_labels.h"
#include "analysis/scope_time.h"
#include "analysis/step_parts.h"
#include "analysis/steps.h"
#include "analysis/time_split.h"
#include "analysis/time_tree/idle_time.h"
#include "analysis/time_tree/time_tree.h"
#include "analysis/timeline.h"
#include "base/task.h"
#include "model/windows.h"

namespace xlatrace::analysis {
namespace {

constexpr size_t kMaxParallelLaunches = 3'000'000;

using model::AnalysisTables;
using model::AttributionTables;
using model::Id;
using model::RunTables;

std::vector<Intervals> CompilesByProcess(const RunTables& run,
                                         const std::vector<model::CompileSpan>& spans,
                                         const std::vector<model::NamedCompile>& named) {
  std::vector<Intervals> compiles;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const auto process_id = static_cast<Id>(i + 1);
    Intervals compiling;
    for (const model::NamedCompile& span : named) {
      if (span.process_id != process_id || !model::IsOfCompilation(span.stage)) continue;
      compiling.push_back({span.start_ns, span.end_ns});
    }
    compiles.push_back(Unite(CompileTimes(spans, process_id), Normalise(std::move(compiling))));
  }
  return compiles;
}

// Per activity: does it lie in one of the steps whose mean is the typical step?
std::vector<bool> InTypicalStep(const RunTables& run, const Steps& steps) {
  std::vector<std::vector<int32_t>> typical(run.devices.size());
  for (const model::StepRow& row : steps.rows) {
    if (!row.typical) continue;
    typical[static_cast<size_t>(row.device_id) - 1].push_back(static_cast<int32_t>(row.step));
  }
  for (std::vector<int32_t>& of_device : typical) std::sort(of_device.begin(), of_device.end());
  std::vector<bool> result(run.activities.size(), false);
  for (size_t i = 0; i < result.size(); ++i) {
    if (!steps.step_of[i]) continue;
    const auto& of_device = typical[static_cast<size_t>(run.LaneOf(i).device_id) - 1];
    result[i] = std::binary_search(of_device.begin(), of_device.end(), *steps.step_of[i]);
  }
  return result;
}

// device_ns and busy_ns of the steps of one device.
void FillStepTimes(const RunTables& run, const std::vector<uint32_t>& activities,
                   const Intervals& busy, Id device_id, Steps& steps) {
  std::map<int64_t, int64_t> device_ns;
  for (const uint32_t i : activities) {
    if (steps.step_of[i]) device_ns[*steps.step_of[i]] += run.activities.self_ns[i];
  }
  for (model::StepRow& row : steps.rows) {
    if (row.device_id != device_id) continue;
    row.device_ns = device_ns[row.step];
    row.busy_ns = Overlap(busy, {row.start_ns, row.end_ns});
  }
}

Intervals TypicalIntervals(const std::vector<model::StepRow>& steps) {
  Intervals typical;
  for (const model::StepRow& row : steps) {
    if (row.typical) typical.push_back({row.start_ns, row.end_ns});
  }
  return Normalise(std::move(typical));
}

template <typename Row>
void MoveTo(std::vector<Row>& to, std::vector<Row> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Labels and costs from each module, read once. Parts of `known` stay as they are.
void ReadModules(const RunTables& run, AttributionTables& attribution,
                 const ModuleLoader& load_module, const AnalysisOptions& options, RunFacts& facts,
                 AnalysisTables& tables) {
  const ModuleLoader visit = [&](model::Id module_id) -> Result<const model::HloModule*> {
    auto module = load_module ? load_module(module_id) : Result<const model::HloModule*>();
    if (module && *module != nullptr) facts.Visit(module_id, **module, attribution);
    return module;
  };
  if (options.known == nullptr) {
    tables.stats = LabelRun(run, attribution, visit);
  } else {
    // A module that cannot be read has no costs. LabelRun has reported it.
    for (size_t m = 0; m < run.modules.size(); ++m) (void)visit(static_cast<Id>(m + 1));
  }
  facts.TakeRecorded(attribution);
}

Steps StepsOfRun(const RunTables& run, AttributionTables& attribution,
                 const std::vector<ActivityClass>& classes,
                 const std::vector<std::vector<uint32_t>>& by_device,
                 const std::vector<Intervals>& compiles,
                 const std::vector<model::NamedCompile>& named_compiles,
                 const AnalysisOptions& options) {
  if (options.known == nullptr) {
    Steps steps = FindSteps(run, attribution,
                            {classes, by_device, compiles, named_compiles, options.call_of});
    SetRoles(run, steps.rows, attribution);
    return steps;
  }
  Steps steps;
  steps.rows = options.known->steps;
  SetTypical(run, steps.rows);
  steps.step_of = options.known->step_of;
  return steps;
}

// Analyses each device along time: busy times, parts of steps, gaps, and the work that hides
// collectives. Fills the times of `steps`.
void AnalyzeDevices(const RunTables& run, const AttributionTables& attribution,
                    const std::vector<ActivityClass>& classes,
                    const std::vector<std::vector<uint32_t>>& by_device, const TimeSplit& split,
                    const std::vector<Intervals>& compiles, Steps& steps, Collectives& collectives,
                    AnalysisTables& tables) {
  const model::Recorded recorded(run.windows);
  int64_t small_gaps_ns = 0;
  tables.gaps.reserve(run.activities.size());  // Growing by copies would take twice the memory.
  for (size_t d = 0; d < run.devices.size(); ++d) {
    const auto device_id = static_cast<Id>(d + 1);
    const std::vector<model::StepRow> device_steps = steps.OfDevice(device_id);
    const Id process_id = run.devices[d].process_id;
    static const Intervals kNone;
    const bool known = process_id > 0 && static_cast<size_t>(process_id) <= compiles.size();

    BusyTime busy(classes);
    StepParts parts(classes, attribution, split, device_steps);
    GapFinder gaps(run, device_id, known ? compiles[static_cast<size_t>(process_id) - 1] : kNone,
                   recorded, tables.gaps);
    ForEachSegment(run, by_device[d], [&](const Segment& segment) {
      busy.Add(segment);
      parts.Add(segment);
      gaps.Add(segment);
      collectives.Add(segment);
    });

    int64_t device_time_ns = 0;
    for (const uint32_t i : by_device[d]) device_time_ns += run.activities.self_ns[i];
    if (!by_device[d].empty()) {
      tables.busy_times.push_back(busy.Row(device_id, device_time_ns,
                                           TypicalIntervals(device_steps), gaps.interrupted_ns()));
    }
    MoveTo(tables.step_parts, parts.Rows());
    small_gaps_ns += gaps.small_gaps_ns();
    FillStepTimes(run, by_device[d], busy.busy(), device_id, steps);
  }
  if (small_gaps_ns > 0) {
    tables.stats.push_back(
        {"gaps_below_1us_ns", model::Severity::kInfo, "analysis", small_gaps_ns, ""});
  }
}

// Fills times of ops, and compares them with the capabilities of the devices.
void FillOpTimes(const RunTables& run, const AttributionTables& attribution, const RunFacts& facts,
                 const std::vector<bool>& steady, AnalysisTables& tables) {
  const std::vector<DeviceFacts> devices = FactsOfDevices(run.devices);
  for (const DeviceFacts& device : devices) tables.devices.push_back(RowOf(device));
  const LaunchOccupancies occupancies(run, devices);
  tables.occupancies = occupancies.rows();
  if (occupancies.impossible_launches() > 0) {
    tables.stats.push_back({"occupancy_impossible", model::Severity::kInfo, "analysis",
                            occupancies.impossible_launches(),
                            "launches of which no block would fit on the GPU: their registers or "
                            "shared memory are recorded wrongly"});
  }
  tables.op_times = BuildOpTimes(run, attribution, steady, occupancies);
  CountRunsWithoutLength(run, attribution, tables.op_times, tables.stats);
  ComputeOpPhysics(run, attribution, facts, devices, occupancies, tables.op_times, tables.stats);
}

}  // namespace

AnalysisTables Analyze(const RunTables& run, AttributionTables& attribution,
                       const ModuleLoader& load_module, const AnalysisOptions& options) {
  AnalysisTables tables;
  RunFacts facts(run, attribution);
  ReadModules(run, attribution, load_module, options, facts, tables);
  const std::vector<model::NamedCompile> named_compiles =
      time_tree::NamedCompilesOf(options.named_compiles, options.host_events);
  const std::vector<Intervals> compiles = CompilesByProcess(run, options.compiles, named_compiles);
  const std::vector<ActivityClass> classes = ClassifyActivities(run, attribution);
  const std::vector<std::vector<uint32_t>> by_device = ActivitiesByDevice(run);
  // Calls with a misaligned clock are not used.
  AnalysisOptions trusted = options;
  if (!ClocksFit(run, options.call_of)) trusted.call_of = nullptr;
  Steps steps = StepsOfRun(run, attribution, classes, by_device, compiles, named_compiles, trusted);
  MoveTo(tables.stats, std::move(steps.stats));

  // For ten million launches this task and the gaps take half a gigabyte each: then run them in
  // turn.
  const std::vector<bool> steady = InTypicalStep(run, steps);
  std::vector<model::RunStat> clock_stats;
  Task queues([&] {
    tables.launch_queues = MeasureLaunchQueues(run, options.call_of, steady, clock_stats);
  });
  if (run.activities.size() > kMaxParallelLaunches) queues.Wait();

  const TimeSplit split(attribution);
  Collectives collectives(run, attribution, classes, facts);
  AnalyzeDevices(run, attribution, classes, by_device, split, compiles, steps, collectives, tables);

  queues.Wait();
  if (!clock_stats.empty()) trusted.call_of = nullptr;
  MoveTo(tables.stats, std::move(clock_stats));
  tables.collectives = collectives.Rows(steps.step_of);
  time_tree::TimeTree tree = time_tree::BuildTimeTree(
      run, attribution, tables.collectives, steps.rows,
      {classes, by_device, named_compiles, trusted.host_events, trusted.call_of});
  tables.time_tree = std::move(tree.rows);
  tables.gap_stacks = std::move(tree.gap_stacks);
  tables.gap_evidence = FindGapCauses(run, attribution, trusted.host_events, trusted.call_of,
                                      std::move(tree.gap_parts), tables.gaps);
  tables.late_rank = FindLateRank(run, {classes, by_device, tables.collectives, steps.rows,
                                        steps.step_of, trusted.host_events, trusted.call_of});
  FillOpTimes(run, attribution, facts, steady, tables);
  MarkWaiting(run, attribution, tables);
  SplitTimes times = BuildSplitTimes(run, attribution, split, steps.step_of);
  tables.scope_times = std::move(times.scopes);
  tables.phase_times = std::move(times.phases);
  tables.steps = std::move(steps.rows);
  tables.step_of = std::move(steps.step_of);
  const replay::RunReplay replayed(run, attribution, classes, trusted.host_events, trusted.call_of,
                                   tables);
  replayed.Fill(tables);
  FindFindings(run, attribution, load_module, trusted, replayed, tables);
  findings::FitToTree(tables.time_tree, tables.steps, tables.findings);
  return tables;
}

}  // namespace xlatrace::analysis
