// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/process_steps.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include "analysis/step_marks.h"
#include "analysis/time_tree/loop.h"
#include "analysis/time_tree/loop_start.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::Id;

std::vector<bool> ModulesWithOptimizer(const model::AttributionTables& attribution) {
  std::vector<bool> modules(attribution.modules.size(), false);
  for (const model::InstructionRow& instruction : attribution.instructions) {
    if (instruction.phase == model::Phase::kOptimizer && instruction.module_id > 0) {
      modules[static_cast<size_t>(instruction.module_id) - 1] = true;
    }
  }
  return modules;
}

// Devices of a process see the same steps. A device whose recording lacks some gets the numbers of
// those that lie nearest in time.
int64_t ShiftTo(const std::vector<StepSpan>& reference, const std::vector<StepSpan>& spans) {
  if (spans.empty() || reference.size() <= spans.size()) return 0;
  int64_t best = 0;
  int64_t least = INT64_MAX;
  for (size_t shift = 0; shift + spans.size() <= reference.size(); ++shift) {
    int64_t apart = 0;
    for (size_t k = 0; k < spans.size(); ++k) {
      apart += std::abs(reference[k + shift].start_ns - spans[k].start_ns) /
               static_cast<int64_t>(spans.size());
    }
    if (apart >= least) continue;
    least = apart;
    best = static_cast<int64_t>(shift);
  }
  return best;
}

// Does the run show that the program had not run before? Then it was compiled in this run.
// `start_ns`: of its first run.
bool CompiledBefore(const model::RunTables& run, const std::vector<model::NamedCompile>& compiles,
                    const model::AttributionTables& attribution, const WorkNames& names,
                    uint32_t anchor, Id process_id, int64_t start_ns) {
  for (const model::NamedCompile& span : compiles) {
    if (span.process_id != process_id || span.start_ns >= start_ns) continue;
    if (!model::IsOfCompilation(span.stage)) continue;
    if (span.module_id <= 0 || static_cast<size_t>(span.module_id) > attribution.modules.size()) {
      return true;
    }
    const auto known =
        names.number_of.find(ProgramKey(run, attribution, span.module_id, names.identity));
    if (known != names.number_of.end() && known->second == anchor) return true;
  }
  return false;
}

// Is the first period the first one of the process? `pattern`: which works belong to periods.
bool HasFirstExecution(const model::RunTables& run,
                       const std::vector<model::NamedCompile>& compiles,
                       const model::AttributionTables& attribution, const WorkNames& names,
                       const Pattern& pattern, Id process_id, const std::vector<Work>& works,
                       const std::vector<size_t>& periods, bool counts_from_more) {
  if (periods.empty() || periods[0] >= works.size()) return false;
  const auto begin = works.begin() + static_cast<std::ptrdiff_t>(periods[0]);
  const auto end =
      periods.size() > 1 ? works.begin() + static_cast<std::ptrdiff_t>(periods[1]) : works.end();
  const auto ran_before = [&](const Work& first) {
    return std::any_of(works.begin(), begin, [&](const Work& w) { return w.what == first.what; });
  };
  if (run.processes[static_cast<size_t>(process_id) - 1].recorded_from_ns) {
    const auto first = std::find_if(begin, end, [](const Work& work) { return !work.copy; });
    return first != end && !ran_before(*first);
  }
  if (counts_from_more) return false;
  return std::any_of(begin, end, [&](const Work& work) {
    return !work.copy && pattern.usual[work.what] > 0 && !ran_before(work) &&
           CompiledBefore(run, compiles, attribution, names, work.what, process_id, work.start_ns);
  });
}

struct Periods {
  std::vector<std::vector<size_t>> of_device;
  std::vector<std::vector<int64_t>> numbers;
};

// Marks are related to devices by the launches in them. If launches are unknown, the runs of the
// anchor replace the marks, provided that their numbers are equal.
Periods MarkedPeriods(const std::vector<std::vector<Work>>& works,
                      const std::vector<model::StepMark>& marks, std::optional<uint32_t> anchor) {
  Periods periods;
  std::vector<model::StepMark> firsts;  // Consecutive marks with the same number are one step.
  for (const model::StepMark& mark : marks) {
    if (firsts.empty() || firsts.back().number != mark.number) firsts.push_back(mark);
  }
  for (const std::vector<Work>& of : works) {
    const bool called = std::any_of(of.begin(), of.end(), [](const Work& w) { return w.has_call; });
    std::vector<size_t> at = PeriodsAt(of, firsts);
    if (!called && anchor) {
      std::vector<size_t> runs = PeriodsAt(of, Anchor{*anchor});
      if (runs.size() == firsts.size()) at = std::move(runs);
    }
    std::vector<int64_t> numbers;
    for (const model::StepMark& mark : firsts) numbers.push_back(mark.number);
    // A mark that is open at the end is not recorded.
    at = WithCutEnd(of, std::move(at));
    if (at.size() > numbers.size()) numbers.push_back(numbers.back() + 1);
    periods.of_device.push_back(std::move(at));
    periods.numbers.push_back(std::move(numbers));
  }
  return periods;
}

void SetNumbers(ProcessSteps& steps) {
  std::set<int64_t> numbers;
  for (const std::vector<StepSpan>& spans : steps.spans) {
    for (const StepSpan& span : spans) {
      if (!span.first_execution) numbers.insert(span.number);
    }
  }
  steps.numbers.assign(numbers.begin(), numbers.end());
}

}  // namespace

