#include <algorithm>
#include <map>
#include <set>
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

constexpr double kUnattributed = 0.05;
constexpr double kGraphs = 0.02;
constexpr double kAutotune = 0.01;
constexpr double kWarmUp = 0.05;
constexpr size_t kFewestShapes = 4;  // Programs of one function that is never called alike.

// Reasons that more HLO could mend. Work outside XLA, transfers and autotuning stay without one.
bool IsMended(model::Reason reason) {
  switch (reason) {
    case model::Reason::kNotXla:
    case model::Reason::kEager:
    case model::Reason::kTransfer:
    case model::Reason::kAutotuning:
      return false;
    default:
      return true;
  }
}

void Unattributed(const Context& context, Report& report) {
  int64_t none = 0;
  int64_t foreign = 0;
  int64_t all = 0;
  const bool steady = context.steady_steps > 0;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (steady && !context.InBasis(i)) continue;
    const int64_t ns = context.run.activities.self_ns[i];
    const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
    all += ns;
    if (label.instruction_id != 0) continue;
    (IsMended(label.reason) ? none : foreign) += ns;
  }
  if (all == 0) return;
  const double share = static_cast<double>(none) / static_cast<double>(all);
  if (share < kUnattributed) {
    if (foreign == all && context.run.modules.empty()) {
      report.Withhold("unattributed", "HLO: no kernel of this run is XLA's");
    }
    return;
  }
  Finding finding;
  finding.id = "unattributed";
  finding.about_data = true;
  finding.sure = Sure::kHigh;
  finding.title = {"Give xlatrace the HLO",
                   fmt::format("{} of device time has none", Percent(share))};
  finding.action =
      "add what is missing of it: `xlatrace attach RUN.db --modules DUMP_DIR` takes a dump "
      "(XLA_FLAGS=--xla_dump_to=DUMP_DIR); \"not known\" in `xlatrace summary` says why";
  finding.how_to_check = "coverage on the first screen rises";
  const std::string_view where = steady ? "steady steps" : "whole run";
  finding.evidence
      .Add(fmt::format("device time without an instruction that HLO could give, {}", where), none,
           "ns")
      .Add(fmt::format("device time, {}", where), all, "ns");
  report.Add(std::move(finding));
}

// What a module known by annotations alone lacks, and how to get it.
void WithoutHlo(const Context& context, Report& report) {
  int64_t without = 0;
  int64_t all = 0;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    const int64_t ns = context.run.activities.self_ns[i];
    all += ns;
    const Id module = context.attribution.labels[context.attribution.label_of[i] - 1].module_id;
    if (module > 0 && static_cast<size_t>(module) <= context.run.modules.size() &&
        context.run.modules[static_cast<size_t>(module) - 1].source ==
            model::ModuleSource::kAnnotation) {
      without += ns;
    }
  }
  if (without == 0 || all == 0) return;
  report.Withhold(
      "hlo", fmt::format(
                 "bytes, FLOPs, shapes and operands of {} of device time: its modules are known by "
                 "annotations alone; run once more with XLA_FLAGS=--xla_dump_to=DIR, then "
                 "xlatrace attach run.db --modules DIR",
                 Percent(static_cast<double>(without) / static_cast<double>(all))));
}

void Graphs(const Context& context, Report& report) {
  if (context.graph_share < kGraphs) return;
  Finding finding;
  finding.id = "graphs_not_expanded";
  finding.about_data = true;
  finding.sure = Sure::kHigh;
  finding.title = {"Record what is inside CUDA graphs",
                   fmt::format("{} of device time is closed", Percent(context.graph_share))};
  finding.action =
      "record with xlatrace, or with `nsys profile --cuda-graph-trace=node`: now a graph is one "
      "row";
  finding.how_to_check = "activities of kind `graph` are gone";
  finding.evidence.AddReal("device time in graphs without nodes", 100 * context.graph_share, "%");
  report.Add(std::move(finding));
}

// Start of the second main execution: what is compiled or tried before it belongs to the start.
int64_t EndOfStart(const Context& context) {
  std::vector<int64_t> starts;
  for (const model::Execution& execution : context.attribution.executions) {
    if (context.attribution.modules[static_cast<size_t>(execution.module_id) - 1].role ==
            model::ModuleRole::kMain &&
        execution.device_id == context.attribution.executions[0].device_id) {
      starts.push_back(execution.start_ns);
    }
  }
  std::sort(starts.begin(), starts.end());
  return starts.size() < 2 ? INT64_MAX : starts[1];
}

