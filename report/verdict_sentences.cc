// SPDX-License-Identifier: Apache-2.0
#include "report/verdict_sentences.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/shown_words.h"
#include "report/verdict_figures.h"

namespace xlatrace::report {
namespace {

using model::StepPart;

constexpr size_t kTwoLines = 150;  // Characters, at 80 columns.
// Rules whose sentence is of one cause of idle time.
constexpr std::array<std::string_view, 5> kOfIdle = {"launch_bound", "host_gap", "copy_wait",
                                                     "pauses", "idle"};

bool IsOfIdle(const FindingFigure& finding) {
  return std::find(kOfIdle.begin(), kOfIdle.end(), finding.id) != kOfIdle.end();
}

// "(gemm in decoder/layer_*/mlp, linears.py:110)"; empty when nothing is known of the op.
Sentence Where(const OpFigure& op) {
  SentenceBuilder where;
  where.Text(fmt::format(" ({}", KindWords(op.op_kind)));
  if (!op.layer_group.empty()) where.Text(" in ").Code(op.layer_group);
  const std::string source = SourceLine(op.source_file, op.source_line);
  if (!source.empty()) where.Text(", ").Code(source);
  where.Text(")");
  return where.Take();
}

// What a sentence calls an op that a framework ran itself, "loss/Softmax/Softmax:Softmax": where
// that is long, its last part says enough, and its type once. Instructions have no slash.
std::string_view Spoken(std::string_view name) {
  constexpr size_t kLong = 40;
  if (name.size() <= kLong) return name;
  const size_t slash = name.rfind('/');
  if (slash == name.npos || slash + 1 == name.size()) return name;
  name.remove_prefix(slash + 1);
  const size_t colon = name.rfind(':');
  if (colon == name.npos || colon == 0) return name;
  const std::string_view type = name.substr(colon + 1);
  return name.starts_with(type) ? name.substr(0, colon) : name;
}

// `what` and `why` without their full stops, and what stands between them in one sentence.
Said TwoLines(const Sentence& what, std::string_view joint, const Sentence& why) {
  return {SentenceBuilder().Append(what).Text(joint).Append(why).Text(".").Take(),
          SentenceBuilder().Append(what).Text(".").Take(),
          SentenceBuilder().Append(why).Text(".").Take()};
}

}  // namespace

Said OneLine(const Sentence& sentence) { return {sentence, sentence, {}}; }

// "`custom-call.75.0` ×8 (gemm in decoder/layer_*/mlp, linears.py:110)".
Sentence VerdictSentences::NameOf(const FoldedOp& fold) const {
  SentenceBuilder name;
  name.Code(Spoken(fold.op->instruction));
  if (fold.copies > 1) name.Text(fmt::format(" \u00d7{}", fold.copies));
  return name.Append(Where(*fold.op)).Take();
}

// All that is idle, before a sentence that speaks of one cause of it, or of less than it is: "The
// device is idle for 55.2% of the step, 338 of 611 ms: the host is late 177 ms, not known 156 ms,
// other causes 14.7 ms"; these from a fiftieth on. Nothing where one cause is nearly all of it, or
// something else is more.
std::optional<Said> VerdictSentences::AllIdle(const FindingFigure& finding) const {
  constexpr double kNearlyAll = 90;
  constexpr size_t kMostCauses = 2;
  const int64_t idle = IdleNs(view_);
  if (view_.gaps.size() < 2 || OnCpuOnly(view_) ||
      PercentOf(view_.gaps[0].ns, idle) >= kNearlyAll) {
    return std::nullopt;
  }
  const bool most = view_.basis.steady && LargestPart(view_) == StepPart::kIdle &&
                    PercentOf(idle, view_.steps.wall_ns) >= kOnePartPct;
  if (!IsOfIdle(finding) && !most) return std::nullopt;
  const double ns = view_.PerStep(idle);
  const int64_t whole = view_.basis.steady ? view_.steps.wall_ns : view_.span.wall_ns;
  const std::string what = fmt::format(
      "{} idle for {} of {}, {} of {}",
      !view_.basis.steady && Workers(view_) > 1 ? "The devices together are" : "The device is",
      About(idle, whole), view_.basis.steady ? "the step" : "the run",
      InUnitOf(ns, view_.PerStep(whole)), Duration(view_.PerStep(whole)));
  const std::string first = IdleCauseWords(view_.gaps[0]);
  std::string causes = " " + Duration(view_.PerStep(view_.gaps[0].ns));
  int64_t told = view_.gaps[0].ns;
  for (size_t i = 1; i < std::min(kMostCauses, view_.gaps.size()); ++i) {
    const GapFigure& gap = view_.gaps[i];
    causes += fmt::format(", {} {}", IdleCauseWords(gap), Duration(view_.PerStep(gap.ns)));
    told += gap.ns;
  }
  const double rest = view_.PerStep(idle - told);
  if (rest >= 0.02 * ns) causes += fmt::format(", other causes {}", Duration(rest));
  return Said{Plain(fmt::format("{}: {}{}.", what, first, causes)), Plain(what + "."),
              Plain(Capitalised(first) + causes + ".")};
}

Said VerdictSentences::OfFinding(const FindingFigure& finding) const {
  std::optional<Said> idle = AllIdle(finding);
  Said said;
  if (!idle) {
    // What does not fit two lines of 80 columns gives way to what is slow.
    const bool fits = finding.sentence.size() <= kTwoLines;
    said = {Plain((fits ? finding.sentence : finding.headline) + "."),
            Plain(finding.headline + "."),
            fits && !finding.reason.empty() ? Plain(finding.reason + ".") : Sentence()};
  } else {
    said = *std::move(idle);
    said.of_idle = true;
    if (!IsOfIdle(finding)) {
      const Sentence more = Plain(" " + finding.headline + ".");
      said.sentence = SentenceBuilder().Append(said.sentence).Append(more).Take();
      said.reason = SentenceBuilder().Append(said.reason).Append(more).Take();
    }
  }
  for (const FoldedOp& fold : ops_) {
    if (!said.op_handle.empty()) break;
    if (fold.op->instruction == finding.where_op) said.op_handle = fold.op->handle;
  }
  return said;
}

Said VerdictSentences::OfOp(const FoldedOp& op, int64_t whole_ns, bool partly) const {
  const std::string share = About(op.ns, whole_ns);
  const std::string_view of = partly ? "it" : "device time";
  const std::string what =
      op.copies > 1 ? fmt::format("{} alike instructions are {} of {}", op.copies, share, of)
                    : fmt::format("One instruction is {} of {}", share, of);
  // Device time next to what it is called, so that nobody reads it as wall time.
  const double device_ns = view_.PerStep(view_.coverage.device_ns);
  Said said = TwoLines(
      Plain(what), ": ",
      SentenceBuilder()
          .Append(NameOf(op))
          .Text(fmt::format(" {} {} of {} of device time{}", op.copies > 1 ? "take" : "takes",
                            InUnitOf(view_.PerStep(op.ns), device_ns), Duration(device_ns),
                            PerStepWords(view_)))
          .Take());
  said.op_handle = op.op->handle;
  return said;
}

Said VerdictSentences::OfPart(StepPart part) const {
  const int64_t part_ns = view_.step_parts[static_cast<size_t>(part)];
  const std::string share = About(part_ns, view_.steps.wall_ns);
  const std::string of_step =
      fmt::format("{} of {}", InUnitOf(view_.PerStep(part_ns), view_.PerStep(view_.steps.wall_ns)),
                  Duration(view_.PerStep(view_.steps.wall_ns)));
  if (part == StepPart::kIdle) {
    Said said = TwoLines(
        Plain(fmt::format("{} for {} of the step",
                          OnCpuOnly(view_) ? "No op of XLA runs" : "The device is idle", share)),
        ": ", Plain(of_step));
    said.of_idle = true;
    return said;
  }
  const FoldedOp* op = TopOpOf(part);
  const Sentence largest = op == nullptr ? Sentence() : LargestOf(part, *op);
  Said said;
  if (part == StepPart::kExposedCollective || part == StepPart::kExposedCopy) {
    const Sentence what =
        Plain(fmt::format("{} of the step is {} that nothing hides", share,
                          part == StepPart::kExposedCopy ? "copying" : "communication"));
    said =
        largest.empty()
            ? TwoLines(what, ": ", Plain(of_step))
            : TwoLines(what, ": ", SentenceBuilder().Text(of_step + ". ").Append(largest).Take());
  } else {
    const Sentence what = Plain(
        part == StepPart::kUnknown || part == StepPart::kOther
            ? fmt::format("{} of the step ({}) has no known phase", share, of_step)
            : fmt::format("{} is {} of the step ({})", Capitalised(Text(part)), share, of_step));
    said = largest.empty() ? OneLine(SentenceBuilder().Append(what).Text(".").Take())
                           : TwoLines(what, ". ", largest);
  }
  if (op != nullptr) said.op_handle = op->op->handle;
  return said;
}

// "Its largest op, `x` (gemm in mlp, a.py:3), is 3.1% of device time; action 1 saves 2.4% of the
// step".
Sentence VerdictSentences::LargestOf(StepPart part, const FoldedOp& op) const {
  const bool phase = part != StepPart::kExposedCollective && part != StepPart::kExposedCopy;
  constexpr size_t kOneLine = 140;  // Of the page.
  Sentence sentence =
      SentenceBuilder()
          .Text(phase ? "Its largest op, " : "The largest such op, ")
          .Append(NameOf(op))
          .Text(fmt::format(", is {} of device time", About(op.ns, view_.coverage.device_ns)))
          .Take();
  // What is largest need not be what can be done first.
  const FindingFigure* first = view_.findings.empty() ? nullptr : &view_.findings[0];
  if (first == nullptr || first->saves_high_ns.value_or(0) <= 0 || first->of_run) return sentence;
  const std::string saves = fmt::format(
      "; action 1 saves {}{}% of the step", first->bound() ? "at most " : "",
      Percent(static_cast<double>(*first->saves_high_ns), view_.PerStep(view_.steps.wall_ns)));
  const size_t length = PlainText(sentence).size() + (phase ? 0 : 1) + saves.size();
  if (length >= kOneLine) return sentence;
  return SentenceBuilder().Append(sentence).Text(saves).Take();
}

// Ops are by time, so the first that fits is the largest.
const FoldedOp* VerdictSentences::TopOpOf(StepPart part) const {
  for (const FoldedOp& fold : ops_) {
    const OpFigure& op = *fold.op;
    if (part == StepPart::kExposedCollective ? op.op_kind == "collective"
        : part == StepPart::kExposedCopy     ? op.op_kind == "copy"
                                             : Text(op.phase) == Text(part)) {
      return &fold;
    }
  }
  return nullptr;
}

Said VerdictSentences::NoBottleneck() const {
  if (ops_.empty()) return OneLine(Plain("No instruction could be named."));
  const Sentence what = Plain("No single bottleneck.");
  const Sentence why = LargestOp();
  return {SentenceBuilder().Append(what).Text(" ").Append(why).Take(), what, why,
          ops_[0].op->handle};
}

Sentence VerdictSentences::LargestOp() const {
  const FoldedOp* op = TopOp();
  if (op == nullptr) return LargestKernel();
  return SentenceBuilder()
      .Text("The largest op, ")
      .Append(NameOf(*op))
      .Text(fmt::format(", is {} of device time.", About(op->ns, view_.coverage.device_ns)))
      .Take();
}

Sentence VerdictSentences::LargestKernel() const {
  if (view_.kernels.empty() || view_.kernels[0].name.empty()) {
    return {{"No instruction could be named.", false}};
  }
  const NamedFigure& kernel = view_.kernels[0];
  const std::string share =
      fmt::format(" {} of device time.", About(kernel.ns, view_.coverage.device_ns));
  // Copies are no kernels.
  if (kernel.name.starts_with("Mem")) {
    return SentenceBuilder().Code(kernel.name).Text(" is" + share).Take();
  }
  return SentenceBuilder()
      .Text("The largest kernel, ")
      .Code(kernel.name)
      .Text(", is" + share)
      .Take();
}

}  // namespace xlatrace::report
