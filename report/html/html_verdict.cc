// SPDX-License-Identifier: Apache-2.0

// First screen: the sentence, the facts, the step bar, and the parts of the bar.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/first_screen.h"
#include "report/html/html_parts.h"
#include "report/not_known.h"
#include "report/op_fold.h"
#include "report/shown_words.h"
#include "report/view_figures.h"
#include "report/word_tables.h"

namespace xlatrace::report {
namespace {

constexpr size_t kShownOpCount = 5;
constexpr size_t kShownActionCount = 5;
constexpr size_t kShownFactCount = 2;  // Facts of an action.
constexpr size_t kStepBarCount = 12;

class VerdictSection {
 public:
  VerdictSection(HtmlWriter& html, const RunView& view, const AnswerText& answer)
      : html_(html), view_(view), answer_(answer), figures_(view) {}

  void Write() {
    html_.Raw("<section id=\"verdict\" class=\"verdict\"><div><h1>");
    WriteSentence(html_, answer_.first);
    html_.Raw("</h1>\n<p class=\"lede\">");
    WriteSentence(html_, answer_.BelowFirst());
    html_.Raw("</p>\n");
    Job();
    if (view_.run_coverage.activities > 0) {
      Facts();
      WriteTimeBar(html_, view_);
      view_.findings.empty() ? LargestOps() : Findings();
    }
    html_.Raw("</div>\n<aside class=\"side\">");
    Attribution();
    NotKnown();
    Steps();
    Next();
    html_.Raw("</aside></section>\n");
  }

 private:
  // For a merged job: the rank that the others wait for, and the ranks on a step's path.
  void Job() {
    for (const auto& [key, value] : view_.info) {
      if (key == "job") html_.Raw("<p class=\"note\">Job: ").Text(value).Raw(".</p>\n");
      if (key == "job_path") html_.Raw("<p class=\"note\">").Text(value).Raw(".</p>\n");
    }
  }

  void Facts() {
    html_.Raw("<dl class=\"five\">");
    for (const Fact& fact : FirstFacts(view_)) {
      html_.Raw("<div><dt>").Text(fact.label).Raw("</dt><dd>").Text(fact.value);
      html_.Raw("<small>").Text(fact.note).Raw("</small></dd></div>");
    }
    html_.Raw("</dl>\n");
  }

  // Facts and figures in two columns, as in the app.
  void Evidence(const FindingFigure& finding) {
    if (finding.evidence.empty()) return;
    html_.Raw("<table class=\"found\">");
    for (size_t i = 0; i < std::min(kShownFactCount, finding.evidence.size()); ++i) {
      const std::string& fact = finding.evidence[i];
      const size_t end = fact.rfind(": ");
      html_.Raw("<tr><td>").Text(fact.substr(0, end)).Raw("</td><td class=\"num\">");
      if (end != fact.npos) html_.Text(fact.substr(end + 2));
      html_.Raw("</td></tr>");
    }
    html_.Raw("</table>");
  }

  void HowTo(const FindingFigure& finding) {
    if (finding.action.empty() && finding.how_to_check.empty()) return;
    html_.Raw("<details><summary>how to do it</summary>");
    if (!finding.action.empty()) html_.Raw("<p>Try: ").Prose(finding.action).Raw("</p>");
    if (!finding.how_to_check.empty()) {
      html_.Raw("<p>Check: ").Prose(finding.how_to_check).Raw("</p>");
    }
    html_.Raw("</details>");
  }