void Autotuning(const Context& context, Report& report) {
  const int64_t from = EndOfStart(context);
  int64_t ns = 0;
  int64_t kernels = 0;
  int64_t all = 0;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    all += context.run.activities.self_ns[i];
    const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
    if (label.origin != model::Origin::kAutotune || context.run.activities.start_ns[i] < from) {
      continue;
    }
    ns += context.run.activities.self_ns[i];
    ++kernels;
  }
  if (all == 0 || static_cast<double>(ns) < kAutotune * static_cast<double>(all)) return;
  Finding finding;
  finding.id = "autotune_in_trace";
  finding.about_data = true;
  finding.sure = Sure::kHigh;
  finding.title = {"Keep tuning results",
                   fmt::format("{} of the recording is autotuning", Time(ns))};
  finding.action =
      "set jax_compilation_cache_dir (it keeps the results of autotuning too), or record after "
      "warm-up";
  finding.how_to_check = "device time of origin `autotune` is gone from later steps";
  finding.evidence.Add("autotuning after the second step began", ns, "ns")
      .Add("its kernels", kernels, "count");
  report.Add(std::move(finding));
}

// "steps 0 and 1 take 148 ms (up to 3.77 s) and 143 ms, steady ones 130 ms": of the quickest device
// and, where that is another figure, of the slowest.
std::string WarmUpSteps(const std::map<int64_t, std::pair<int64_t, int64_t>>& before,
                        int64_t step_ns) {
  constexpr size_t kMostTold = 3;
  std::string numbers, times;
  size_t told = 0;
  for (const auto& [step, ns] : before) {
    if (++told > kMostTold) break;
    const std::string_view link = told == 1 ? "" : told == before.size() ? " and " : ", ";
    numbers += fmt::format("{}{}", link, step);
    times += fmt::format("{}{}", link, Time(ns.first));
    if (2 * ns.second > 3 * ns.first) times += fmt::format(" (up to {})", Time(ns.second));
  }
  if (before.empty()) return fmt::format("steady steps take {}", Time(step_ns));
  const std::string_view more = before.size() > kMostTold ? " and so on" : "";
  return fmt::format("step{} {}{} take{} {}, steady ones {}", before.size() == 1 ? "" : "s",
                     numbers, more, before.size() == 1 ? "s" : "", times, Time(step_ns));
}

