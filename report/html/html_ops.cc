// SPDX-License-Identifier: Apache-2.0

// Instructions, source lines and kernels, each as a table by time that closes with its total.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/html/html_parts.h"
#include "report/op_fold.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxOpRows = 50;
constexpr size_t kMaxSourceRows = 25;
constexpr size_t kMaxKernelRows = 15;

constexpr int kScopeColumns = 26;

// End of the layer, then the operation: "\u2026/mlp/wi_0 dot_general".
std::string ShortScope(std::string_view layer_group, std::string_view op_name) {
  std::string layer = ShortPath(layer_group, kScopeColumns);
  if (layer.starts_with("../")) layer.replace(0, 2, "\u2026");
  return ScopeWords(layer, op_name);
}

std::string Count(size_t count) { return Thousands(static_cast<int64_t>(count)); }

class OpsSection {
 public:
  OpsSection(HtmlWriter& html, const RunView& view) : html_(html), view_(view), figures_(view) {}

  void Ops() {
    const std::vector<FoldedOp> ops = FoldOps(view_);
    if (ops.empty()) {
      html_.Raw(
          "<section id=\"ops\"><div class=\"bar-h\"><h2>Instructions</h2></div><p "
          "class=\"note\">No activity has an instruction; the reasons are under Run, the "
          "names as recorded below.</p></section>\n");
      return;
    }
    bool bound = false;
    for (const FoldedOp& fold : ops) bound = bound || !fold.bound_by.empty();
    html_.Raw("<section id=\"ops\"><div class=\"bar-h\"><h2>Instructions</h2><span class=\"cap\">");
    html_.Raw(
        fmt::format("{} instructions in {} rows; \u00d7n = n instructions alike but for "
                    "numbers, as unrolled layers have</span><span class=\"cap\">",
                    Count(view_.ops.size()), Count(ops.size())));
    html_.Text(figures_.DeviceTimeCaption()).Raw("</span></div>");
    html_.Raw(fmt::format(
        "<table class=\"fix\"><colgroup><col style=\"width:52px\"><col style=\"width:23%\">"
        "<col style=\"width:100px\"><col style=\"width:36px\"><col><col style=\"width:12%\">"
        "<col style=\"width:116px\"><col style=\"width:56px\"><col class=\"hide-n\" "
        "style=\"width:56px\"><col style=\"width:72px\"><col style=\"width:72px\">{0}"
        "<col style=\"width:74px\"></colgroup><thead><tr><th></th><th>instruction</th><th>kind</th>"
        "<th></th><th>scope</th><th>source</th><th class=\"num sort\">{1}</th>"
        "<th class=\"num\">%</th><th class=\"num hide-n\">cum %</th><th class=\"num\">calls</th>"
        "<th class=\"num\">avg \u00b5s</th>{2}<th>known</th></tr></thead><tbody>\n",
        bound ? "<col style=\"width:80px\">" : "", figures_.Unit(), bound ? "<th>bound</th>" : ""));
    const int64_t largest = ops.empty() ? 0 : ops[0].ns;
    const size_t shown = std::min(kMaxOpRows, ops.size());
    int64_t sum = 0;
    int64_t shown_instructions = 0;
    for (size_t i = 0; i < shown; ++i) {
      sum += ops[i].ns;
      shown_instructions += ops[i].ops;
      OpRow(ops[i], largest, sum, bound);
    }
    const Coverage& coverage = view_.coverage;
    const auto closing = [&](std::string_view name, std::string_view why, int64_t ns,
                             const std::string& cum, int64_t calls) {
      html_.Raw("<tr class=\"oth\"><td></td><td>").Text(name).Raw("</td><td></td><td></td><td ");
      html_.Raw("colspan=\"2\" class=\"cut\">").Text(why);
      html_.Raw(fmt::format(
          "</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
          "<td class=\"num hide-n\">{}</td><td class=\"num\">{}</td><td></td>{}"
          "<td></td></tr>",
          figures_.Ms(ns), figures_.Pct(ns), cum, figures_.Calls(calls), bound ? "<td></td>" : ""));
    };
    if (ops.size() > shown) {
      int64_t calls = 0;
      for (size_t i = shown; i < ops.size(); ++i) calls += ops[i].calls;
      const int64_t ns = coverage.device_ns - coverage.none_ns - sum;
      closing(fmt::format("{} others",
                          Thousands(static_cast<int64_t>(view_.ops.size()) - shown_instructions)),
              fmt::format("none over {}", figures_.Long(ops[shown].ns)), ns, figures_.Pct(sum + ns),
              calls);
    }
    if (coverage.none_activities > 0) {
      closing("no instruction",
              coverage.reasons.empty() ? "" : ReasonWords(coverage.reasons[0].reason),
              coverage.none_ns, "", coverage.none_activities);
    }
    html_.Raw(
        fmt::format("</tbody><tfoot><tr><td></td><td colspan=\"5\">all device time</td>"
                    "<td class=\"num\">{}</td><td class=\"num\">100</td>"
                    "<td class=\"hide-n\"></td><td class=\"num\">{}</td><td></td>{}<td></td>"
                    "</tr></tfoot></table></section>\n",
                    figures_.Ms(coverage.device_ns), figures_.Calls(coverage.activities),
                    bound ? "<td></td>" : ""));
  }

