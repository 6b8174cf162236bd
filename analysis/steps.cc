// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analysis/op_steps.h"
#include "analysis/program_work.h"
#include "analysis/step_agreement.h"
#include "analysis/step_marks.h"
#include "base/number_format.h"

namespace xlatrace::analysis {
namespace {

using model::AttributionTables;
using model::Execution;
using model::Id;
using model::ModuleRole;
using model::RunTables;
using model::StepMark;
using model::StepRow;

constexpr size_t kFewestCounted = 3;
// Calls in a row of a program on a CPU that are a loop, and no calls of a script now and then.
constexpr size_t kLoopOfCalls = 20;

// A step of one device while it is being found.
struct Found {
  int64_t number = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::vector<size_t> executions;  // Main ones, indices.
  int64_t main_ns = 0;             // Device time of these; of all that was launched, where marked.
  int64_t device_ns = 0;           // Of all activities in it.
};

// What is known of the steps of one device.
struct DeviceSteps {
  std::vector<Found> found;
  bool marked = false;
  bool by_launch = false;  // Marked, and led here by what the host launched.
  bool by_ops = false;     // Counted by the ops that a framework ran itself.
  bool trains = false;     // Those do.
  std::vector<std::optional<int32_t>> launched_in;  // Then per activity: the position in `found`.
};

bool IsMain(const AttributionTables& attribution, const Execution& execution) {
  return execution.module_id > 0 &&
         attribution.modules[static_cast<size_t>(execution.module_id) - 1].role ==
             ModuleRole::kMain;
}

const std::string& FunctionOf(const AttributionTables& attribution, const Execution& execution) {
  return attribution.modules[static_cast<size_t>(execution.module_id) - 1].framework_function;
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
  // Programs that make a step in turn: the first of them begins it, again after the others.
  const std::string* first = nullptr;
  bool in_turn = false;
  for (const size_t e : executions) {
    if (!IsMain(attribution, attribution.executions[e])) continue;
    const std::string& function = FunctionOf(attribution, attribution.executions[e]);
    if (first == nullptr) first = &function;
    in_turn |= function != *first;
  }

  std::vector<Found> found;
  bool open = false;
  bool others = true;
  for (const size_t e : executions) {
    const Execution& execution = attribution.executions[e];
    if (IsMain(attribution, execution)) {
      const bool begins = FunctionOf(attribution, execution) == *first;
      if (in_turn ? begins && others : !open || !until_update) {
        others = false;
        found.push_back({static_cast<int64_t>(found.size()), execution.start_ns, 0, {}});
      }
      open = true;
      others |= !begins;
      if (found.empty()) continue;
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

// What the host launched while a mark lasted, by position of the mark (step annotations of
// frameworks that run without modules). Nothing where launches are not known.
void LeadMarksToDevice(const RunTables& run, const HostCallOf& call_of, Id device_id,
                       const std::vector<StepMark>& marks, DeviceSteps& steps) {
  if (!call_of || marks.empty()) return;
  std::vector<std::optional<int32_t>> launched_in(run.activities.size());
  std::vector<Found> found(marks.size());
  for (size_t k = 0; k < marks.size(); ++k) found[k].number = marks[k].number;
  bool any = false;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    if (run.LaneOf(i).device_id != device_id) continue;
    const std::optional<model::HostCall> call = call_of(i);
    if (!call) continue;
    const auto after =
        std::upper_bound(marks.begin(), marks.end(), call->start_ns,
                         [](int64_t time, const StepMark& mark) { return time < mark.start_ns; });
    if (after == marks.begin() || call->start_ns >= (after - 1)->end_ns) continue;
    const auto k = static_cast<size_t>(after - 1 - marks.begin());
    Found& step = found[k];
    const int64_t start = run.activities.start_ns[i];
    const int64_t end = run.activities.end_ns(i);
    if (!launched_in[i] && step.end_ns == 0 && step.start_ns == 0) step.start_ns = start;
    step.start_ns = std::min(step.start_ns, start);
    step.end_ns = std::max(step.end_ns, end);
    launched_in[i] = static_cast<int32_t>(k);
    any = true;
  }
  if (!any) return;
  std::vector<int32_t> place(found.size(), -1);
  steps.found.clear();
  for (size_t k = 0; k < found.size(); ++k) {
    if (found[k].start_ns == 0 && found[k].end_ns == 0) continue;
    place[k] = static_cast<int32_t>(steps.found.size());
    steps.found.push_back(std::move(found[k]));
  }
  for (auto& of : launched_in) {
    if (of) of = place[static_cast<size_t>(*of)];
  }
  // A step ends where the next one begins; the last with its own work.
  for (size_t k = 0; k + 1 < steps.found.size(); ++k) {
    steps.found[k].end_ns = std::max(steps.found[k].start_ns, steps.found[k + 1].start_ns);
  }
  steps.launched_in = std::move(launched_in);
  steps.by_launch = true;
}

// Rule 3.
void CountByOps(const RunTables& run, const AttributionTables& attribution, Id device_id,
                DeviceSteps& device) {
  const OpSteps steps = FindOpSteps(run, attribution, device_id);
  if (steps.starts_ns.empty()) return;
  device.found.clear();
  for (const int64_t start : steps.starts_ns) {
    if (!device.found.empty()) device.found.back().end_ns = start;
    device.found.push_back({static_cast<int64_t>(device.found.size()), start, steps.end_ns, {}});
  }
  device.by_ops = true;
  device.trains = steps.trains;
}

bool IsIncomplete(const AttributionTables& attribution, const Found& step) {
  return std::any_of(step.executions.begin(), step.executions.end(),
                     [&](size_t e) { return !attribution.executions[e].complete; });
}

// Calls of a program that does not train are steps where one follows the other evenly, and without
// much between them. `lengths` are those of the first of these steps: of the last one it is not
// known.
bool IsRhythm(const AttributionTables& attribution, const std::vector<Found>& steps,
              std::span<const size_t> which, std::span<const int64_t> lengths, Clock clock) {
  const size_t known = std::min(lengths.size(), which.size());
  if (known == 0) return true;
  if (!Agree(lengths.first(known), clock)) return false;
  int64_t length = 0;
  int64_t running = 0;
  for (size_t k = 0; k < known; ++k) {
    const Found& step = steps[which[k]];
    length += lengths[k];
    for (const size_t e : step.executions) {
      running += attribution.executions[e].end_ns - attribution.executions[e].start_ns;
    }
  }
  return 5 * running >= 2 * length;
}

// How the steps of one device agree (last two rules of the header).
struct Judged {
  std::vector<bool> steady;
  bool agree = true;
  bool stay = false;     // They are steps even where they do not agree; then none is steady.
  int64_t least_ns = 0;  // Where they do not: device time of the shortest and the longest.
  int64_t most_ns = 0;
};

Judged JudgeSteps(const AttributionTables& attribution, const DeviceSteps& device,
                  const Intervals& compiles, const model::Recorded& recorded, Id process_id,
                  bool trains, bool on_cpu) {
  const std::vector<Found>& steps = device.found;
  Judged judged;
  judged.steady.assign(steps.size(), false);
  judged.stay = device.marked || (on_cpu && trains);
  if (!device.by_launch && steps.size() < kFewestCounted) return judged;
  bool completeness_known = device.by_launch;
  for (const Found& step : steps) {
    for (const size_t e : step.executions) {
      completeness_known |= attribution.executions[e].complete;
    }
  }
  // Of what is whole. Where that is not known, the first and the last one may be cut; but of a few
  // all have to agree.
  std::vector<size_t> whole;
  for (size_t s = 0; s < steps.size(); ++s) {
    const bool at_end = s == 0 || s + 1 == steps.size();
    if (completeness_known ? !device.by_launch && IsIncomplete(attribution, steps[s])
                           : at_end && steps.size() >= 5) {
      continue;
    }
    // A pause, or a loss: how long such a step took nobody knows.
    if (!recorded.Whole(process_id, steps[s].start_ns, steps[s].end_ns)) continue;
    if (steps[s].end_ns > steps[s].start_ns) whole.push_back(s);
  }
  std::vector<int64_t> device_ns, lengths;
  for (const size_t s : whole) {
    device_ns.push_back(steps[s].main_ns);
    // A compilation makes a step not steady, and says nothing of the others.
    const Interval step{steps[s].start_ns, steps[s].end_ns};
    lengths.push_back(step.end_ns - step.start_ns - Overlap(compiles, step));
  }
  // The last one's length is at least what is seen.
  const bool ends_with_last = !whole.empty() && whole.back() + 1 == steps.size();
  const size_t lengths_known = lengths.size() - (ends_with_last && lengths.size() > 1 ? 1 : 0);
  const size_t warm_up =
      std::max(WarmUpCount(device_ns),
               WarmUpCount(std::span(lengths).first(lengths_known), kWarmUpLengthPct));
  const std::span of_device = std::span(device_ns).subspan(warm_up);
  if (of_device.empty()) return judged;
  judged.least_ns = *std::min_element(of_device.begin(), of_device.end());
  judged.most_ns = *std::max_element(of_device.begin(), of_device.end());
  const Clock clock =
      on_cpu && (trains || of_device.size() >= kLoopOfCalls) ? Clock::kPreempted : Clock::kDevice;
  judged.agree =
      (judged.most_ns == 0 || Agree(of_device, clock)) &&
      (trains || device.marked || device.by_ops ||
       IsRhythm(attribution, steps, std::span(whole).subspan(warm_up),
                std::span(lengths).subspan(warm_up, std::max(lengths_known, warm_up) - warm_up),
                clock));
  if (!judged.agree) return judged;

  std::vector<int64_t> all_ns;
  for (size_t k = warm_up; k < whole.size(); ++k) all_ns.push_back(steps[whole[k]].device_ns);
  const auto middle = [](std::vector<int64_t> values) {
    const auto at = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  const int64_t usual_ns = middle(all_ns);
  std::vector<int64_t> later(
      lengths.begin() + static_cast<ptrdiff_t>(warm_up),
      lengths.begin() + static_cast<ptrdiff_t>(std::max(lengths_known, warm_up)));
  const int64_t usual_length = later.empty() ? 0 : middle(later);
  for (size_t k = warm_up; k < whole.size(); ++k) {
    const size_t s = whole[k];
    const Found& step = steps[s];
    const bool at_end = s == 0 || s + 1 == steps.size();
    if (at_end && !completeness_known) continue;
    if (s + 1 == steps.size() && 10 * lengths[k] < 9 * usual_length) continue;
    if (2 * step.device_ns > 3 * usual_ns && usual_ns > 0) continue;
    judged.steady[s] = Overlap(compiles, {step.start_ns, step.end_ns}) == 0;
  }
  return judged;
}

// The position of the step that holds an instant, of steps by start.
std::optional<int32_t> PlaceAt(const std::vector<Found>& steps, int64_t time_ns) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time_ns,
                       [](int64_t time, const Found& step) { return time < step.start_ns; });
  if (after == steps.begin() || time_ns >= (after - 1)->end_ns) return std::nullopt;
  return static_cast<int32_t>(after - 1 - steps.begin());
}

// Position of the step of each activity among those of its device; -1: none.
std::vector<int32_t> PlacesOf(const RunTables& run, const AttributionTables& attribution,
                              const std::vector<DeviceSteps>& by_device) {
  constexpr int32_t kNowhere = -1;
  std::vector<int32_t> of_execution(attribution.executions.size(), kNowhere);
  for (size_t e = 0; e < attribution.executions.size(); ++e) {
    const Execution& execution = attribution.executions[e];
    of_execution[e] =
        PlaceAt(by_device[static_cast<size_t>(execution.device_id) - 1].found, execution.start_ns)
            .value_or(kNowhere);
  }
  for (const DeviceSteps& device : by_device) {
    for (size_t s = 0; s < device.found.size(); ++s) {
      for (const size_t e : device.found[s].executions) of_execution[e] = static_cast<int32_t>(s);
    }
  }
  std::vector<int32_t> places(run.activities.size(), kNowhere);
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const DeviceSteps& device = by_device[static_cast<size_t>(run.LaneOf(i).device_id) - 1];
    if (device.found.empty()) continue;
    const uint32_t execution = attribution.execution_of[i];
    if (device.by_launch && device.launched_in[i]) {
      places[i] = *device.launched_in[i];
    } else if (execution > 0 && !device.by_ops) {
      places[i] = of_execution[execution - 1];
    } else {
      places[i] = PlaceAt(device.found, run.activities.start_ns[i]).value_or(kNowhere);
    }
  }
  return places;
}

// main_ns and device_ns of all steps.
void SumDeviceTime(const RunTables& run, const AttributionTables& attribution,
                   const std::vector<int32_t>& places, std::vector<DeviceSteps>& by_device) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;
    DeviceSteps& device = by_device[static_cast<size_t>(run.LaneOf(i).device_id) - 1];
    Found& step = device.found[static_cast<size_t>(places[i])];
    const int64_t ns = run.activities.self_ns[i];
    step.device_ns += ns;
    const uint32_t execution = attribution.execution_of[i];
    if (step.executions.empty() ||
        (execution > 0 && IsMain(attribution, attribution.executions[execution - 1]))) {
      step.main_ns += ns;
    }
  }
}

