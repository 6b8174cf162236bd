// SPDX-License-Identifier: Apache-2.0

// The time tree as bars, one per level, as the app shows them at first.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/share_text.h"
#include "report/html/html_parts.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

constexpr double kMinLabelShare = 0.09;    // A narrower part is too small for its name.
constexpr double kMinLegendShare = 0.002;  // The app sums smaller parts as well.
constexpr size_t kMaxLegendParts = 8;
constexpr size_t kMaxLevels = 3;

struct TreePiece {
  std::string words;
  std::string color;  // Suffix of the class: "backward", "idle".
  int64_t ns = 0;
};

struct TreeLevel {
  std::string name;
  int64_t ns = 0;
  bool per_step = false;
  std::vector<TreePiece> pieces;
};

int64_t NodeTime(const TimeNode& node, bool per_step) {
  return per_step ? node.per_step_ns.value_or(0) : node.ns;
}

std::string NodeKindText(std::string_view kind) {
  std::string text(kind);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string_view NodeColor(std::string_view kind) {
  if (kind == "exposed_collective" || kind == "wait" || kind == "transfer") return "collective";
  if (kind == "exposed_copy") return "copy";
  if (kind == "computation" || kind == "op" || kind == "first_execution") return "unknown";
  for (const std::string_view place :
       {"startup", "steps", "step", "between_steps", "shutdown", "call"}) {
    if (kind == place) return "other";
  }
  return "idle";
}

// Computation of a step by phase, as step_part divides it; nothing if it has only one phase.
std::vector<TreePiece> PhasesOf(const RunView& view) {
  std::vector<TreePiece> pieces;
  for (const model::StepPart part : kPartOrder) {
    const std::string phase(Text(part));
    const int64_t ns = view.step_parts[static_cast<size_t>(part)];
    if (ns <= 0 || !model::PhaseFromText(phase)) continue;
    pieces.push_back({std::string(PartWords(part)), std::string(PartColor(part)),
                      std::llround(view.PerStep(ns))});
  }
  return pieces.size() < 2 ? std::vector<TreePiece>() : pieces;
}

TreeLevel LevelOf(const RunView& view, size_t position, bool per_step) {
  const TimeNodes& tree = view.answer.visible;
  const TimeNode& node = tree.nodes[position];
  TreeLevel level{.name = node.kind == "root" ? "run" : NodeKindText(node.kind),
                  .ns = NodeTime(node, per_step),
                  .per_step = per_step};
  for (const size_t at : node.children) {
    const TimeNode& child = tree.nodes[at];
    if (child.kind == "computation") {
      const std::vector<TreePiece> phases = per_step ? PhasesOf(view) : std::vector<TreePiece>();
      level.pieces.insert(level.pieces.end(), phases.begin(), phases.end());
      if (!phases.empty()) continue;
    }
    const std::string kind = NodeKindText(child.kind);
    const std::string words = child.name.empty()   ? kind
                              : child.kind == "op" ? std::string(child.name)
                                                   : fmt::format("{}: {}", kind, child.name);
    level.pieces.push_back({words, std::string(NodeColor(child.kind)), NodeTime(child, per_step)});
  }
  return level;
}

// The run, and below it the typical step. Without a typical step, the path to the part that the
// answer names.
std::vector<TreeLevel> LevelsOf(const RunView& view) {
  const Answer& answer = view.answer;
  const TimeNodes& tree = answer.visible;
  std::vector<TreeLevel> levels = {LevelOf(view, 0, false)};
  if (answer.step) {
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      if (tree.nodes[i].kind != "step") continue;
      levels.push_back(LevelOf(view, i, true));
      return levels;
    }
  }
  if (!answer.run) return levels;
  for (const TimePart& part : answer.run->descent.path) {
    if (levels.size() == kMaxLevels) break;
    if (part.node_ids.size() != 1) continue;
    const auto node =
        std::find_if(tree.nodes.begin(), tree.nodes.end(),
                     [&](const TimeNode& known) { return known.node_id == part.node_ids[0]; });
    if (node == tree.nodes.begin() || node == tree.nodes.end()) continue;
    TreeLevel level = LevelOf(view, static_cast<size_t>(node - tree.nodes.begin()), false);
    if (level.pieces.size() > 1) levels.push_back(std::move(level));
  }
  return levels;
}