  void Findings() {
    html_.Raw(
        fmt::format("<div class=\"acthead\"><h2>Actions, in this order</h2>"
                    "<span>saves, {}</span><span>confidence</span></div><ol>",
                    view_.StepsAreJobs() ? "ms/step" : figures_.Unit()));
    size_t number = 0;
    for (const FindingFigure& finding : view_.findings) {
      if (number == kShownActionCount) break;
      html_.Raw(fmt::format("<li class=\"act\" id=\"{}\"><span class=\"n\">{}</span><div><h3>",
                            EscapeHtml(finding.handle), ++number));
      html_.Text(finding.title).Raw("</h3>");
      Evidence(finding);
      html_.Raw("<div class=\"meta\">");
      for (const std::string* where :
           {&finding.where_layer, &finding.where_source, &finding.where_op}) {
        if (!where->empty()) html_.Raw("<span>").Text(*where).Raw("</span>");
      }
      if (!finding.basis.empty())
        html_.Raw("<span>").Text(BasisWords(finding.basis)).Raw("</span>");
      html_.Raw("</div>");
      HowTo(finding);
      html_.Raw("</div><div class=\"save\">");
      if (finding.saves_high_ns) {
        const auto saves = static_cast<double>(
            finding.saves_high_ns_per_job_step.value_or(*finding.saves_high_ns));
        if (finding.bound()) html_.Raw("<span class=\"dim\">\u2264</span> ");
        // A saving before the steps is no part of a step.
        const bool in_run = finding.of_run && view_.basis.steady;
        html_.Raw(in_run ? Duration(saves) + "<small>of the run</small>" : Milliseconds(saves));
        if (!in_run && (view_.basis.steady || view_.StepsAreJobs())) {
          const int64_t step = view_.basis.steady ? view_.steps.typical_ns : view_.job.step_ns;
          html_.Raw(fmt::format("<small>{}% of step</small>",
                                ShareText(saves, static_cast<double>(step))));
        }
      }
      html_.Raw("</div><div class=\"sure nb\">");
      const int bars = finding.confidence == "high" ? 3 : finding.confidence == "medium" ? 2 : 1;
      for (int i = 0; i < 3; ++i) html_.Raw(i < bars ? "<i class=\"y\"></i>" : "<i></i>");
      html_.Raw(" ").Text(finding.confidence).Raw("</div></li>");
    }
    html_.Raw("</ol><p class=\"note\">");
    if (view_.replay.all_findings_step_ns) {
      html_.Raw(
          fmt::format("Savings overlap, so they do not add up. All replayable actions together: {} "
                      "\u2192 {} per step.",
                      Duration(static_cast<double>(view_.replay.step_ns)),
                      Duration(static_cast<double>(*view_.replay.all_findings_step_ns))));
    } else {
      html_.Raw("Savings are upper bounds and overlap, so they do not add up.");
    }
    html_.Raw("</p>");
  }

  // Without findings: where the time is. Facts only, no advice.
  void LargestOps() {
    const std::vector<FoldedOp> ops = FoldOps(view_);
    if (ops.empty()) return;
    html_.Raw(
        fmt::format("<div class=\"acthead\"><h2>Largest instructions</h2><span>{}</span>"
                    "<span>known</span></div><ol>",
                    figures_.Unit()));
    for (size_t i = 0; i < std::min(kShownOpCount, ops.size()); ++i) {
      const FoldedOp& fold = ops[i];
      const OpFigure& op = *fold.op;
      html_.Raw("<li class=\"act\"><span class=\"n\">")
          .Raw(fmt::format("{}</span><div><h3>{} ", i + 1, PhaseChip(op.phase)));
      html_.Code(op.instruction);
      if (fold.copies > 1)
        html_.Raw(fmt::format(" <span class=\"tag\">\u00d7{}</span>", fold.copies));
      html_.Raw("</h3><p>").Text(KindWords(op.op_kind));
      const std::string calls = figures_.Calls(fold.calls);
      if (!calls.empty()) {
        html_.Raw(fmt::format(
            ", {} {}{}, {} each", calls, calls == "1" ? "call" : "calls",
            view_.basis.steady ? " per step" : "",
            HtmlDuration(static_cast<double>(fold.ns) / static_cast<double>(fold.calls))));
      }
      if (!op.bound_by.empty()) html_.Raw(", ").Text(op.bound_by).Raw(" bound");
      html_.Raw("</p><div class=\"meta\">");
      const std::string scope = ScopeWords(op.layer_group, op.op_name);
      if (!scope.empty()) html_.Raw("<span>").Text(scope).Raw("</span>");
      const std::string source = SourceLine(op.source_file, op.source_line);
      if (!source.empty()) {
        html_.Raw("<span title=\"").Text(op.source_file).Raw("\">").Text(source).Raw("</span>");
      }
      html_.Raw(
          fmt::format("<a class=\"h\" href=\"#{0}\">{0}</a></div></div>", EscapeHtml(op.handle)));
      html_.Raw(fmt::format("<div class=\"save\">{}<small>{}% of device time</small></div>",
                            figures_.Ms(fold.ns), figures_.Pct(fold.ns)));
      html_.Raw(
          fmt::format("<div class=\"sure nb\">{}</div></li>", fold.exact ? "exact" : "inferred"));
    }
    html_.Raw("</ol>\n");
  }

