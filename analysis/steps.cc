#include "analysis/steps.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace xlatrace::analysis {
namespace {

using model::AttributionTables;
using model::Execution;
using model::Id;
using model::ModuleRole;
using model::RunTables;
using model::StepMark;
using model::StepRow;

constexpr size_t kFewestStepsForSteady = 3;

// A step of one device while it is being found.
struct Found {
  int64_t number = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::vector<size_t> executions;  // Main ones, indices.
};

bool IsMain(const AttributionTables& attribution, const Execution& execution) {
  return execution.module_id > 0 &&
         attribution.modules[static_cast<size_t>(execution.module_id) - 1].role ==
             ModuleRole::kMain;
}

// Modules with optimizer work that is launched; helpers such as a separately compiled update count.
std::set<Id> ModulesWithOptimizer(const AttributionTables& attribution) {
  std::set<Id> modules;
  for (const model::InstructionRow& instruction : attribution.instructions) {
    if (instruction.phase == model::Phase::kOptimizer) modules.insert(instruction.module_id);
  }
  return modules;
}

// Executions of a device by start.
std::vector<size_t> ExecutionsOf(const AttributionTables& attribution, Id device_id) {
  std::vector<size_t> executions;
  for (size_t e = 0; e < attribution.executions.size(); ++e) {
    if (attribution.executions[e].device_id == device_id) executions.push_back(e);
  }
  std::stable_sort(executions.begin(), executions.end(), [&](size_t a, size_t b) {
    return attribution.executions[a].start_ns < attribution.executions[b].start_ns;
  });
  return executions;
}

// Rule 2.
std::vector<Found> CountSteps(const AttributionTables& attribution,
                              const std::vector<size_t>& executions,
                              const std::set<Id>& with_optimizer) {
  bool main_updates = false;
  size_t updates = 0;  // Executions of optimizer modules after the first main one.
  bool main_seen = false;
  for (const size_t e : executions) {
    const Execution& execution = attribution.executions[e];
    const bool main = IsMain(attribution, execution);
    const bool optimizer = with_optimizer.contains(execution.module_id);
    main_seen |= main;
    main_updates |= main && optimizer;
    if (!main && optimizer && main_seen) ++updates;
  }
  const bool until_update = !main_updates && updates >= 2;

  std::vector<Found> found;
  bool open = false;
  for (const size_t e : executions) {
    const Execution& execution = attribution.executions[e];
    if (IsMain(attribution, execution)) {
      if (!open || !until_update) {
        found.push_back({static_cast<int64_t>(found.size()), execution.start_ns, 0, {}});
      }
      open = true;
      found.back().executions.push_back(e);
    } else if (with_optimizer.contains(execution.module_id)) {
      open = false;
    }
  }
  return found;
}

// Rule 1.
std::vector<Found> MarkedSteps(const AttributionTables& attribution,
                               const std::vector<size_t>& executions,
                               const std::vector<StepMark>& marks) {
  std::vector<size_t> mains;
  for (const size_t e : executions) {
    if (IsMain(attribution, attribution.executions[e])) mains.push_back(e);
  }
  std::vector<Found> found;
  if (mains.empty()) {
    for (const StepMark& mark : marks) {
      found.push_back({mark.number, mark.start_ns, mark.end_ns, {}});
    }
    return found;
  }
  const bool one_to_one = mains.size() == marks.size();
  size_t mark = 0;
  for (size_t k = 0; k < mains.size(); ++k) {
    const int64_t start = attribution.executions[mains[k]].start_ns;
    if (one_to_one) {
      mark = k;
    } else {
      while (mark + 1 < marks.size() && marks[mark + 1].start_ns <= start) ++mark;
      const bool after_the_last = mark + 1 == marks.size() && start >= marks[mark].end_ns;
      if (start < marks[mark].start_ns || after_the_last) continue;
    }
    if (found.empty() || found.back().number != marks[mark].number) {
      found.push_back({marks[mark].number, start, 0, {}});
    }
    found.back().executions.push_back(mains[k]);
  }
  return found;
}

// Each step ends where the next one starts; the last with its own executions' activities.
void CloseSteps(const AttributionTables& attribution, std::vector<Found>& steps) {
  for (size_t s = 0; s < steps.size(); ++s) {
    Found& step = steps[s];
    if (s + 1 < steps.size()) {
      step.end_ns = std::max(step.start_ns, steps[s + 1].start_ns);
      continue;
    }
    for (const size_t e : step.executions) {
      step.end_ns = std::max(step.end_ns, attribution.executions[e].end_ns);
    }
    step.end_ns = std::max(step.end_ns, step.start_ns);
  }
}

// Of one device: which of its steps may be steady (last rule of the header).
std::vector<bool> SteadySteps(const AttributionTables& attribution, const std::vector<Found>& steps,
                              const Intervals& compiles) {
  std::vector<bool> steady(steps.size(), false);
  if (steps.size() < kFewestStepsForSteady) return steady;
  bool completeness_known = false;
  for (const Found& step : steps) {
    for (const size_t e : step.executions) {
      completeness_known |= attribution.executions[e].complete;
    }
  }
  std::vector<int64_t> durations;
  for (size_t s = 1; s + 1 < steps.size(); ++s) {
    const Found& step = steps[s];
    const bool incomplete =
        completeness_known &&
        std::any_of(step.executions.begin(), step.executions.end(),
                    [&](size_t e) { return !attribution.executions[e].complete; });
    const bool compiling = Overlap(compiles, {step.start_ns, step.end_ns}) > 0;
    steady[s] = !incomplete && !compiling && step.end_ns > step.start_ns;
    if (steady[s]) durations.push_back(step.end_ns - step.start_ns);
  }
  if (durations.empty()) return steady;
  const auto middle = durations.begin() + static_cast<ptrdiff_t>((durations.size() - 1) / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  const int64_t median = *middle;
  for (size_t s = 1; s + 1 < steps.size(); ++s) {
    if (!steady[s]) continue;
    if (2 * (steps[s].end_ns - steps[s].start_ns) <= 3 * median) break;
    steady[s] = false;
  }
  return steady;
}

// The step that holds an instant, of steps by start.
std::optional<int32_t> StepAt(const std::vector<Found>& steps, int64_t time_ns) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time_ns,
                       [](int64_t time, const Found& step) { return time < step.start_ns; });
  if (after == steps.begin() || time_ns >= (after - 1)->end_ns) return std::nullopt;
  return static_cast<int32_t>((after - 1)->number);
}

