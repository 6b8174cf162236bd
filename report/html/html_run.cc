// SPDX-License-Identifier: Apache-2.0

// Quality of the recording: evidence of labels, losses, and facts of the run.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/html/html_parts.h"
#include "report/shown_words.h"
#include "report/trust.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxModuleRows = 25;
constexpr size_t kMaxStatRows = 60;

class RunSection {
 public:
  RunSection(HtmlWriter& html, const RunView& view) : html_(html), view_(view), figures_(view) {}

  void Write() {
    html_.Raw(
        "<section id=\"run\" class=\"run\"><div class=\"bar-h\"><h2>Can I trust this?</h2>"
        "<span class=\"ink2\">");
    html_.Text(TrustText(view_)).Raw("</span></div><div class=\"split run\"><div>");
    Evidence();
    Stats();
    Modules();
    html_.Raw("</div><div>");
    Environment();
    Gaps();
    Definitions();
    html_.Raw("</div></div></section>\n");
  }

 private:
  void EvidenceRow(std::string_view kind, const std::string& words, int64_t ns, int64_t count) {
    html_.Raw(fmt::format("<tr><td><span class=\"sw e-{}\"></span>", kind)).Text(words);
    html_.Raw(
        fmt::format("</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
                    "<td class=\"num\">{}</td></tr>",
                    figures_.Ms(ns), figures_.Pct(ns), figures_.Calls(count)));
  }

  void Evidence() {
    const Coverage& coverage = view_.coverage;
    if (coverage.device_ns == 0) return;
    html_.Raw(
        fmt::format("<h3>Device time by evidence, {}</h3><div class=\"ev\">", figures_.Unit()));
    const std::pair<std::string_view, int64_t> parts[] = {{"exact", coverage.exact_ns},
                                                          {"inferred", coverage.inferred_ns},
                                                          {"none", coverage.none_ns}};
    for (const auto& [name, ns] : parts) {
      if (ns == 0) continue;
      html_.Raw(fmt::format("<div class=\"e-{}\" style=\"flex:{}\">", name, ns));
      if (ns * 8 > coverage.device_ns) {
        html_.Raw(fmt::format("<b>{} {}%</b>", name, figures_.Pct(ns)));
      }
      html_.Raw("</div>");
    }
    html_.Raw(
        fmt::format("</div><table style=\"max-width:860px\"><thead><tr><th>label, because</th>"
                    "<th class=\"num sort\">{}</th><th class=\"num\">%</th><th class=\"num\">"
                    "calls</th></tr></thead><tbody>",
                    figures_.Unit()));
    for (const EvidenceFigure& e : coverage.evidence) {
      EvidenceRow(e.confidence == "exact" ? "exact" : "inferred",
                  fmt::format("{}: {}", e.confidence, EvidenceWords(e.evidence)), e.ns,
                  e.activities);
    }
    for (const ReasonFigure& r : coverage.reasons) {
      EvidenceRow("none", fmt::format("none: {} ({})", ReasonWords(r.reason), r.reason), r.ns,
                  r.activities);
    }
    html_.Raw(
        fmt::format("</tbody><tfoot><tr><td>all device time</td><td class=\"num\">{}</td>"
                    "<td class=\"num\">100</td><td class=\"num\">{}</td></tr></tfoot></table>",
                    figures_.Ms(coverage.device_ns), figures_.Calls(coverage.activities)));
  }

  void Stats() {
    html_.Raw("<h3 id=\"stats\">Run stats</h3>");
    if (view_.stats.empty()) {
      html_.Raw("<p class=\"cap\">None: nothing was skipped, lost or noticed.</p>");
      return;
    }
    // The worst ones first; information is last.
    size_t shown = 0;
    while (shown < view_.stats.size() && view_.stats[shown].severity > model::Severity::kInfo) {
      ++shown;
    }
    if (shown > 0) StatRows(0, shown);
    if (shown == view_.stats.size()) return;
    html_.Raw(fmt::format("<details{}><summary>{} for information</summary>",
                          shown == 0 ? " open" : "", view_.stats.size() - shown));
    StatRows(shown, view_.stats.size());
    html_.Raw("</details>");
  }

  void StatRows(size_t begin, size_t end) {
    html_.Raw(
        "<table><thead><tr><th>severity</th><th>name</th><th class=\"num\">value</th>"
        "<th>source</th><th>advice</th></tr></thead><tbody>");
    for (size_t i = begin; i < std::min(end, begin + kMaxStatRows); ++i) {
      const StatFigure& stat = view_.stats[i];
      const std::string_view severity = Text(stat.severity);
      html_.Raw(fmt::format("<tr><td><span class=\"sev {}\">{}</span></td><td class=\"wrap\">",
                            severity, severity == "data_loss" ? "data loss" : severity));
      html_.Code(stat.name);
      html_.Raw(fmt::format("</td><td class=\"num\">{}</td><td class=\"dim wrap\">",
                            Thousands(stat.value)));
      html_.Text(stat.source).Raw("</td><td class=\"wrap\">").Text(stat.advice);
      html_.Raw("</td></tr>");
    }
    if (end - begin > kMaxStatRows) {
      html_.Raw(fmt::format("<tr class=\"oth\"><td colspan=\"5\">{} others</td></tr>",
                            end - begin - kMaxStatRows));
    }
    html_.Raw("</tbody></table>");
  }

