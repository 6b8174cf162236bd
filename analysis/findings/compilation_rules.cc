// SPDX-License-Identifier: Apache-2.0

// Compilation while a run makes its steps: again for other shapes, or for each call.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/compile_times.h"
#include "analysis/findings/program_shapes.h"
#include "analysis/findings/rules.h"
#include "analysis/intervals.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

constexpr size_t kMinShapePrograms = 4;  // Programs of one function, called once each.

struct Compiled {
  int64_t count = 0;
  int64_t ns = 0;
  int64_t of_ns = 0;  // From the second step to the end of the last one, all processes.
};

// Compilations between the second and the last step of processes that make steps. Their time
// includes the gaps that they cause.
Compiled CompiledBetweenSteps(const Context& context) {
  struct Time {
    std::vector<int64_t> starts;  // Starts of steps, on one device.
    int64_t last_ns = INT64_MIN;
  };
  std::map<Id, std::map<Id, Time>> processes;  // By process and device.
  for (const model::StepRow& row : context.analysis.steps) {
    Time& time = processes[row.process_id][row.device_id];
    time.starts.push_back(row.start_ns);
    time.last_ns = std::max(time.last_ns, row.end_ns);
  }
  Compiled compiled;
  for (auto& [process, devices] : processes) {
    Time& time = devices.begin()->second;
    std::sort(time.starts.begin(), time.starts.end());
    if (time.starts.size() < 2) continue;
    const Interval between{time.starts[1], time.last_ns};
    Intervals spans;
    for (const Interval& span : CompileTimes(context.run.compiles, process)) {
      if (span.start_ns >= between.start_ns && span.start_ns < between.end_ns) {
        spans.push_back(span);
      }
    }
    compiled.count += static_cast<int64_t>(spans.size());
    for (const model::GapRow& gap : context.analysis.gaps) {
      if (gap.cause == model::GapCause::kCompile && gap.device_id == devices.begin()->first) {
        spans.push_back({gap.start_ns, gap.end_ns});
      }
    }
    spans = Normalise(std::move(spans));
    compiled.ns += Length(Intersect(spans, {between}));
    compiled.of_ns += between.end_ns - between.start_ns;
  }
  return compiled;
}

// A jitted function, of which each shape is a program.
struct Function {
  std::set<Id> programs;
  std::vector<int64_t> starts;                       // Starts of its calls.
  std::map<Id, std::pair<int64_t, int64_t>> called;  // By program: its first and last call.
  int64_t end_ns = INT64_MIN;
  int64_t ns = 0;  // Time of its calls.
  Id process_id = 0;
};

// Programs of one tf.function have names that differ: a_inference_train_step_4052__XlaMust...
std::string FunctionName(const Context& context, Id module_id) {
  const size_t module = static_cast<size_t>(module_id) - 1;
  const std::string& name = context.run.modules[module].name;
  const std::string& function = context.attribution.modules[module].framework_function;
  return function.empty() || name.ends_with("_" + function) ? name : function;
}

std::map<std::string, Function> FunctionsOf(const Context& context) {
  std::map<std::string, Function> functions;
  for (const model::Execution& execution : context.attribution.executions) {
    Function& function = functions[FunctionName(context, execution.module_id)];
    function.programs.insert(execution.module_id);
    function.starts.push_back(execution.start_ns);
    auto& [first, last] =
        function.called.try_emplace(execution.module_id, execution.start_ns, execution.start_ns)
            .first->second;
    first = std::min(first, execution.start_ns);
    last = std::max(last, execution.start_ns);
    function.end_ns = std::max(function.end_ns, execution.end_ns);
    function.ns += execution.end_ns - execution.start_ns;
    function.process_id =
        context.run.devices[static_cast<size_t>(execution.device_id) - 1].process_id;
  }
  return functions;
}