  void Sources() {
    if (view_.coverage.device_ns == 0) return;
    html_.Raw(
        "<section id=\"source\"><div class=\"split two\"><div><div class=\"bar-h\">"
        "<h2>Source lines</h2><span class=\"cap\">device time of the instructions that a "
        "line made</span></div>");
    html_.Raw(
        fmt::format("<table class=\"fix\"><colgroup><col><col style=\"width:30%\"><col "
                    "style=\"width:84px\"><col style=\"width:64px\"></colgroup><thead><tr>"
                    "<th>line</th><th>phases</th><th class=\"num sort\">{}</th>"
                    "<th class=\"num\">%</th></tr></thead><tbody>",
                    figures_.Unit()));
    const std::vector<ScopeFigure>& sources = view_.sources;
    const int64_t largest = sources.empty() ? 0 : sources[0].ns;
    const size_t shown = std::min(kMaxSourceRows, sources.size());
    int64_t sum = 0;
    for (size_t i = 0; i < shown; ++i) {
      const ScopeFigure& source = sources[i];
      sum += source.ns;
      html_.Raw(source.name.empty() ? "<tr class=\"oth\">" : "<tr>");
      html_.Raw("<td class=\"cut\" title=\"").Text(source.name).Raw("\">");
      if (source.name.empty()) {
        html_.Raw("no source line known");
      } else {
        html_.Text(SourceLine(source.name, source.line));
        const std::string_view folder(source.name);
        const size_t slash = folder.find_last_of('/');
        if (slash != std::string_view::npos && slash > 0) {
          html_.Raw(" <span class=\"dim\">").Text(folder.substr(0, slash)).Raw("</span>");
        }
      }
      html_.Raw(
          fmt::format("</td><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
                      "</tr>\n",
                      PhaseStack(source.phases, source.ns, largest), figures_.Ms(source.ns),
                      figures_.Pct(source.ns)));
    }
    Closing(sources.size() - shown, view_.coverage.device_ns - view_.coverage.none_ns - sum, "");
    if (view_.coverage.none_ns > 0) {
      html_.Raw(
          fmt::format("<tr class=\"oth\"><td>no instruction</td><td></td>"
                      "<td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
                      figures_.Ms(view_.coverage.none_ns), figures_.Pct(view_.coverage.none_ns)));
    }
    Total("");
    html_.Raw("</div><div>");
    Kernels();
    html_.Raw("</div></div></section>\n");
  }

 private:
  void OpRow(const FoldedOp& fold, int64_t largest, int64_t sum, bool bound) {
    const OpFigure& op = *fold.op;
    html_.Raw(fmt::format("<tr id=\"{0}\"><td class=\"h\">{0}</td><td class=\"name\" title=\"",
                          EscapeHtml(op.handle)));
    html_.Text(op.instruction).Raw(", module ").Text(op.module);
    if (fold.copies > 1) {
      html_.Raw(fmt::format(", {} copies of {} to {} each", fold.copies,
                            figures_.Long(fold.least_ns), figures_.Long(fold.most_ns)));
    }
    html_.Raw("\"><span class=\"ends\">").Name(op.instruction);
    if (fold.copies > 1) html_.Raw(fmt::format("<span class=\"tag\">\u00d7{}</span>", fold.copies));
    html_.Raw("</span></td><td class=\"cut\">").Text(KindWords(op.op_kind, true));
    html_.Raw(fmt::format("</td><td>{}</td><td class=\"cut\" title=\"", PhaseChip(op.phase)));
    html_.Text(op.op_name).Raw("\">");
    html_.Text(ShortScope(op.layer_group, op.op_name));
    if (op.mixed) html_.Raw(" <span class=\"dim\">and others</span>");
    html_.Raw("</td><td class=\"cut\" title=\"").Text(op.source_file).Raw("\">");
    Source(op.source_file, op.source_line);
    html_.Raw(
        fmt::format("</td><td class=\"num\"><span class=\"cellbar p-{}\" style=\"--w:{}\" "
                    "title=\"{} ns\">{}</span></td><td class=\"num\">{}</td>"
                    "<td class=\"num hide-n\">{}</td><td class=\"num\">{}</td>"
                    "<td class=\"num\">{}</td>",
                    Text(op.phase), BarWidth(fold.ns, largest), fold.ns, figures_.Ms(fold.ns),
                    figures_.Pct(fold.ns), figures_.Pct(sum), figures_.Calls(fold.calls),
                    AverageUs(fold.ns, fold.calls)));
    if (bound) html_.Raw("<td>").Text(fold.bound_by).Raw("</td>");
    html_.Raw(fold.exact ? "<td>exact</td></tr>\n" : "<td class=\"dim\">inferred</td></tr>\n");
  }