  void Attribution() {
    const Coverage& coverage = view_.coverage;
    if (coverage.device_ns == 0) return;
    html_.Raw("<section><h2>How device time is labelled</h2><ul>");
    for (const EvidenceFigure& evidence : coverage.evidence) {
      html_.Raw(fmt::format("<li><span>{}% {}: ", figures_.Pct(evidence.ns),
                            EscapeHtml(evidence.confidence)));
      html_.Text(EvidenceWords(evidence.evidence)).Raw("</span></li>");
    }
    if (coverage.evidence.empty()) {
      html_.Raw("</ul><p class=\"sm ink2\">Nothing has an instruction.</p></section>");
    } else {
      html_.Raw("</ul></section>");
    }
  }

  void NotKnown() {
    const std::vector<Sentence> not_known = xlatrace::report::NotKnown(view_);
    if (not_known.empty()) return;
    html_.Raw("<section class=\"q\"><h2>Limits of this recording</h2><ul>");
    for (const Sentence& sentence : not_known) {
      html_.Raw("<li><span>");
      WriteSentence(html_, sentence);
      html_.Raw("</span></li>");
    }
    html_.Raw("</ul></section>");
  }

  void Steps() {
    const auto& all = view_.steps.all;
    if (all.size() < 2) return;
    int64_t longest = 0;
    for (const StepFigure& step : all) {
      if (step.steady || !view_.basis.steady) longest = std::max(longest, step.wall_ns);
    }
    html_.Raw("<section><h2>Steps, ms</h2><div class=\"steps\">");
    for (size_t i = 0; i < std::min(kStepBarCount, all.size()); ++i) {
      const StepFigure& step = all[i];
      html_.Raw(fmt::format("<span>{}</span><i{} style=\"--w:{}\"></i><b>{}</b>", step.step,
                            step.steady ? "" : " class=\"no\"",
                            BarWidth(std::min(step.wall_ns, longest), longest),
                            Milliseconds(static_cast<double>(step.wall_ns))));
    }
    html_.Raw("</div><p class=\"cap\" style=\"margin-top:4px\">");
    if (all.size() > kStepBarCount) {
      html_.Raw(
          fmt::format("{} more. ", Thousands(static_cast<int64_t>(all.size() - kStepBarCount))));
    }
    html_.Raw(
        "Hollow bars are not steady: warm-up, compilation, or cut by the recording.</p>"
        "</section>");
  }

  void Next() {
    const std::string_view path = view_.path;
    const std::string file(path.substr(path.find_last_of('/') + 1));
    html_.Raw("<section><h2>Next</h2>");
    if (!view_.basis.steady && !view_.job.HasSteps()) {
      html_.Raw("<p class=\"sm ink2\">")
          .Text(Capitalised(view_.HowToGetSteps()))
          .Raw(": then warm-up and compilation can be left out.</p>");
    }
    html_.Raw("<p class=\"sm ink2\">The same figures in a terminal, and every view with SQL:</p>");
    html_.Raw("<code class=\"cmd\">xlatrace summary --by layer ").Text(file).Raw("</code>");
    html_.Raw("<code class=\"cmd\">xlatrace query ").Text(file);
    html_.Raw(" \"SELECT * FROM op_time\"</code></section>");
  }

  HtmlWriter& html_;
  const RunView& view_;
  const AnswerText& answer_;
  Figures figures_;
};

}  // namespace

void WriteVerdictSection(HtmlWriter& html, const RunView& view, const AnswerText& answer) {
  VerdictSection(html, view, answer).Write();
}

}  // namespace xlatrace::report