// Where each device has steps, and from what that is known: marks of the framework, executions of
// the main program, or ops that recur.
std::vector<DeviceSteps> StepsOfDevices(const RunTables& run, const AttributionTables& attribution,
                                        const HostCallOf& call_of,
                                        std::vector<model::RunStat>& stats) {
  const std::set<Id> with_optimizer = ModulesWithOptimizer(attribution);
  std::vector<DeviceSteps> by_device(run.devices.size());
  std::set<Id> counted_on;  // Processes.
  for (size_t d = 0; d < run.devices.size(); ++d) {
    const std::vector<size_t> executions = ExecutionsOf(attribution, static_cast<Id>(d + 1));
    const auto [marks, numbers_again] = MarksOf(run, run.devices[d].process_id);
    if (numbers_again > 0 && counted_on.insert(run.devices[d].process_id).second) {
      stats.push_back({"step_numbers_again", model::Severity::kNotice, "analysis", numbers_again,
                       "numbers of the framework's steps come again (a loop that counts each "
                       "epoch from 0); from there on steps are counted in order of time"});
    }
    DeviceSteps& device = by_device[d];
    device.marked = !marks.empty();
    device.found = marks.empty() ? CountSteps(attribution, executions, with_optimizer)
                                 : MarkedSteps(attribution, executions, marks);
    CloseSteps(attribution, device.found);
    if (device.marked && (device.found.empty() || device.found[0].executions.empty())) {
      LeadMarksToDevice(run, call_of, static_cast<Id>(d + 1), marks, device);
    }
    if (!device.marked) CountByOps(run, attribution, static_cast<Id>(d + 1), device);
  }
  return by_device;
}

