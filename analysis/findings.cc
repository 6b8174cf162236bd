// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/findings/context.h"
#include "analysis/findings/hidden_products.h"
#include "analysis/findings/idle.h"
#include "analysis/findings/replayed.h"
#include "analysis/findings/report.h"
#include "analysis/findings/rules.h"

namespace xlatrace::analysis {
namespace {

std::string_view WhyNoStep(const model::AnalysisTables& analysis) {
  return analysis.steps.empty() ? "no work runs three times" : "fewer than two steps are steady";
}

// More steps would not help if a program was already called as often as the advice requests.
std::string_view HowToGetSteps(const findings::Context& context) {
  constexpr int64_t kSteps = 20;
  std::map<std::pair<model::Id, model::Id>, int64_t> calls;  // Calls of a module on a device.
  for (const model::Execution& execution : context.attribution.executions) {
    if (++calls[{execution.module_id, execution.device_id}] < kSteps) continue;
    if (!context.analysis.steps.empty()) break;
    return context.Advice(
        "mark what is a step (`jax.profiler.StepTraceAnnotation`, `xlatrace_mark_step`)",
        "mark what is a step (`tf.profiler.experimental.Trace`, `xlatrace_mark_step`)");
  }
  return "run at least 20 steps";
}

}  // namespace

void FindFindings(const model::RunTables& run, const model::AttributionTables& attribution,
                  const ModuleLoader& load_module, const AnalysisOptions& options,
                  const replay::RunReplay& replay, model::AnalysisTables& analysis) {
  using namespace findings;  // NOLINT(google-build-using-namespace): the engine's own.
  const Context context(run, attribution, analysis, load_module, options);
  Report report(context.tensorflow ? Framework::kTensorFlow
                : context.pytorch  ? Framework::kPyTorch
                                   : Framework::kJaxOrUnknown);
  CheckData(context, report);
  CheckWarmUp(context, report);
  if (!CheckRecordedCompilations(context, report)) CheckCompilation(context, report);
  CheckStartup(context, report);
  CheckEvaluation(context, report);
  CheckWholeRun(context, report);
  if (context.whole_run) {
    report.Withhold("steady_steps", fmt::format("everything per step: {}; {}", WhyNoStep(analysis),
                                                HowToGetSteps(context)));
  }
  CheckForeignKernels(context, report);
  CheckFrameworkOps(context, report);
  CheckHost(context, report);
  if (context.ops.empty()) {
    if (!analysis.busy_times.empty() && !run.modules.empty()) {
      report.Withhold("ops", "ops: no kernel could be attributed to an instruction");
    }
  } else {
    CheckCopies(context, report);
    CheckCollectives(context, report);
    CheckProducts(context, report);
    CheckFloat64(context, report);
    CheckMemory(context, report);
    CheckIrregular(context, report);
    CheckStructure(context, report);
    CheckLayers(context, report);
    CheckKernels(context, report);
    CheckLoops(context, report);
  }
  CheckLongSums(context, report);
  if (!context.whole_run) CheckTime(context, report);
  if (options.lost_records > 0) {
    report.Withhold("lost_records",
                    fmt::format("effects of data loss: {} record{} lost", options.lost_records,
                                options.lost_records == 1 ? "" : "s"));
  }
  NameCauses(context, report);
  const Replayed replayed(context, replay);
  // Savings of a whole run are sums over all devices, so a replayed step does not apply to them.
  const Report::Basis basis = {context.span_ns, std::min(context.step_ns, context.span_ns),
                               context.divisor, context.whole_run};
  if (!context.whole_run) {
    report.ForEach([&](Finding& finding) { replayed.Price(Report::LeastOf(basis), finding); });
  }
  analysis.findings = report.Ranked(basis);
  analysis.ruled_out = report.RuledOut();
  NameHiddenProducts(context, analysis.gap_evidence);
  for (model::ReplayRow& row : analysis.replays) {
    row.all_findings_step_ns = replayed.StepWith(report.Together());
  }
}

}  // namespace xlatrace::analysis