void WarmUp(const Context& context, Report& report) {
  if (context.step_count < 2) return;  // One step is the mean of all.
  int64_t wall = 0;
  int64_t count = 0;
  // Steps that are not steady among those that are: of each device after the first that is.
  struct Amid {
    int64_t ns = 0, count = 0;        // From the first steady step to the last.
    int64_t later_ns = 0, later = 0;  // After the last steady one so far.
  };
  std::map<Id, Amid> amid;
  std::map<int64_t, int64_t> between;                     // By number: how long.
  std::map<int64_t, std::pair<int64_t, int64_t>> before;  // Before the first: least, most.
  int64_t last = 0;
  for (const model::StepRow& row : context.analysis.steps) {
    wall += row.end_ns - row.start_ns;
    ++count;
    Amid& of = amid[row.device_id];
    last = std::max(last, row.step);
    if (of.count == 0 && !row.steady) {
      const int64_t ns = row.end_ns - row.start_ns;
      auto& [least, most] = before.try_emplace(row.step, ns, ns).first->second;
      least = std::min(least, ns);
      most = std::max(most, ns);
      continue;
    }
    of.later_ns += row.end_ns - row.start_ns;
    ++of.later;
    if (row.steady) {
      of.ns += std::exchange(of.later_ns, 0);
      of.count += std::exchange(of.later, 0);
      continue;
    }
    int64_t& longest = between[row.step];
    longest = std::max(longest, row.end_ns - row.start_ns);
  }
  between.erase(last);  // What follows it is not seen.
  const int64_t mean = wall / count;
  if (static_cast<double>(mean) < (1 + kWarmUp) * static_cast<double>(context.step_ns)) {
    report.Fine("warmup_in_average",
                {"warm-up", fmt::format("it changes the mean by less than {}", Percent(kWarmUp))});
    return;
  }
  Evidence evidence;
  evidence.Add("mean of all steps", mean, "ns")
      .Add("mean of steady steps", context.step_ns, "ns")
      .Add("steps that are not steady, over all devices", count - context.steady_steps, "count");
  if (const auto slowest =
          std::max_element(between.begin(), between.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      slowest != between.end() && 20 * std::ssize(between) > context.step_count) {
    int64_t amid_ns = 0, amid_count = 0;
    for (const auto& [device, of] : amid) {
      amid_ns += of.ns;
      amid_count += of.count;
    }
    report.Withhold(
        "warmup_in_average",
        fmt::format(
            "{} of {} steps amid the others are not steady (a compilation, or 1.5 times the "
            "usual device time) and set apart: step {} takes {}; with them steps average {}, "
            "steady ones {}",
            between.size(), context.step_count + std::ssize(between), slowest->first,
            Time(slowest->second), Time(amid_ns / std::max<int64_t>(amid_count, 1)),
            Time(context.step_ns)));
    return;
  }
  report.Fine("warmup_in_average", {"warm-up", "set apart", WarmUpSteps(before, context.step_ns)},
              evidence);
}

// A CPU records its ops itself, in the thread that runs them.
void RecordingCost(const Context& context, Report& report) {
  if (context.recorded_ops == 0) return;
  const auto ops = static_cast<int64_t>(context.recorded_ops + 0.5);
  const auto mean =
      static_cast<int64_t>(static_cast<double>(context.device_ns) / context.recorded_ops);
  Finding finding;
  finding.id = "recording_cost";
  finding.about_data = true;
  finding.sure = Sure::kHigh;
  finding.title = {
      "Time this without a profile",
      fmt::format("{}, {} each", context.words.PerStep(Thousands(ops) + " ops"), Time(mean))};
  finding.sentence = {
      "Recording is a large part of these times",
      fmt::format("{}, {} on average", context.words.PerStep(Thousands(ops) + " ops"), Time(mean))};
  finding.action =
      "recording an op on a CPU takes 0.7 us and more, in the thread that runs it: compare with "
      "the "
      "time of a step without a profile. Fewer, larger ops (a larger batch, more work per "
      "iteration of a loop) are what makes such a program faster; which op is slow these times do "
      "not tell";
  finding.how_to_check = "a step takes as long with a profile as without";
  finding.evidence.Add(context.words.PerStep("ops recorded,"), ops, "count")
      .Add("their mean time", mean, "ns");
  report.Add(std::move(finding));
}

// Products of which a CPU's profile shows the hand-over to other threads only.
void HiddenWork(const Context& context, Report& report) {
  const auto count =
      std::count_if(context.ops.begin(), context.ops.end(), [](const Op& op) { return op.hidden; });
  if (count == 0) return;
  report.Withhold(
      "hidden_work",
      fmt::format(
          "time of {} product{}: no CPU is as fast as recorded; threads that the profile does not "
          "show do the work, so its time is in `idle` or under what waits for it",
          count, count == 1 ? "" : "s"));
}

// TensorFlow names one line of its own for every op.
void SourceLines(const Context& context, Report& report) {
  int64_t ns = 0;
  int64_t all = 0;
  for (const Op& op : context.ops) {
    all += op.ns;
    if (!op.row->source_file.empty() && context.SourceOf(op).empty()) ns += op.ns;
  }
  if (all == 0 || 2 * ns < all) return;
  report.Withhold("source_lines",
                  fmt::format("source lines: for {} of the time the HLO holds one frame only, the "
                              "framework's own; layers and op names say where",
                              Percent(static_cast<double>(ns) / static_cast<double>(all))));
}

}  // namespace

void JudgeData(const Context& context, Report& report) {
  Unattributed(context, report);
  WithoutHlo(context, report);
  Graphs(context, report);
  Autotuning(context, report);
  WarmUp(context, report);
  RecordingCost(context, report);
  HiddenWork(context, report);
  SourceLines(context, report);
}