// Whether a device's steps train, as far as the modules that run in them say.
bool Train(const AttributionTables& attribution, const std::set<Id>& training,
           const DeviceSteps& device) {
  if (device.trains) return true;
  for (const Found& step : device.found) {
    for (const size_t e : step.executions) {
      if (training.contains(attribution.executions[e].module_id)) return true;
    }
  }
  return false;
}

// What the devices say of each other: a step is steady where it is on all devices of its process.
struct Verdicts {
  std::vector<Judged> of_device;
  std::set<std::pair<Id, int64_t>> not_steady;  // Process and step.
  std::set<Id> disagree;                        // Processes.
};

model::RunStat DoNotAgree(const DeviceSteps& device, const Judged& judged) {
  return {"steps_do_not_agree", model::Severity::kNotice, "analysis",
          static_cast<int64_t>(device.found.size()),
          "what recurs takes from " + Milliseconds(static_cast<double>(judged.least_ns)) + " to " +
              Milliseconds(static_cast<double>(judged.most_ns)) + " ms of device time" +
              (judged.stay ? ", so that none of these steps is called steady"
                           : " and in no even rhythm: these are calls, not steps")};
}

Verdicts JudgeDevices(const RunTables& run, const AttributionTables& attribution,
                      const std::vector<Intervals>& compiles,
                      const std::vector<DeviceSteps>& by_device,
                      std::vector<model::RunStat>& stats) {
  static const Intervals kNone;
  const std::set<Id> training = ModulesThatTrain(attribution);
  const model::Recorded recorded(run.windows);
  Verdicts verdicts;
  verdicts.of_device.resize(run.devices.size());
  for (size_t d = 0; d < run.devices.size(); ++d) {
    const Id process_id = run.devices[d].process_id;
    const DeviceSteps& device = by_device[d];
    if (device.found.empty()) continue;
    const bool has_compiles = process_id > 0 && static_cast<size_t>(process_id) <= compiles.size();
    Judged& judged = verdicts.of_device[d];
    judged = JudgeSteps(attribution, device,
                        has_compiles ? compiles[static_cast<size_t>(process_id) - 1] : kNone,
                        recorded, process_id, Train(attribution, training, device),
                        run.devices[d].kind == model::DeviceKind::kCpu);
    if (!judged.agree && verdicts.disagree.insert(process_id).second) {
      stats.push_back(DoNotAgree(device, judged));
    }
    for (size_t s = 0; s < judged.steady.size(); ++s) {
      if (!judged.steady[s]) verdicts.not_steady.emplace(process_id, device.found[s].number);
    }
  }
  return verdicts;
}