// Entry for compilation without fault: how often the function with most programs was compiled. A
// program for each of a few shapes is compiled once and may be called often.
LookedAt FewPrograms(const std::map<std::string, Function>& functions) {
  const auto most =
      std::max_element(functions.begin(), functions.end(), [](const auto& a, const auto& b) {
        return a.second.programs.size() < b.second.programs.size();
      });
  if (most == functions.end() || most->second.programs.size() < 2) {
    return {"compilation", "no function is compiled twice"};
  }
  return {"compilation",
          fmt::format("{} programs of {} for {} calls", most->second.programs.size(), most->first,
                      Thousands(static_cast<int64_t>(most->second.starts.size())))};
}

// Is a program called again after another one was compiled? Shapes that come and go do that; a
// benchmark is done with one before it turns to the next.
bool ComesBack(const Function& function) {
  for (const auto& [program, calls] : function.called) {
    for (const auto& [other, of_other] : function.called) {
      if (calls.first < of_other.first && of_other.first < calls.second) return true;
    }
  }
  return false;
}

// If no program runs twice, the run has no main program and no step: one function is compiled for
// each of its calls. A benchmark of shapes is different: it calls each program several times.
void CompiledForEachCall(const Context& context, Report& report) {
  std::map<std::string, Function> functions = FunctionsOf(context);
  const std::string* name = nullptr;
  for (const auto& [of, function] : functions) {
    const bool each_call = function.programs.size() >= kMinShapePrograms &&
                           2 * function.starts.size() <= 3 * function.programs.size();
    if (!(each_call || ComesBack(function)) ||
        (name != nullptr && function.ns <= functions[*name].ns)) {
      continue;
    }
    name = &of;
  }
  int64_t count = 0, ns = 0, of_ns = 0;
  if (name != nullptr) {
    Function& function = functions[*name];
    std::sort(function.starts.begin(), function.starts.end());
    const Interval between{function.starts[1], function.end_ns};
    Intervals spans;
    for (const Interval& span : CompileTimes(context.run.compiles, function.process_id)) {
      if (span.start_ns >= between.start_ns && span.start_ns < between.end_ns) {
        spans.push_back(span);
      }
    }
    count = static_cast<int64_t>(spans.size());
    ns = Length(Intersect(spans, {between}));
    of_ns = between.end_ns - between.start_ns;
  }
  if (count < 2 || 50 * ns < of_ns) {
    report.Fine("recompile", FewPrograms(functions));
    return;
  }
  const Function& function = functions[*name];
  const auto calls = static_cast<int64_t>(function.starts.size());
  Finding finding;
  finding.id = "recompile";
  finding.beyond_steps = true;
  finding.sure = Sure::kHigh;
  finding.values["function"] = *name;
  finding.sentence = {
      fmt::format("Compiling is {} of the time from the second call of {} on",
                  Percent(static_cast<double>(ns) / static_cast<double>(of_ns)), *name),
      fmt::format("{} programs for {} calls", function.programs.size(), calls)};
  finding.saves_high_ns = ns;
  finding.saves_low_ns = ns / 2;
  finding.claims["compile"] = ns;
  finding.evidence.Add("compilations after its second call began", count, "count")
      .Add("time in them", ns, "ns")
      .Add("programs of this name that ran", static_cast<int64_t>(function.programs.size()),
           "count");
  finding.where_source = context.StepCallSource();
  report.Add(std::move(finding));
}

// Number of programs that first ran after the second step of their device began. Programs of
// that step had been compiled before.
int64_t CalledFirstAmidSteps(const Context& context, const std::set<Id>& programs) {
  std::map<Id, std::vector<int64_t>> starts;  // Starts of steps, by device.
  for (const model::StepRow& row : context.analysis.steps) {
    starts[row.device_id].push_back(row.start_ns);
  }
  for (auto& [device, of_device] : starts) std::sort(of_device.begin(), of_device.end());
  std::map<Id, const model::Execution*> first;
  for (const model::Execution& execution : context.attribution.executions) {
    if (!programs.contains(execution.module_id)) continue;
    const auto at = first.try_emplace(execution.module_id, &execution).first;
    if (execution.start_ns < at->second->start_ns) at->second = &execution;
  }
  int64_t count = 0;
  for (const auto& [module, execution] : first) {
    const auto of_device = starts.find(execution->device_id);
    count += of_device != starts.end() && of_device->second.size() > 1 &&
             execution->start_ns > of_device->second[1];
  }
  return count;
}

}  // namespace