  // Both ends of "some_long_file_name.py:123" are kept, because readers look for the line.
  void Source(std::string_view file, const std::optional<int64_t>& line) {
    html_.Raw("<span class=\"ends\"><span>").Text(SourceLine(file, std::nullopt)).Raw("</span>");
    if (line && !file.empty()) html_.Raw(fmt::format("<span class=\"tail\">:{}</span>", *line));
    html_.Raw("</span>");
  }

  void Kernels() {
    html_.Raw(fmt::format(
        "<div class=\"bar-h\"><h2>Names as recorded</h2><span class=\"cap\">kernels, copies, ops: "
        "what a profiler without HLO shows</span></div><table class=\"fix\"><colgroup><col><col "
        "style=\"width:84px\"><col style=\"width:56px\"><col style=\"width:72px\"><col "
        "style=\"width:72px\"></colgroup><thead><tr><th>name</th><th class=\"num sort\">{}</th>"
        "<th class=\"num\">%</th><th class=\"num\">calls</th><th class=\"num\">avg "
        "\u00b5s</th></tr>"
        "</thead><tbody>",
        figures_.Unit()));
    const size_t shown = std::min(kMaxKernelRows, view_.kernels.size());
    int64_t sum = 0;
    int64_t calls = view_.coverage.activities;
    for (size_t i = 0; i < shown; ++i) {
      const NamedFigure& kernel = view_.kernels[i];
      sum += kernel.ns;
      calls -= kernel.calls;
      html_.Raw("<tr><td class=\"name\" title=\"").Text(kernel.name).Raw("\">");
      kernel.name.empty() ? html_.Raw("<span class=\"dim\">no name</span>")
                          : html_.Name(kernel.name);
      html_.Raw(
          fmt::format("</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
                      "<td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
                      figures_.Ms(kernel.ns), figures_.Pct(kernel.ns), figures_.Calls(kernel.calls),
                      AverageUs(kernel.ns, kernel.calls)));
    }
    const std::string counts =
        fmt::format("<td class=\"num\">{}</td><td></td>", figures_.Calls(calls));
    if (view_.kernels.size() > shown) {
      const int64_t ns = view_.coverage.device_ns - sum;
      html_.Raw(fmt::format(
          "<tr class=\"oth\"><td>{} others</td><td class=\"num\">{}</td>"
          "<td class=\"num\">{}</td>{}</tr>",
          Count(view_.kernels.size() - shown), figures_.Ms(ns), figures_.Pct(ns), counts));
    }
    html_.Raw(fmt::format(
        "</tbody><tfoot><tr><td>all device time</td><td class=\"num\">{}</td>"
        "<td class=\"num\">100</td><td class=\"num\">{}</td><td></td></tr></tfoot>"
        "</table>",
        figures_.Ms(view_.coverage.device_ns), figures_.Calls(view_.coverage.activities)));
  }

  void Closing(size_t others, int64_t ns, std::string_view more) {
    if (others == 0) return;
    html_.Raw(
        fmt::format("<tr class=\"oth\"><td>{} others</td><td></td><td class=\"num\">{}</td>"
                    "<td class=\"num\">{}</td>{}</tr>",
                    Count(others), figures_.Ms(ns), figures_.Pct(ns), more));
  }

  void Total(std::string_view more) {
    html_.Raw(
        fmt::format("</tbody><tfoot><tr><td>all device time</td><td></td>"
                    "<td class=\"num\">{}</td><td class=\"num\">100</td>{}</tr></tfoot>"
                    "</table>",
                    figures_.Ms(view_.coverage.device_ns), more));
  }

  HtmlWriter& html_;
  const RunView& view_;
  Figures figures_;
};

}  // namespace

void WriteOpsSection(HtmlWriter& html, const RunView& view) {
  if (view.coverage.device_ns > 0) OpsSection(html, view).Ops();
}

void WriteSourceSection(HtmlWriter& html, const RunView& view) { OpsSection(html, view).Sources(); }

}  // namespace xlatrace::report