ProcessSteps FindProcessSteps(const model::RunTables& run,
                              const model::AttributionTables& attribution,
                              const std::vector<ActivityClass>& classes,
                              const std::vector<std::vector<uint32_t>>& by_device,
                              const HostCallOf& call_of, Id process_id, const Intervals& windows,
                              const Intervals& compiles,
                              const std::vector<model::NamedCompile>& named_compiles) {
  ProcessSteps steps;
  for (size_t d = 0; d < run.devices.size(); ++d) {
    if (run.devices[d].process_id == process_id) steps.devices.push_back(static_cast<Id>(d + 1));
  }
  steps.spans.resize(steps.devices.size());
  const std::vector<bool> optimizers = ModulesWithOptimizer(attribution);
  WorkNames names;
  std::vector<std::vector<Work>> works;
  const auto read = [&](Identity identity) {
    names = {.identity = identity, .facts = {}, .number_of = {}};
    works.clear();
    for (const Id device : steps.devices) {
      works.push_back(WorkOf(run, attribution, classes, by_device[static_cast<size_t>(device) - 1],
                             call_of, optimizers, names));
    }
  };
  read(Identity::kFingerprint);
  std::optional<uint32_t> anchor = AnchorProgram(works, names);
  const auto [marks, numbers_again] = MarksOf(run, process_id);
  steps.numbers_again = numbers_again;
  Periods periods;
  if (!marks.empty()) {
    steps.marked = true;
    periods = MarkedPeriods(works, marks, anchor);
  } else {
    std::optional<Anchor> sequence;
    if (anchor) sequence = Anchor{*anchor};
    if (!sequence) sequence = AnchorOp(works, names);
    if (!sequence && !AnyProgramRecurs(works, names)) {  // Each call made a new program.
      read(Identity::kName);
      sequence = AnchorOp(works, names);
    }
    if (!sequence) return steps;
    std::vector<std::vector<size_t>> at_anchor;
    for (const std::vector<Work>& of : works) at_anchor.push_back(PeriodsAt(of, *sequence));
    const std::optional<StepStart> start = StepStartOf(works, at_anchor);
    for (size_t d = 0; d < works.size(); ++d) {
      std::vector<size_t>& at = at_anchor[d];
      if (start) at = MovedToStart(works[d], std::move(at), *start);
      periods.of_device.push_back(WithCutEnd(works[d], std::move(at)));
      std::vector<int64_t>& numbers = periods.numbers.emplace_back();
      for (size_t p = 0; p < periods.of_device.back().size(); ++p) {
        numbers.push_back(static_cast<int64_t>(p) + 1);
      }
    }
  }
  for (size_t d = 0; d < works.size(); ++d) {
    const std::vector<size_t>& at = periods.of_device[d];
    const Pattern pattern = PatternOf(works[d], at, names.facts.size());
    const bool any_first = HasFirstExecution(run, named_compiles, attribution, names, pattern,
                                             process_id, works[d], at,
                                             // A step with a higher number has others before it.
                                             steps.marked && periods.numbers[d][0] > 1);
    const bool may_begin_cut =
        !any_first && !at.empty() && (!steps.marked || periods.numbers[d][0] > 0);
    const size_t cut_begins = may_begin_cut ? WorksOfCutBegin(works[d], at) : 0;
    steps.spans[d] =
        SpansOf(works[d], periods.of_device[d], pattern, periods.numbers[d], windows, cut_begins);
    if (!steps.spans[d].empty() && any_first) steps.spans[d].front().first_execution = true;
  }
  if (!steps.marked) {
    const auto most =
        std::max_element(steps.spans.begin(), steps.spans.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (most == steps.spans.end() || most->empty()) return steps;
    const int64_t first_number = most->front().first_execution ? 0 : 1;
    const std::vector<StepSpan> reference = *most;
    for (std::vector<StepSpan>& spans : steps.spans) {
      int64_t number = first_number + ShiftTo(reference, spans);
      for (StepSpan& span : spans) span.number = number++;
    }
  }
  SetNumbers(steps);
  for (std::vector<StepSpan>& spans : steps.spans) {
    for (StepSpan& span : spans) {
      span.steady = span.has_duration && !span.first_execution &&
                    Overlap(compiles, {span.start_ns, span.end_ns}) == 0;
    }
  }
  steps.figures = FiguresOf(steps.spans);
  return steps;
}

ProcessSteps StepsFromRows(const model::RunTables& run, const std::vector<model::StepRow>& rows,
                           Id process_id) {
  ProcessSteps steps;
  std::vector<size_t> place(run.devices.size() + 1, SIZE_MAX);
  for (size_t d = 0; d < run.devices.size(); ++d) {
    if (run.devices[d].process_id != process_id) continue;
    place[d + 1] = steps.devices.size();
    steps.devices.push_back(static_cast<Id>(d + 1));
  }
  steps.spans.resize(steps.devices.size());
  for (const model::StepRow& row : rows) {
    const size_t d = place[static_cast<size_t>(row.device_id)];
    if (d == SIZE_MAX) continue;
    steps.spans[d].push_back(
        {row.step, row.start_ns, row.end_ns, row.has_duration, row.first_execution, row.steady});
  }
  SetNumbers(steps);
  steps.figures = FiguresOf(steps.spans);
  return steps;
}

}  // namespace xlatrace::analysis::time_tree