void CheckCompilation(const Context& context, Report& report) {
  // Programs of one function that ran: the main one compiled again and again.
  std::map<std::string, std::set<Id>> programs;
  for (const model::Execution& execution : context.attribution.executions) {
    const auto& facts = context.attribution.modules[static_cast<size_t>(execution.module_id) - 1];
    if (facts.role != model::ModuleRole::kMain) continue;
    programs[FunctionName(context, execution.module_id)].insert(execution.module_id);
  }
  const std::set<Id>* most = nullptr;
  std::string name;
  for (const auto& [of, ids] : programs) {
    if (most == nullptr || ids.size() > most->size()) {
      most = &ids;
      name = of;
    }
  }
  if (most == nullptr && !context.run.compiles.empty()) {
    CompiledForEachCall(context, report);
    return;
  }
  if (context.run.compiles.empty()) {
    if (most == nullptr || most->size() < 8) {
      report.Withhold("recompile", "compilation: the recording does not show when XLA compiles");
      return;
    }
  }
  const Compiled compiled_later = CompiledBetweenSteps(context);
  const int64_t compiled = compiled_later.count;
  const int64_t compile_ns = compiled_later.ns;
  // A process compiles once for all of its devices.
  std::set<std::pair<Id, int64_t>> of_processes;
  for (const model::StepRow& row : context.analysis.steps) {
    of_processes.emplace(row.process_id, row.step);
  }
  const auto steps = static_cast<int64_t>(of_processes.size());
  // Programs of one name may differ on purpose (a benchmark of shapes). If no compilation was
  // recorded, only a large number of programs is evidence.
  const bool repeats = most != nullptr && most->size() >= (compiled >= 2 ? 3U : 8U) &&
                       5 * static_cast<int64_t>(most->size()) >= steps;
  const bool costs = compiled >= 2 && 50 * compile_ns >= compiled_later.of_ns;
  if (!repeats && !costs) {
    report.Fine("recompile",
                {"compilation after warm-up", compiled == 0 ? "none" : Time(compile_ns)});
    return;
  }
  Finding finding;
  finding.id = "recompile";
  finding.beyond_steps = true;
  finding.sure = repeats && compiled >= 2 ? Sure::kHigh : repeats ? Sure::kLow : Sure::kMedium;
  // Without a steady step: of the run.
  const int64_t later = context.whole_run ? 1 : std::max<int64_t>(steps - 1, 1);
  const int64_t shapes = most == nullptr ? 0 : DifferentShapes(context.attribution, *most);
  // The compiled function is this one only if new programs of it appear at that time.
  const bool names =
      repeats || (most != nullptr && most->size() >= 2 &&
                  2 * CalledFirstAmidSteps(context, *most) >= std::max<int64_t>(compiled, 1));
  finding.values["function"] = name;
  if (!names) finding.variant = "between_steps";
  if (compile_ns > 0)
    if (4 * compile_ns >= compiled_later.of_ns && compile_ns > 0) {
      finding.sentence = {
          fmt::format(
              "Compiling is {} of the time from the second step on",
              Percent(static_cast<double>(compile_ns) / static_cast<double>(compiled_later.of_ns))),
          names ? fmt::format("{} programs of {} for {} steps", most->size(), name, steps)
                : fmt::format("{} compilations", compiled)};
    }
  if (compile_ns > 0) {
    finding.saves_high_ns = compile_ns / later;
    finding.saves_low_ns = *finding.saves_high_ns / 2;
  }
  finding.claims["compile"] = compile_ns / later;
  finding.evidence.Add("compilations after the second step began", compiled, "count")
      .Add("time in them", compile_ns, "ns");
  if (most != nullptr) {
    finding.evidence.Add("programs of this name that ran", static_cast<int64_t>(most->size()),
                         "count");
    if (shapes > 0) {
      finding.evidence.Add("different shapes of their parameters", shapes, "count");
    }
  }
  finding.where_source = context.StepCallSource();
  report.Add(std::move(finding));
}

}  // namespace xlatrace::analysis::findings
