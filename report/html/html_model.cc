// SPDX-License-Identifier: Apache-2.0

// The model: phases, kinds of work, and the tree of layers with its icicle.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/html/html_parts.h"
#include "report/model_tree.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

using model::Phase;

constexpr int64_t kMaxIcicleHeight = 640;  // Pixels of height.
constexpr int64_t kMinIcicleHeight = 240;
constexpr int64_t kIcicleDepth = 5;
constexpr double kMinBoxHeight = 3;  // Pixels.
constexpr double kMinLabelHeight = 13;
constexpr double kTwoLines = 30;
constexpr size_t kMaxTreeRows = 60;

class Section {
 public:
  Section(HtmlWriter& html, const RunView& view) : html_(html), view_(view), figures_(view) {
    for (const Phase phase : kPhaseOrder) {
      if (view.phases[static_cast<size_t>(phase)] > 0) phases_.push_back(phase);
    }
  }

  void Write() {
    if (view_.coverage.device_ns == 0) return;
    html_.Raw(
        "<section id=\"model\"><div class=\"bar-h\"><h2>Time by model component</h2>"
        "<span class=\"cap\">");
    html_.Text(figures_.DeviceTimeCaption()).Raw("</span></div>");
    const bool layers = std::any_of(view_.layers.begin(), view_.layers.end(),
                                    [](const ScopeFigure& layer) { return !layer.name.empty(); });
    if (layers) {
      const ModelNode tree = BuildModelTree(view_, ModelTreeLimits());
      html_.Raw("<div class=\"split model\"><div>");
      Tree(tree);
      html_.Raw("</div><div>");
      Icicle(tree);
      html_.Raw("</div></div>\n");
    } else {
      html_.Raw("<p class=\"note\">No op_name of this run names a layer.</p>");
    }
    html_.Raw("<div class=\"split two\" style=\"margin-top:24px\"><div>");
    Phases();
    html_.Raw("</div><div>");
    Kinds();
    html_.Raw("</div></div></section>\n");
  }

 private:
  std::string Cell(int64_t ns) const {
    return ns == 0 ? "<td class=\"num dim\">\u00b7</td>"
                   : fmt::format("<td class=\"num\">{}</td>", figures_.Ms(ns));
  }

  void Tree(const ModelNode& tree) {
    html_.Raw("<table class=\"fix\"><colgroup><col style=\"width:34%\">");
    for (size_t i = 0; i < phases_.size(); ++i) html_.Raw("<col>");
    html_.Raw(
        "<col><col style=\"width:84px\"><col style=\"width:48px\"></colgroup><thead><tr>"
        "<th>layer</th>");
    for (const Phase phase : phases_) {
      html_.Raw(fmt::format("<th class=\"num\">{}</th>", PhaseChip(phase)));
    }
    html_.Raw(
        fmt::format("<th class=\"num sort\">{}</th><th></th><th class=\"num\">%</th></tr>"
                    "</thead><tbody>",
                    figures_.Unit()));
    largest_ = tree.children.empty() ? 0 : tree.children[0].ns;
    for (const ModelNode& child : tree.children) largest_ = std::max(largest_, child.ns);
    rows_ = 0;
    for (const ModelNode& child : tree.children) Row(child, 0);
    if (skipped_ > 0) {
      html_.Raw(
          fmt::format("<tr class=\"oth\"><td colspan=\"{}\">{} more rows below these; "
                      "xlatrace summary --by layer --format csv has all</td></tr>",
                      phases_.size() + 4, Thousands(skipped_)));
    }
    html_.Raw("</tbody><tfoot><tr><td>all device time</td>");
    for (const Phase phase : phases_) html_.Raw(Cell(tree.phases[static_cast<size_t>(phase)]));
    html_.Raw(Cell(tree.ns)).Raw("<td></td><td class=\"num\">100</td></tr></tfoot></table>");
  }

  void Row(const ModelNode& node, size_t depth) {
    if (rows_ >= kMaxTreeRows && depth > 0) {
      ++skipped_;
      return;
    }
    ++rows_;
    html_.Raw(fmt::format("<tr{}><td class=\"cut\" style=\"padding-left:{}px\" title=\"",
                          node.others > 0 || node.name == "itself" ? " class=\"oth\"" : "",
                          8 + 13 * depth));
    html_.Text(node.path.empty() ? node.name : node.path).Raw("\">");
    if (!node.children.empty()) html_.Raw("<b>");
    html_.Text(node.name);
    if (!node.children.empty()) html_.Raw("</b>");
    html_.Raw("</td>");
    for (const Phase phase : phases_) html_.Raw(Cell(node.phases[static_cast<size_t>(phase)]));
    html_.Raw(fmt::format(
        "<td class=\"num\"><b>{}</b></td><td>{}</td><td class=\"num\">{}</td>"
        "</tr>\n",
        figures_.Ms(node.ns), PhaseStack(node.phases, node.ns, largest_), figures_.Pct(node.ns)));
    for (const ModelNode& child : node.children) Row(child, depth + 1);
  }

  static int64_t Depth(const ModelNode& node) {
    int64_t deepest = 0;
    for (const ModelNode& child : node.children) deepest = std::max(deepest, 1 + Depth(child));
    return deepest;
  }

  // Depth to the right, height = time, phases as tinted parts.
  void Icicle(const ModelNode& tree) {
    // As high as the table beside it.
    depth_ = std::min(kIcicleDepth, Depth(tree));
    icicle_height_ =
        std::clamp(static_cast<int64_t>(rows_ + 2) * 24, kMinIcicleHeight, kMaxIcicleHeight);
    html_.Raw(
        fmt::format("<div class=\"icicle\" role=\"img\" aria-label=\"The table as areas: "
                    "height is device time\" style=\"height:{}px;--d:{:.3f}%\">",
                    icicle_height_, 100.0 / static_cast<double>(depth_)));
    Boxes(tree, 0, 0, tree.ns);
    html_.Raw("</div>");
  }