// The rows of what is found; calls that are no steps leave `by_device`.
std::vector<StepRow> RowsOf(const RunTables& run, const Verdicts& verdicts,
                            std::vector<DeviceSteps>& by_device) {
  std::vector<StepRow> rows;
  for (size_t d = 0; d < run.devices.size(); ++d) {
    const Id process_id = run.devices[d].process_id;
    DeviceSteps& device = by_device[d];
    const bool none = verdicts.disagree.contains(process_id);
    if (none && !verdicts.of_device[d].stay) {
      device.found.clear();
      continue;
    }
    for (const Found& found : device.found) {
      StepRow row;
      row.step = found.number;
      row.process_id = process_id;
      row.device_id = static_cast<Id>(d + 1);
      row.start_ns = found.start_ns;
      row.end_ns = found.end_ns;
      row.steady = !none && !verdicts.not_steady.contains({process_id, found.number});
      row.how = device.marked ? model::StepHow::kMarked : model::StepHow::kExecution;
      rows.push_back(row);
    }
  }
  return rows;
}

// Says of processes whose devices have steps, but not equally many, that they do; not of those
// where there are none.
void ReportStepCounts(const std::map<Id, std::set<size_t>>& step_counts,
                      const std::set<Id>& disagree, std::vector<model::RunStat>& stats) {
  for (const auto& [process_id, counts] : step_counts) {
    if (counts.size() < 2 || disagree.contains(process_id)) continue;
    stats.push_back({"devices_with_different_step_counts", model::Severity::kNotice, "analysis", 1,
                     "the recording starts or ends inside a step on some devices; record "
                     "more steps, or only whole ones with --steps"});
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

Steps FindSteps(const RunTables& run, const AttributionTables& attribution,
                const std::vector<Intervals>& compiles, const HostCallOf& call_of) {
  Steps steps;
  std::vector<DeviceSteps> by_device = StepsOfDevices(run, attribution, call_of, steps.stats);
  const std::vector<int32_t> places = PlacesOf(run, attribution, by_device);
  SumDeviceTime(run, attribution, places, by_device);
  const Verdicts verdicts = JudgeDevices(run, attribution, compiles, by_device, steps.stats);
  std::map<Id, std::set<size_t>> step_counts;  // Of the devices of a process that have any.
  for (size_t d = 0; d < by_device.size(); ++d) {
    if (by_device[d].found.empty()) continue;
    step_counts[run.devices[d].process_id].insert(by_device[d].found.size());
  }
  steps.rows = RowsOf(run, verdicts, by_device);
  steps.step_of.resize(run.activities.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& found = by_device[static_cast<size_t>(run.LaneOf(i).device_id) - 1].found;
    if (places[i] < 0 || found.empty()) continue;
    steps.step_of[i] = static_cast<int32_t>(found[static_cast<size_t>(places[i])].number);
  }
  ReportStepCounts(step_counts, verdicts.disagree, steps.stats);
  return steps;
}

}  // namespace xlatrace::analysis
