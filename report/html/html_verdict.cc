// SPDX-License-Identifier: Apache-2.0

// First screen: the sentence, the five facts, the step bar, and what it consists of.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/device_parts.h"
#include "report/first_screen.h"
#include "report/html/html_parts.h"
#include "report/not_known.h"
#include "report/op_fold.h"
#include "report/shown_words.h"
#include "report/view_figures.h"
#include "report/word_tables.h"

namespace xlatrace::report {
namespace {

using model::StepPart;

constexpr size_t kShownOpCount = 5;
constexpr size_t kStepBarCount = 12;
constexpr double kLabelShare = 0.045;  // Narrower parts of the bar carry no label.

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
      StepBar();
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

  int64_t Part(StepPart part) const { return view_.step_parts[static_cast<size_t>(part)]; }

  void Facts() {
    html_.Raw("<dl class=\"five\">");
    for (const Fact& fact : FirstFacts(view_)) {
      html_.Raw("<div><dt>").Text(fact.label).Raw("</dt><dd>").Text(fact.value);
      html_.Raw("<small>").Text(fact.note).Raw("</small></dd></div>");
    }
    html_.Raw("</dl>\n");
  }

  // Wall time of a step by part; without steady steps, device time by phase.
  void StepBar() {
    const bool wall = view_.basis.steady && view_.has_step_parts;
    std::vector<DevicePart> parts;
    if (!wall) parts = DeviceParts(view_);
    for (const StepPart part : kPartOrder) {
      if (wall && Part(part) > 0) parts.push_back({part, PartWords(part), Part(part)});
    }
    const int64_t whole = wall ? view_.steps.wall_ns : view_.coverage.device_ns;
    if (parts.empty() || whole <= 0) return;
    std::string label = wall ? "One step of " : "Device time of ";
    label +=
        figures_.Long(whole) + (wall ? std::string(" by part:")
                                     : fmt::format(" by {}, whole run:", DevicePartsName(view_)));
    for (const DevicePart& part : parts) {
      label += fmt::format(" {} {},", part.words, figures_.Long(part.ns));
    }
    label.back() = '.';
    html_.Raw("<figure class=\"step\" role=\"img\" aria-label=\"").Text(label).Raw("\">");
    html_.Raw("<div class=\"names\">");
    int64_t before = 0;
    for (const DevicePart& part : parts) {
      if (Share(part.ns, whole) >= 0.08) {
        html_.Raw(
            fmt::format("<span style=\"left:{}\">{}</span>", BarWidth(before, whole), part.words));
      }
      before += part.ns;
    }
    html_.Raw("</div><div class=\"sbar\">");
    for (const DevicePart& part : parts) {
      html_.Raw(fmt::format("<div class=\"p-{}\" style=\"flex:{:.4f}\" title=\"{} {}\">",
                            PartColor(part.part), 1000 * Share(part.ns, whole), part.words,
                            figures_.Long(part.ns)));
      if (Share(part.ns, whole) >= kLabelShare) {
        html_.Raw(fmt::format("<b>{}&nbsp; {}</b>", PartLetter(part.part), figures_.Ms(part.ns)));
      }
      html_.Raw("</div>");
    }
    html_.Raw("</div>");
    Axis(whole);
    html_.Raw("<figcaption class=\"legend\">");
    for (const DevicePart& part : parts) {
      html_.Raw(fmt::format("<span class=\"ph sm\">{}{} <span class=\"dim\">{}</span></span>",
                            PartChip(part.part), part.words, figures_.Ms(part.ns)));
    }
    html_.Raw(fmt::format("<span class=\"cap\">= {}{}</span></figcaption></figure>\n",
                          figures_.Long(whole), wall ? " of wall time" : " of device time"));
  }

  static double Share(int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  }

  void Axis(int64_t whole) {
    const double ms = view_.PerStep(whole) / 1e6;
    // 4 to 9 ticks at 1, 2 or 5 times a power of ten.
    double tick = std::pow(10.0, std::floor(std::log10(ms)));
    for (const double factor : {0.1, 0.2, 0.5, 1.0}) {
      if (ms / (tick * factor) <= 9) {
        tick *= factor;
        break;
      }
    }
    html_.Raw("<div class=\"axis\">");
    for (double at = 0; at <= ms * 0.985; at += tick) {
      html_.Raw(fmt::format("<span style=\"left:{:.3f}%\">{}{}</span>", 100 * at / ms,
                            at == 0      ? "0"
                            : at >= 1000 ? Thousands(std::llround(at))
                                         : TickText(at),
                            at == 0 ? " ms" : ""));
    }
    html_.Raw("</div>");
  }

  static std::string TickText(double value) {
    std::string text = fmt::format("{:.6f}", value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }

  // The same text as in the page's app: the sentence, else the first two facts.
  void Evidence(const FindingFigure& finding) {
    if (!finding.evidence_sentence.empty()) {
      html_.Prose(finding.evidence_sentence).Raw(". ");
      return;
    }
    for (size_t i = 0; i < std::min<size_t>(2, finding.evidence.size()); ++i) {
      html_.Raw(i > 0 ? "; " : "").Text(finding.evidence[i]);
    }
    if (!finding.evidence.empty()) html_.Raw(". ");
  }

  void Findings() {
    html_.Raw(
        fmt::format("<div class=\"acthead\"><h2>Do this, in this order</h2>"
                    "<span>saves, {}</span><span>sure</span></div><ol>",
                    view_.StepsAreJobs() ? "ms/step" : figures_.Unit()));
    size_t number = 0;
    for (const FindingFigure& finding : view_.findings) {
      html_.Raw(fmt::format("<li class=\"act\" id=\"{}\"><span class=\"n\">{}</span><div><h3>",
                            EscapeHtml(finding.handle), ++number));
      html_.Text(finding.title).Raw("</h3><p>");
      Evidence(finding);
      if (!finding.action.empty()) html_.Raw("Try: ").Prose(finding.action).Raw(" ");
      if (!finding.how_to_check.empty()) html_.Raw("Check: ").Prose(finding.how_to_check);
      html_.Raw("</p><div class=\"meta\">");
      for (const std::string* where :
           {&finding.where_layer, &finding.where_source, &finding.where_op}) {
        if (!where->empty()) html_.Raw("<span>").Text(*where).Raw("</span>");
      }
      if (!finding.basis.empty())
        html_.Raw("<span>").Text(BasisWords(finding.basis)).Raw("</span>");
      html_.Raw("</div></div><div class=\"save\">");
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
          fmt::format("Savings overlap. Those without \u2264 together: replayed step {} to {}.",
                      Duration(static_cast<double>(view_.replay.step_ns)),
                      Duration(static_cast<double>(*view_.replay.all_findings_step_ns))));
    } else {
      html_.Raw("Savings are upper bounds and overlap; do not add them.");
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
    html_.Raw("<section class=\"q\"><h2>Not known</h2><ul>");
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