  void Modules() {
    html_.Raw("<h3>Modules</h3>");
    if (view_.modules.empty()) {
      html_.Raw("<p class=\"cap\">The run holds no HLO module, so nothing could be named.</p>");
      return;
    }
    html_.Raw(
        fmt::format("<table><thead><tr><th></th><th>module</th><th class=\"num\">program</th>"
                    "<th>role</th><th>why</th><th class=\"num\">instructions</th>"
                    "<th class=\"num\">runs</th><th class=\"num\">{}</th>"
                    "<th class=\"num sort\">ms, whole run</th></tr></thead><tbody>",
                    figures_.Unit()));
    const size_t shown = std::min(kMaxModuleRows, view_.modules.size());
    int64_t others_ns = 0;
    int64_t others_run_ns = 0;
    for (size_t i = 0; i < view_.modules.size(); ++i) {
      const ModuleFigure& module = view_.modules[i];
      if (i >= shown) {
        others_ns += module.ns;
        others_run_ns += module.run_ns;
        continue;
      }
      html_.Raw("<tr><td class=\"h\">").Text(module.handle).Raw("</td><td class=\"wrap\">");
      html_.Code(module.name);
      html_.Raw(fmt::format("</td><td class=\"num\">{}</td><td>",
                            module.program_id ? std::to_string(*module.program_id) : ""));
      if (module.role == "main") html_.Raw("<b>");
      html_.Text(module.role);
      if (module.role == "main") html_.Raw("</b>");
      html_.Raw("</td><td class=\"wrap\">").Text(module.role_reason);
      html_.Raw(fmt::format(
          "</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
          "<td class=\"num\">{}</td></tr>",
          module.instruction_count ? Thousands(*module.instruction_count) : "",
          Thousands(module.executions), module.ns == 0 ? "" : figures_.Ms(module.ns),
          EscapeHtml(Milliseconds(static_cast<double>(module.run_ns)))));
    }
    if (view_.modules.size() > shown) {
      html_.Raw(
          fmt::format("<tr class=\"oth\"><td></td><td colspan=\"6\">{} others</td>"
                      "<td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
                      view_.modules.size() - shown, figures_.Ms(others_ns),
                      EscapeHtml(Milliseconds(static_cast<double>(others_run_ns)))));
    }
    html_.Raw("</tbody></table>");
  }

  void Pair(std::string_view key, std::string_view value, bool code = false) {
    if (value.empty()) return;
    html_.Raw("<dt>").Text(key).Raw("</dt><dd>");
    code ? html_.Code(value) : html_.Text(value);
    html_.Raw("</dd>");
  }

  void Environment() {
    html_.Raw("<h3>The run</h3><dl class=\"kv\">");
    Pair("command", view_.command, true);
    Pair("devices", view_.DeviceText());
    Pair("processes", Thousands(view_.processes));
    Pair("file", view_.path, true);
    for (const auto& [key, value] : view_.info) {
      if (key.ends_with("_unix_ns")) {
        Pair(key == "start_unix_ns" ? "recorded" : "ended", DateOf(value));
      } else if (key != "command") {
        Pair(key, value);
      }
    }
    Pair("report by", "xlatrace " XLATRACE_VERSION);
    html_.Raw("</dl>");
  }

  void Gaps() {
    if (view_.gaps.empty()) return;
    html_.Raw(
        fmt::format("<h3>Idle gaps of 1 \u00b5s or more</h3><table><thead><tr><th>cause</th>"
                    "<th class=\"num sort\">{}</th><th class=\"num\">gaps</th>"
                    "<th class=\"num\">longest</th></tr></thead><tbody>",
                    figures_.Unit()));
    for (const GapFigure& gap : view_.gaps) {
      html_.Raw("<tr><td>").Text(CauseWords(gap.cause));
      html_.Raw(
          fmt::format("</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
                      "<td class=\"num\">{}</td></tr>",
                      figures_.Ms(gap.ns), figures_.Calls(gap.count),
                      HtmlDuration(static_cast<double>(gap.longest_ns))));
    }
    html_.Raw("</tbody></table>");
  }

  void Definitions() {
    html_.Raw(
        "<h3>How numbers are made</h3><dl class=\"kv defs\">"
        "<dt>ms/step</dt><dd>sum over typical steps and devices, divided by their number</dd>"
        "<dt>steady</dt><dd>after compilation and warm-up, complete</dd>"
        "<dt>device time</dt><dd>sum of the time of all activities; more than the clock shows "
        "where "
        "streams or threads run side by side</dd>"
        "<dt>busy</dt><dd>union of the activities of a device, as a share of the step</dd>"
        "<dt>step bar</dt><dd>wall time: every instant belongs to one part, computation before "
        "collective before copy before idle</dd>"
        "<dt>exact</dt><dd>module, execution and instruction are known, not deduced</dd>"
        "<dt>inferred</dt><dd>deduced; the method is named above</dd>"
        "<dt>calls</dt><dd>activities (launches, ops, copies)</dd>"
        "<dt>phase, layer</dt><dd>of an instruction that mixes several, its time is split by "
        "estimated cost</dd>"
        "<dt>layer_*</dt><dd>repeated layers, added up</dd></dl>");
  }

  HtmlWriter& html_;
  const RunView& view_;
  Figures figures_;
};

}  // namespace

void WriteRunSection(HtmlWriter& html, const RunView& view) { RunSection(html, view).Write(); }

}  // namespace xlatrace::report