namespace {

struct Compiled {
  int64_t count = 0;
  int64_t ns = 0;
  int64_t of_ns = 0;  // From the second step to the end of the last one, all processes.
};

// Compilations of processes that make steps, between their second step and their last. Their time
// is that of the gaps, too, that they make.
Compiled CompiledBetweenSteps(const Context& context) {
  struct Time {
    std::vector<int64_t> starts;  // Of steps, on one device.
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

std::string_view RecompileAction(const Context& context) {
  return context.Advice(
      "give every step the same shapes and types: pad or drop the last batch, bucket lengths, "
      "keep Python numbers out of arguments; JAX_EXPLAIN_CACHE_MISSES=1 says which argument "
      "differs",
      "call the `tf.function` with the same shapes and types in every step: pad or crop to one "
      "length or to a few, drop the last batch, pass tensors instead of Python numbers "
      "(`input_signature=` refuses what differs); each new shape is traced and compiled once");
}

// A jitted function, of which each shape is a program.
struct Function {
  std::set<Id> programs;
  std::vector<int64_t> starts;  // Of its calls.
  int64_t end_ns = INT64_MIN;
  int64_t ns = 0;  // Of its calls.
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
    function.end_ns = std::max(function.end_ns, execution.end_ns);
    function.ns += execution.end_ns - execution.start_ns;
    function.process_id =
        context.run.devices[static_cast<size_t>(execution.device_id) - 1].process_id;
  }
  return functions;
}

// What is fine of compilation, where nothing of it is a cause: how often the function of most
// programs was compiled, since a program for each of a few shapes is compiled once and may be
// called often.
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

// Where no program runs twice there is no main one, and no step: one function, compiled for each of
// its calls. What a benchmark of shapes calls, it calls several times.
void CompiledForEachCall(const Context& context, Report& report) {
  std::map<std::string, Function> functions = FunctionsOf(context);
  const std::string* name = nullptr;
  for (const auto& [of, function] : functions) {
    if (function.programs.size() < kFewestShapes ||
        2 * function.starts.size() > 3 * function.programs.size() ||
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
  finding.title =
      RecompileTitle(*name, function.programs.size(),
                     DifferentShapes(context.attribution, function.programs), calls, "calls");
  finding.sentence = {
      fmt::format("Compiling is {} of the time from the second call of {} on",
                  Percent(static_cast<double>(ns) / static_cast<double>(of_ns)), *name),
      fmt::format("{} programs for {} calls", function.programs.size(), calls)};
  finding.action = RecompileAction(context);
  finding.how_to_check = "one program of that name, and no compilation after the first call";
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

// How many of the programs ran for the first time after their device had begun its second step:
// what runs in that had been compiled before.
int64_t CalledFirstAmidSteps(const Context& context, const std::set<Id>& programs) {
  std::map<Id, std::vector<int64_t>> starts;  // Of steps, by device.
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

void JudgeCompilation(const Context& context, Report& report) {
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
  // Programs of one name may be meant to differ (a benchmark of shapes); where compilation was not
  // seen, only many of them say something.
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
  // Without a steady step, of the run.
  const int64_t later = context.whole_run ? 1 : std::max<int64_t>(steps - 1, 1);
  const int64_t shapes = most == nullptr ? 0 : DifferentShapes(context.attribution, *most);
  // What was compiled is that function only where programs of it are new then.
  const bool names =
      repeats || (most != nullptr && most->size() >= 2 &&
                  2 * CalledFirstAmidSteps(context, *most) >= std::max<int64_t>(compiled, 1));
  finding.title = names ? RecompileTitle(name, most->size(), shapes, steps)
                        : Title{"Stop compiling between steps",
                                fmt::format("{} times after the first", compiled)};
  if (compile_ns > 0) finding.title.figures += fmt::format(": {}", Time(compile_ns));
  if (4 * compile_ns >= compiled_later.of_ns && compile_ns > 0) {
    finding.sentence = {
        fmt::format(
            "Compiling is {} of the time from the second step on",
            Percent(static_cast<double>(compile_ns) / static_cast<double>(compiled_later.of_ns))),
        names ? fmt::format("{} programs of {} for {} steps", most->size(), name, steps)
              : fmt::format("{} compilations", compiled)};
  }
  finding.action = RecompileAction(context);
  finding.how_to_check = "one program of that name, and no compilation after the first step";
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
