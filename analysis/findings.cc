#include "analysis/findings.h"

#include <fmt/format.h>

#include "analysis/findings/context.h"
#include "analysis/findings/report.h"
#include "analysis/findings/rules.h"

namespace xlatrace::analysis {

void FindFindings(const model::RunTables& run, const model::AttributionTables& attribution,
                  const ModuleLoader& load_module, const AnalysisOptions& options,
                  model::AnalysisTables& analysis) {
  using namespace findings;  // NOLINT(google-build-using-namespace): the engine's own.
  const Context context(run, attribution, analysis, load_module, options);
  Report report;
  JudgeData(context, report);
  JudgeCompilation(context, report);
  JudgeWholeRun(context, report);
  if (context.steady_steps == 0) {
    report.Withhold("steady_steps",
                    "everything per step: no steady step was found; run at least 20 steps");
  } else {
    JudgeHost(context, report);
    JudgeCopies(context, report);
    JudgeCollectives(context, report);
    JudgeProducts(context, report);
    JudgeMemory(context, report);
    JudgeIrregular(context, report);
    JudgeStructure(context, report);
    JudgeLayers(context, report);
    JudgeTime(context, report);
    JudgeKernels(context, report);
  }
  if (options.lost_records > 0) {
    report.Withhold("lost_records", fmt::format("what was lost: {} records", options.lost_records));
  }
  analysis.findings = report.Ranked(context.step_ns);
  analysis.ruled_out = report.RuledOut();
}

}  // namespace xlatrace::analysis