  void Boxes(const ModelNode& node, int64_t depth, int64_t top, int64_t whole) {
    if (depth == depth_ || whole == 0) return;
    for (const ModelNode& child : node.children) {
      const double height = static_cast<double>(icicle_height_) * static_cast<double>(child.ns) /
                            static_cast<double>(whole);
      if (height < kMinBoxHeight) break;  // Children are by time.
      html_.Raw(fmt::format(
          "<div{} style=\"left:{:.3f}%;top:{};height:{};background:{};--solid:{}\" title=\"",
          child.children.empty() ? "" : " class=\"b\"",
          100.0 * static_cast<double>(depth) / static_cast<double>(depth_), BarWidth(top, whole),
          BarWidth(child.ns, whole), Stripes(child, true), Stripes(child, false)));
      html_.Text(child.path.empty() ? child.name : child.path)
          .Raw(" ")
          .Text(figures_.Long(child.ns))
          .Raw("\">");
      if (height >= kMinLabelHeight) {
        html_.Text(child.name)
            .Raw(height >= kTwoLines ? "<br><span>" : " <span>")
            .Raw(figures_.Ms(child.ns))
            .Raw("</span>");
      }
      html_.Raw("</div>");
      Boxes(child, depth + 1, top, whole);
      top += child.ns;
    }
  }

  // Phases of a node side by side, as hard stops of a gradient.
  std::string Stripes(const ModelNode& node, bool tinted) const {
    std::string out = "linear-gradient(90deg";
    int64_t before = 0;
    for (const Phase phase : kPhaseOrder) {
      const int64_t ns = node.phases[static_cast<size_t>(phase)];
      if (ns <= 0) continue;
      const std::string color =
          tinted ? fmt::format("color-mix(in srgb,var(--ph-{}) var(--tint),var(--bg))", Text(phase))
                 : fmt::format("var(--ph-{})", Text(phase));
      out += fmt::format(",{} {} {}", color, BarWidth(before, node.ns),
                         BarWidth(before + ns, node.ns));
      before += ns;
    }
    return out + ")";
  }

  void Phases() {
    html_.Raw(fmt::format(
        "<h3>Phases</h3><table><thead><tr><th>phase</th><th class=\"num sort\">{}</th>"
        "<th class=\"num\">% of device time</th><th style=\"width:34%\"></th></tr></thead><tbody>",
        figures_.Unit()));
    int64_t largest = 0;
    for (const int64_t ns : view_.phases) largest = std::max(largest, ns);
    for (const Phase phase : phases_) {
      const int64_t ns = view_.phases[static_cast<size_t>(phase)];
      PhaseTimes only{};
      only[static_cast<size_t>(phase)] = ns;
      html_.Raw(
          fmt::format("<tr><td><span class=\"ph\">{}{}</span></td><td class=\"num\">{}</td>"
                      "<td class=\"num\">{}</td><td>{}</td></tr>",
                      PhaseChip(phase), PhaseWords(phase), figures_.Ms(ns), figures_.Pct(ns),
                      PhaseStack(only, ns, largest)));
    }
    html_.Raw(
        fmt::format("</tbody><tfoot><tr><td>all device time</td><td class=\"num\">{}</td>"
                    "<td class=\"num\">100</td><td></td></tr></tfoot></table>",
                    figures_.Ms(view_.coverage.device_ns)));
    html_.Raw(
        "<p class=\"cap\">Collectives and copies have the phase of what they serve. The bar "
        "at the top is wall time and shows them apart where nothing hides them.</p>");
  }

  void Kinds() {
    html_.Raw(fmt::format(
        "<h3>Kinds of work</h3><table><thead><tr><th>kind</th><th class=\"num sort\">{}</th>"
        "<th class=\"num\">% of device time</th><th class=\"num\">calls</th></tr></thead><tbody>",
        figures_.Unit()));
    for (const NamedFigure& kind : view_.kinds) {
      html_.Raw("<tr><td>").Text(KindWords(kind.name));
      html_.Raw(
          fmt::format("</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
                      "<td class=\"num\">{}</td></tr>",
                      figures_.Ms(kind.ns), figures_.Pct(kind.ns), figures_.Calls(kind.calls)));
    }
    if (view_.coverage.none_activities > 0) {
      html_.Raw(
          fmt::format("<tr class=\"oth\"><td>no instruction</td><td class=\"num\">{}</td>"
                      "<td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
                      figures_.Ms(view_.coverage.none_ns), figures_.Pct(view_.coverage.none_ns),
                      figures_.Calls(view_.coverage.none_activities)));
    }
    html_.Raw(fmt::format(
        "</tbody><tfoot><tr><td>all device time</td><td class=\"num\">{}</td>"
        "<td class=\"num\">100</td><td class=\"num\">{}</td></tr></tfoot></table>",
        figures_.Ms(view_.coverage.device_ns), figures_.Calls(view_.coverage.activities)));
  }

  HtmlWriter& html_;
  const RunView& view_;
  Figures figures_;
  std::vector<Phase> phases_;  // Phases with time in the run.
  int64_t largest_ = 0;
  size_t rows_ = 0;
  int64_t icicle_height_ = kMaxIcicleHeight;
  int64_t depth_ = kIcicleDepth;
  int64_t skipped_ = 0;
};

}  // namespace

void WriteModelSection(HtmlWriter& html, const RunView& view) { Section(html, view).Write(); }

}  // namespace xlatrace::report
