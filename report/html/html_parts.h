// SPDX-License-Identifier: Apache-2.0

// The sections of the page and their shared helpers. Private to report/html.

#ifndef XLATRACE_REPORT_HTML_HTML_PARTS_H_
#define XLATRACE_REPORT_HTML_HTML_PARTS_H_

#include <string>
#include <string_view>

#include "report/answer/answer_text.h"
#include "report/html/html_writer.h"
#include "report/run_view.h"

namespace xlatrace::report {

void WriteVerdictSection(HtmlWriter& html, const RunView& view, const AnswerText& answer);
// The time tree as two bars: the run, and its typical step or the part that the answer names.
void WriteTimeBar(HtmlWriter& html, const RunView& view);
void WriteModelSection(HtmlWriter& html, const RunView& view);
void WriteOpsSection(HtmlWriter& html, const RunView& view);
void WriteSourceSection(HtmlWriter& html, const RunView& view);
void WriteRunSection(HtmlWriter& html, const RunView& view);

// Writes a sentence, with names in <code>.
void WriteSentence(HtmlWriter& html, const Sentence& sentence);

// Writes a chip with the letter of the phase in the colour of the phase.
std::string PhaseChip(model::Phase phase);
std::string PartChip(model::StepPart part);

// Numbers of the page: per step if the run has steady steps, otherwise of the whole run.
class Figures {
 public:
  explicit Figures(const RunView& view) : view_(view) {}

  std::string Ms(int64_t ns) const;
  std::string Pct(int64_t ns) const;       // Share of device time.
  std::string Calls(int64_t calls) const;  // Empty when not known.
  std::string_view Unit() const { return view_.basis.steady ? "ms/step" : "ms"; }
  // "12.3 ms", "410 µs" of a sum.
  std::string Long(int64_t ns) const;
  // The device time, and the reason why it exceeds the busy time; for captions.
  std::string DeviceTimeCaption() const;

 private:
  const RunView& view_;
};

// Average duration of a call in microseconds; empty if not known.
std::string AverageUs(int64_t ns, int64_t calls);
// Duration() with the page's µs and minus.
std::string HtmlDuration(double ns);
// MillisecondsText() with the page's minus.
std::string HtmlMilliseconds(double ns);
// Width of a bar as "12.3%".
std::string BarWidth(int64_t part, int64_t whole);

// Bar of the phases of something, scaled to `largest`.
std::string PhaseStack(const PhaseTimes& phases, int64_t ns, int64_t largest);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_HTML_HTML_PARTS_H_
