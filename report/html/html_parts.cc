// SPDX-License-Identifier: Apache-2.0
#include "report/html/html_parts.h"

#include <cmath>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/glyphs.h"
#include "report/shown_words.h"

namespace xlatrace::report {

void WriteSentence(HtmlWriter& html, const Sentence& sentence) {
  for (const Piece& piece : sentence) {
    if (piece.code) {
      html.Code(piece.text);
      continue;
    }
    html.Text(WithGlyphs(piece.text));
  }
}

std::string PhaseChip(model::Phase phase) {
  return fmt::format("<span class=\"ltr p-{}\" title=\"{}\">{}</span>", Text(phase),
                     PhaseWords(phase), PhaseLetter(phase));
}

std::string PartChip(model::StepPart part) {
  return fmt::format("<span class=\"ltr p-{}\" title=\"{}\">{}</span>", PartColor(part),
                     PartWords(part), PartLetter(part));
}

std::string Figures::Ms(int64_t ns) const { return EscapeHtml(Milliseconds(view_.PerStep(ns))); }

std::string Figures::Pct(int64_t ns) const {
  return EscapeHtml(
      ShareText(static_cast<double>(ns), static_cast<double>(view_.coverage.device_ns)));
}

std::string Figures::Calls(int64_t calls) const {
  if (calls == 0) return {};
  const double per_step = view_.PerStep(calls);
  // Whole numbers are shown whole: 1, not 1.00.
  if (std::floor(per_step) == per_step) return Thousands(static_cast<int64_t>(per_step));
  return EscapeHtml(Significant(per_step));
}

std::string Figures::Long(int64_t ns) const { return HtmlDuration(view_.PerStep(ns)); }

std::string Figures::DeviceTimeCaption() const {
  const int64_t device = view_.coverage.device_ns;
  if (!view_.basis.steady) {
    return fmt::format("device time of the whole run, {}; it is summed over activities",
                       Long(device));
  }
  const int64_t beside = device - view_.steps.busy_ns;
  if (beside <= device / 200) return fmt::format("device time, {} per step", Long(device));
  return fmt::format("device time, {} per step = {} busy + {} running side by side", Long(device),
                     Long(view_.steps.busy_ns), Long(beside));
}

std::string AverageUs(int64_t ns, int64_t calls) {
  if (calls == 0) return {};
  return EscapeHtml(Microseconds(static_cast<double>(ns) / static_cast<double>(calls)));
}

namespace {

std::string WithGlyphs(std::string text) {
  if (text.ends_with(" us")) text.replace(text.size() - 2, 2, "\u00b5s");
  if (!text.empty() && text[0] == '-') text.replace(0, 1, "\u2212");
  return text;
}

}  // namespace

std::string HtmlDuration(double ns) { return WithGlyphs(Duration(ns)); }
std::string HtmlMilliseconds(double ns) { return WithGlyphs(MillisecondsText(ns)); }

std::string BarWidth(int64_t part, int64_t whole) {
  if (whole <= 0) return "0%";
  return fmt::format("{:.3f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string PhaseStack(const PhaseTimes& phases, int64_t ns, int64_t largest) {
  std::string out = fmt::format("<span class=\"stk\" style=\"width:{}\">", BarWidth(ns, largest));
  for (const model::Phase phase : kPhaseOrder) {
    const int64_t part = phases[static_cast<size_t>(phase)];
    if (part <= 0) continue;
    out += fmt::format("<i class=\"p-{}\" style=\"flex:{}\"></i>", Text(phase), part);
  }
  return out + "</span>";
}

}  // namespace xlatrace::report