void AssignActivities(const RunTables& run, const AttributionTables& attribution,
                      const std::vector<std::vector<Found>>& by_device, Steps& steps) {
  std::vector<std::optional<int32_t>> step_of_execution(attribution.executions.size());
  for (size_t e = 0; e < attribution.executions.size(); ++e) {
    const Execution& execution = attribution.executions[e];
    step_of_execution[e] =
        StepAt(by_device[static_cast<size_t>(execution.device_id) - 1], execution.start_ns);
  }
  for (const std::vector<Found>& found : by_device) {
    for (const Found& step : found) {
      for (const size_t e : step.executions) {
        step_of_execution[e] = static_cast<int32_t>(step.number);
      }
    }
  }
  steps.step_of.resize(run.activities.size());
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const uint32_t execution = attribution.execution_of[i];
    if (execution > 0) {
      steps.step_of[i] = step_of_execution[execution - 1];
    } else {
      const auto device = static_cast<size_t>(run.LaneOf(i).device_id) - 1;
      steps.step_of[i] = StepAt(by_device[device], run.activities.start_ns[i]);
    }
  }
}

std::vector<StepMark> MarksOf(const RunTables& run, Id process_id) {
  std::vector<StepMark> marks;
  for (const StepMark& mark : run.step_marks) {
    if (mark.process_id == process_id) marks.push_back(mark);
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start_ns < b.start_ns; });
  // Numbers that are really ids (hashes, run ids) do not fit; such steps are counted from 0.
  const bool fits = std::all_of(marks.begin(), marks.end(), [](const StepMark& mark) {
    return mark.number >= 0 && mark.number <= INT32_MAX;
  });
  for (size_t k = 0; !fits && k < marks.size(); ++k) marks[k].number = static_cast<int64_t>(k);
  return marks;
}

}  // namespace

std::vector<StepRow> Steps::OfDevice(Id device_id) const {
  std::vector<StepRow> of_device;
  for (const StepRow& row : rows) {
    if (row.device_id == device_id) of_device.push_back(row);
  }
  return of_device;
}

Steps FindSteps(const RunTables& run, const AttributionTables& attribution,
                const std::vector<Intervals>& compiles) {
  const std::set<Id> with_optimizer = ModulesWithOptimizer(attribution);
  std::vector<std::vector<Found>> by_device(run.devices.size());
  std::vector<std::vector<bool>> steady(run.devices.size());
  std::set<std::pair<Id, int64_t>> not_steady;  // Process and step.
  std::map<Id, std::set<size_t>> step_counts;   // Of the devices of a process that have any.
  static const Intervals kNone;
  for (size_t d = 0; d < run.devices.size(); ++d) {
    const Id process_id = run.devices[d].process_id;
    const std::vector<size_t> executions = ExecutionsOf(attribution, static_cast<Id>(d + 1));
    const std::vector<StepMark> marks = MarksOf(run, process_id);
    by_device[d] = marks.empty() ? CountSteps(attribution, executions, with_optimizer)
                                 : MarkedSteps(attribution, executions, marks);
    CloseSteps(attribution, by_device[d]);
    if (by_device[d].empty()) continue;
    step_counts[process_id].insert(by_device[d].size());
    const bool has_compiles = process_id > 0 && static_cast<size_t>(process_id) <= compiles.size();
    steady[d] = SteadySteps(attribution, by_device[d],
                            has_compiles ? compiles[static_cast<size_t>(process_id) - 1] : kNone);
    for (size_t s = 0; s < steady[d].size(); ++s) {
      if (!steady[d][s]) not_steady.emplace(process_id, by_device[d][s].number);
    }
  }

  Steps steps;
  for (size_t d = 0; d < run.devices.size(); ++d) {
    const Id process_id = run.devices[d].process_id;
    const bool marked = !MarksOf(run, process_id).empty();
    for (const Found& found : by_device[d]) {
      StepRow row;
      row.step = found.number;
      row.process_id = process_id;
      row.device_id = static_cast<Id>(d + 1);
      row.start_ns = found.start_ns;
      row.end_ns = found.end_ns;
      row.steady = !not_steady.contains({process_id, found.number});
      row.how = marked ? model::StepHow::kMarked : model::StepHow::kExecution;
      steps.rows.push_back(row);
    }
  }
  AssignActivities(run, attribution, by_device, steps);
  for (const auto& [process_id, counts] : step_counts) {
    if (counts.size() < 2) continue;
    steps.stats.push_back({"devices_with_different_step_counts", model::Severity::kNotice,
                           "analysis", 1,
                           "the recording starts or ends inside a step on some devices; record "
                           "more steps, or only whole ones with --steps"});
  }
  return steps;
}

}  // namespace xlatrace::analysis
