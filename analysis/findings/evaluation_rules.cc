// SPDX-License-Identifier: Apache-2.0

// Programs that evaluate between the steps of a training run. Their time is not part of a step, so
// that no figure per step contains it.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "analysis/program_work.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

constexpr double kMinEvaluationShare = 0.1;  // Share of the time from first to last step.

// A device's steps, whether steady or not, as one span.
struct Span {
  int64_t start_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
  std::map<int64_t, int64_t> steps;  // Start -> end.
};

struct Called {
  int64_t ns = 0;
  int64_t idle_ns = 0;  // In front of and behind its calls: feeding them, reading their results.
  std::set<Id> modules;
  int64_t calls = 0;
  std::set<int64_t> steps;  // Starts of those it was called in.
};

// Idle time before and after such a call, and between the calls of one evaluation.
void AddIdle(const Context& context, Id device, Called& of) {
  const auto is_call = [&](Id activity_id) {
    if (activity_id <= 0) return false;
    const uint32_t e = context.attribution.execution_of[static_cast<size_t>(activity_id) - 1];
    return e != 0 && of.modules.contains(context.attribution.executions[e - 1].module_id);
  };
  const auto same = [&](const model::GapRow& gap) {
    const auto& execution_of = context.attribution.execution_of;
    return execution_of[static_cast<size_t>(gap.previous_activity_id) - 1] ==
           execution_of[static_cast<size_t>(gap.next_activity_id) - 1];
  };
  for (const model::GapRow& gap : context.analysis.gaps) {
    if (gap.device_id != device || gap.previous_activity_id <= 0 || gap.next_activity_id <= 0 ||
        gap.cause == model::GapCause::kCompile) {
      continue;
    }
    const bool after = is_call(gap.previous_activity_id);
    if ((after && same(gap)) || (!after && !is_call(gap.next_activity_id))) continue;
    of.idle_ns += gap.end_ns - gap.start_ns;
  }
}

// The line with most of the modules' time; empty if no frame has one.
std::string LineOf(const Context& context, const std::set<Id>& modules) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (modules.contains(op.row->module_id)) ops.push_back(&op);
  }
  if (!ops.empty()) return PlaceOf(context, ops);
  // The modules may be no part of steady steps.
  const model::InstructionRow* most = nullptr;
  int64_t ns = 0;
  for (const model::OpTimeRow& time : context.analysis.op_times) {
    if (time.instruction_id <= 0 || !modules.contains(time.module_id) || time.self_ns <= ns) {
      continue;
    }
    const model::InstructionRow& row =
        context.attribution.instructions[static_cast<size_t>(time.instruction_id) - 1];
    if (row.source_file.empty() || !row.source_line) continue;
    most = &row;
    ns = time.self_ns;
  }
  return most == nullptr ? std::string()
                         : fmt::format("{}:{}", most->source_file, *most->source_line);
}

}  // namespace

void CheckEvaluation(const Context& context, Report& report) {
  if (context.whole_run) return;
  const std::set<Id> train = ModulesThatTrain(context.attribution);
  if (train.empty()) return;
  const std::set<Id> computing = ModulesWithProducts(context.attribution);
  std::map<Id, Span> spans;  // By device.
  for (const model::StepRow& step : context.analysis.steps) {
    Span& span = spans[step.device_id];
    span.start_ns = std::min(span.start_ns, step.start_ns);
    span.end_ns = std::max(span.end_ns, step.end_ns);
    span.steps[step.start_ns] = step.end_ns;
  }
  std::map<std::pair<std::string, Id>, Called> called;  // By function and device.
  for (const model::Execution& execution : context.attribution.executions) {
    const auto m = static_cast<size_t>(execution.module_id) - 1;
    if (execution.module_id == 0 || train.contains(execution.module_id) ||
        !computing.contains(execution.module_id)) {
      continue;
    }
    const auto span = spans.find(execution.device_id);
    if (span == spans.end() || execution.start_ns < span->second.start_ns ||
        execution.end_ns > span->second.end_ns) {
      continue;
    }
    const auto step = std::prev(span->second.steps.upper_bound(execution.start_ns));
    if (execution.start_ns < step->second) continue;
    Called& of = called[{context.run.modules[m].name, execution.device_id}];
    of.ns += execution.end_ns - execution.start_ns;
    ++of.calls;
    of.modules.insert(execution.module_id);
    of.steps.insert(step->first);
  }
  const auto most =
      std::max_element(called.begin(), called.end(),
                       [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  if (most == called.end() || most->second.calls < 2) return;
  const auto& [name, device] = most->first;
  const Span& span = spans[device];
  AddIdle(context, device, most->second);
  const Called& of = most->second;
  const int64_t ns = of.ns + of.idle_ns;
  const int64_t calls = of.calls;
  const std::set<int64_t>& in_steps = of.steps;
  const auto steps = static_cast<int64_t>(span.steps.size());
  const auto times = static_cast<int64_t>(in_steps.size());
  const double share = static_cast<double>(ns) / static_cast<double>(span.end_ns - span.start_ns);
  if (share < kMinEvaluationShare) return;
  Finding finding;
  finding.id = "evaluation";
  finding.beyond_steps = true;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.values["function"] = name;
  finding.sentence = {
      fmt::format("{}, which does not train, is {} of the time of all steps", name, Percent(share)),
      fmt::format("{} calls of {}", calls, Time(ns / calls))};
  finding.saves_high_ns = ns / steps;
  finding.saves_low_ns = 0;
  finding.claims["evaluation"] = ns / steps;
  finding.where_source = LineOf(context, of.modules);
  finding.evidence.Add("calls between the first step and the last", calls, "count")
      .Add("time in them", of.ns, "ns")
      .Add("idle before and after them", of.idle_ns, "ns")
      .Add("time from the first step to the last", span.end_ns - span.start_ns, "ns")
      .Add("steps with such calls", times, "count")
      .Add("steps", steps, "count");
  report.Add(std::move(finding));
}

}  // namespace xlatrace::analysis::findings