double ShareOfLevel(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string PieceTitle(const TreeLevel& level, const TreePiece& piece) {
  return fmt::format("{}: {}{}, {}% of the {}", piece.words,
                     HtmlDuration(static_cast<double>(piece.ns)), level.per_step ? " per step" : "",
                     ShareText(static_cast<double>(piece.ns), static_cast<double>(level.ns)),
                     level.name);
}

void WriteLevel(HtmlWriter& html, const TreeLevel& level) {
  html.Raw("<p class=\"sm\"><b>").Text(level.name).Raw("</b> ");
  html.Text(HtmlDuration(static_cast<double>(level.ns))).Raw("</p><div class=\"sbar\">");
  for (const TreePiece& piece : level.pieces) {
    const double share = ShareOfLevel(piece.ns, level.ns);
    if (share < kMinLegendShare) continue;
    html.Raw(fmt::format("<div class=\"p-{}\" style=\"flex:{:.4f}\" title=\"", piece.color,
                         1000 * share));
    html.Text(PieceTitle(level, piece)).Raw("\">");
    if (share >= kMinLabelShare) {
      html.Raw("<b>").Text(piece.words).Raw(" ");
      html.Text(HtmlDuration(static_cast<double>(piece.ns))).Raw("</b>");
    }
    html.Raw("</div>");
  }
  html.Raw("</div>\n");
}

// Parts of the last level whose names do not fit.
void WriteLegend(HtmlWriter& html, const TreeLevel& level) {
  std::vector<const TreePiece*> unnamed;
  for (const TreePiece& piece : level.pieces) {
    const double share = ShareOfLevel(piece.ns, level.ns);
    if (share >= kMinLegendShare && share < kMinLabelShare) unnamed.push_back(&piece);
  }
  if (unnamed.empty()) return;
  html.Raw("<figcaption class=\"legend\">");
  for (size_t i = 0; i < std::min(kMaxLegendParts, unnamed.size()); ++i) {
    html.Raw(
        fmt::format("<span class=\"ph sm\"><span class=\"ltr p-{}\"></span>", unnamed[i]->color));
    html.Text(unnamed[i]->words).Raw(" <span class=\"dim\">");
    html.Text(HtmlDuration(static_cast<double>(unnamed[i]->ns))).Raw("</span></span>");
  }
  if (unnamed.size() > kMaxLegendParts) {
    html.Raw(
        fmt::format("<span class=\"cap\">and {} more</span>", unnamed.size() - kMaxLegendParts));
  }
  html.Raw("</figcaption>");
}

}  // namespace

void WriteTimeBar(HtmlWriter& html, const RunView& view) {
  const Answer& answer = view.answer;
  if (!answer.has_tree || answer.visible.nodes[0].ns <= 0) return;
  std::vector<TreeLevel> levels = LevelsOf(view);
  std::string label = "Recorded time by part.";
  for (const TreePiece& piece : levels.back().pieces) {
    if (ShareOfLevel(piece.ns, levels.back().ns) < kMinLegendShare) continue;
    label += " " + PieceTitle(levels.back(), piece) + ".";
  }
  html.Raw("<figure class=\"step\" role=\"img\" aria-label=\"").Text(label).Raw("\">");
  for (TreeLevel& level : levels) {
    std::stable_sort(
        level.pieces.begin(), level.pieces.end(),
        [&](const TreePiece& a, const TreePiece& b) { return !level.per_step && a.ns > b.ns; });
    WriteLevel(html, level);
  }
  WriteLegend(html, levels.back());
  html.Raw("</figure>\n");
}

}  // namespace xlatrace::report
