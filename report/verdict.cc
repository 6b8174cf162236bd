#include "report/verdict.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/op_fold.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

using model::StepPart;

constexpr double kAttributedEnough = 95;  // Percent; below it the sentence says so first.
constexpr double kOneOp = 25;             // From here on one instruction is the answer.
constexpr double kOnePart = 40;           // The same for a part of the step.
constexpr double kWorthSaying = 10;       // Percent that the first finding saves of the whole.
constexpr size_t kTwoLines = 150;         // Characters, at 80 columns.
constexpr size_t kMostReasons = 3;
constexpr int64_t kEnoughSteps = 10;  // For percentiles.
constexpr int64_t kStepsAsked = 20;

double PercentOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// "61.3%": the digits that tables have. Nearly all is not all.
std::string About(int64_t part, int64_t whole) {
  if (PercentOf(part, whole) >= 99.95 && part < whole) return "over 99.9%";
  return Percent(static_cast<double>(part), static_cast<double>(whole)) + "%";
}

std::string Capitalised(std::string_view word) {
  std::string text(word);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// Titles and sentences of findings begin with a capital letter. Behind a colon they do not, but for
// words such as HLO.
std::string BehindColon(std::string text) {
  const auto capital = [&](size_t at) {
    return text.size() > at && text[at] >= 'A' && text[at] <= 'Z';
  };
  if (text.size() > 1 && capital(0) && !capital(1)) text[0] = static_cast<char>(text[0] + 32);
  return text;
}

class Builder {
 public:
  Builder& Text(std::string_view text) { return Add(text, false); }
  Builder& Code(std::string_view text) { return Add(text, true); }
  Builder& Append(const Sentence& other) {
    for (const Piece& piece : other) Add(piece.text, piece.code);
    return *this;
  }
  Sentence Take() { return std::move(sentence_); }

 private:
  Builder& Add(std::string_view text, bool code) {
    if (!sentence_.empty() && sentence_.back().code == code && !code) {
      sentence_.back().text += text;
    } else if (!text.empty()) {
      sentence_.push_back({std::string(text), code});
    }
    return *this;
  }
  Sentence sentence_;
};

// "(gemm in decoder/layer_*/mlp, linears.py:110)"; empty when nothing is known of the op.
Sentence Where(const OpFigure& op) {
  Builder where;
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

StepPart LargestPart(const RunView& view) {
  StepPart largest = StepPart::kForward;
  for (const StepPart part : kPartOrder) {
    if (view.step_parts[static_cast<size_t>(part)] >
        view.step_parts[static_cast<size_t>(largest)]) {
      largest = part;
    }
  }
  return largest;
}

// Device time per step next to what it is called, so that nobody reads it as wall time.
std::string OfDeviceTime(const RunView& view) {
  return fmt::format("{} of device time", Duration(view.PerStep(view.coverage.device_ns)));
}

std::string_view PerStepWords(const RunView& view) {
  return view.basis.steady ? " per step" : " in the whole run";
}

// What is slow and why, as one sentence and as two.
struct Said {
  Sentence sentence, headline, reason;
};

Sentence Plain(std::string_view text) { return Builder().Text(text).Take(); }

Said OneLine(const Sentence& sentence) { return {sentence, sentence, {}}; }

// `what` and `why` without their full stops, and what stands between them in one sentence.
Said TwoLines(const Sentence& what, std::string_view joint, const Sentence& why) {
  return {Builder().Append(what).Text(joint).Append(why).Text(".").Take(),
          Builder().Append(what).Text(".").Take(), Builder().Append(why).Text(".").Take()};
}

class VerdictMaker {
 public:
  explicit VerdictMaker(const RunView& view) : view_(view), ops_(FoldOps(view)) {}

  Verdict Make() {
    if (!SaidWithoutSteps()) SayOfSteps();
    NotKnown();
    return std::move(verdict_);
  }

 private:
  void Say(Said said) {
    verdict_.sentence = std::move(said.sentence);
    verdict_.headline = std::move(said.headline);
    verdict_.reason = std::move(said.reason);
  }

  const FoldedOp* TopOp() const { return ops_.empty() ? nullptr : &ops_[0]; }

  // "`custom-call.75.0` ×8 (gemm in decoder/layer_*/mlp, linears.py:110)".
  Sentence NameOf(const FoldedOp& fold) {
    verdict_.op_handle = fold.op->handle;
    Builder name;
    name.Code(Spoken(fold.op->instruction));
    if (fold.copies > 1) name.Text(fmt::format(" \u00d7{}", fold.copies));
    return name.Append(Where(*fold.op)).Take();
  }

  // Kernels of another framework and copies, as in a trace of PyTorch.
  bool NothingIsXla() const {
    const auto& reasons = view_.run_coverage.reasons;
    return !reasons.empty() &&
           std::any_of(reasons.begin(), reasons.end(),
                       [](const ReasonFigure& r) {
                         return r.reason == "not_xla" || r.reason == "eager";
                       }) &&
           std::all_of(reasons.begin(), reasons.end(), [](const ReasonFigure& r) {
             return r.ns == 0 || r.reason == "not_xla" || r.reason == "eager" ||
                    r.reason == "transfer";
           });
  }

  // What is said where steady steps cannot answer, be it a verdict or why there is none; false:
  // they can.
  bool SaidWithoutSteps() {
    if (view_.run_coverage.activities == 0) {
      Say(OneLine(Plain("No verdict: the run holds no device activity.")));
      // The worst that was noted says more than that something was.
      const StatFigure* worst = nullptr;
      for (const StatFigure& stat : view_.stats) {
        if (stat.severity < model::Severity::kDataLoss || stat.advice.empty()) continue;
        if (worst == nullptr || stat.severity > worst->severity) worst = &stat;
      }
      verdict_.lede = {{worst != nullptr
                            ? Capitalised(worst->advice) + "."
                            : "Record again while the program computes; xlatrace doctor says what "
                              "stands in the way.",
                        false}};
      return true;
    }
    const FindingFigure* finding = FirstWithSentence();
    if (view_.modules.empty() && view_.ops.empty() && finding == nullptr) {
      SayWithoutModules();
      return true;
    }
    if (!view_.basis.steady) {
      SayWholeRun(finding);
      return true;
    }
    // What is known to have been lost at some moment, no steady step touches.
    if (const int64_t lost = view_.losses.anywhere(); lost > 0) {
      Say(OneLine(Plain(
          fmt::format("No verdict: {} {} lost, so idle time cannot be told from missing data.",
                      Thousands(lost), lost == 1 ? "record was" : "records were"))));
      verdict_.lede = LargestOp();
      return true;
    }
    return false;
  }

  // Totals of the run, and what stands out in them.
  void SayWholeRun(const FindingFigure* finding) {
    Builder lede;
    if (finding != nullptr) {
      verdict_.given = true;
      Say(OfFinding(*finding, true));
      lede.Text("No steady step: figures are totals of the run. ");
      lede.Append(Lede());
    } else if (const RuledOutFigure* products = Products(); products != nullptr) {
      // What most of the time goes to is as it should be: that is the answer.
      verdict_.given = true;
      Say(TwoLines(Plain("Nothing to mend in " + products->what), ": ", Plain(products->figure)));
      lede.Text("No steady step: figures are totals of the run. Run at least 20 steps.");
    } else {
      const auto steps = static_cast<int64_t>(view_.steps.all.size());
      Say(OneLine(
          Plain(steps == 0   ? "No verdict: no step was found, so nothing can be said per step."
                : steps == 1 ? "No verdict: one step was recorded, and it is not steady."
                             : fmt::format("No verdict: none of {} recorded steps is steady.",
                                           Thousands(steps)))));
      const bool noisy = steps >= kStepsAsked &&
                         std::any_of(view_.stats.begin(), view_.stats.end(), [](const auto& stat) {
                           return stat.name == "steps_do_not_agree";
                         });
      lede.Text(noisy ? "Their times do not agree: run on a quiet machine. "
                      : "Run at least 20 steps. ");
      lede.Text("All figures are totals of the whole run. ");
      if (view_.findings.empty()) {
        lede.Append(LargestOp());
      } else {
        lede.Append(Lede());
      }
    }
    if (view_.modules.empty() && view_.ops.empty() && !NothingIsXla()) {
      lede.Text(" The run holds no HLO: import again with ")
          .Code("--modules DIR")
          .Text(", where DIR is what XLA dumped in the same run.");
    }
    verdict_.lede = lede.Take();
  }

  // "matrix products", "790 TFLOP/s in 16 bits, 60% of the device's peak, 92% of busy time"; null
  // where they are not most of the time, or not judged.
  const RuledOutFigure* Products() const {
    if (view_.kinds.empty() || view_.kinds[0].name != "gemm" ||
        2 * view_.kinds[0].ns < view_.coverage.device_ns) {
      return nullptr;
    }
    for (const RuledOutFigure& row : view_.ruled_out) {
      if (row.id == "products" && row.verdict == "fine") return &row;
    }
    return nullptr;
  }

  // Kernels alone, and nothing that stands out.
  void SayWithoutModules() {
    if (NothingIsXla()) {
      if (view_.findings.empty()) {
        Say(
            OneLine(Plain("No verdict: nothing in this run is XLA's, so no kernel can be led back "
                          "to HLO.")));
        verdict_.lede = LargestKernel();
        return;
      }
      const Sentence largest = LargestKernel();
      const Sentence foreign =
          Plain("Nothing in this run is XLA's: no kernel can be led back to HLO.");
      Say({Builder().Append(largest).Text(" ").Append(foreign).Take(), largest, foreign});
      verdict_.lede = Lede();
      return;
    }
    Say(OneLine(Plain(
        "No verdict: the run holds no HLO module, so no kernel can be led back to the model.")));
    verdict_.lede = Builder()
                        .Append(LargestKernel())
                        .Text(" Import again with ")
                        .Code("--modules DIR")
                        .Text(", where DIR is what XLA dumped in the same run.")
                        .Take();
  }

  // The first thing to do, where its rule says in words what is so, and it is a tenth of the whole.
  const FindingFigure* FirstWithSentence() const {
    for (const FindingFigure& finding : view_.findings) {
      if (!finding.saves_high_ns) continue;  // About the data.
      if (finding.sentence.empty()) return nullptr;
      const double whole = view_.basis.steady ? view_.PerStep(view_.steps.wall_ns)
                                              : view_.PerStep(view_.coverage.device_ns) /
                                                    std::max<double>(1, Workers());
      return 100 * static_cast<double>(*finding.saves_high_ns) >= kWorthSaying * whole ? &finding
                                                                                       : nullptr;
    }
    return nullptr;
  }

  // All that is idle, before a sentence that speaks of one cause of it, or of less than it is: "The
  // device is idle for 55.2% of the step, 338 of 611 ms: the host calls too late 177 ms, not known
  // 156 ms, other causes 4.17 ms". Nothing where one cause is nearly all of it, or something else
  // is more.
  std::optional<Said> AllIdle(const FindingFigure& finding) const {
    constexpr double kNearlyAll = 90;
    constexpr size_t kMostCauses = 2;
    int64_t idle = 0;
    for (const GapFigure& gap : view_.gaps) idle += gap.ns;
    if (view_.basis.steady) {
      idle = std::max(idle, view_.step_parts[static_cast<size_t>(StepPart::kIdle)]);
    }
    if (view_.gaps.size() < 2 || OnCpuOnly() || PercentOf(view_.gaps[0].ns, idle) >= kNearlyAll) {
      return std::nullopt;
    }
    const bool most = view_.basis.steady && LargestPart(view_) == StepPart::kIdle &&
                      PercentOf(idle, view_.steps.wall_ns) >= kOnePart;
    if (!IsOfIdle(finding) && !most) return std::nullopt;
    const double ns = view_.PerStep(idle);
    const std::string what =
        view_.basis.steady
            ? fmt::format("The device is idle for {} of the step, {} of {}",
                          About(idle, view_.steps.wall_ns),
                          InUnitOf(ns, view_.PerStep(view_.steps.wall_ns)),
                          Duration(view_.PerStep(view_.steps.wall_ns)))
            : fmt::format("{} idle for {} of the run",
                          Workers() > 1 ? "The devices together are" : "The device is",
                          Duration(ns));
    const std::string_view first = CauseWords(view_.gaps[0].cause);
    std::string causes = " " + Duration(view_.PerStep(view_.gaps[0].ns));
    int64_t told = view_.gaps[0].ns;
    for (size_t i = 1; i < std::min(kMostCauses, view_.gaps.size()); ++i) {
      const GapFigure& gap = view_.gaps[i];
      causes += fmt::format(", {} {}", CauseWords(gap.cause), Duration(view_.PerStep(gap.ns)));
      told += gap.ns;
    }
    const double rest = view_.PerStep(idle - told);
    if (rest >= 0.005 * ns) causes += fmt::format(", other causes {}", Duration(rest));
    return Said{Plain(fmt::format("{}: {}{}.", what, first, causes)), Plain(what + "."),
                Plain(Capitalised(first) + causes + ".")};
  }

  static bool IsOfIdle(const FindingFigure& finding) {
    return finding.headline.starts_with("The device is idle");
  }

  // The finding's sentence; where it is one of several causes of idle time, all of that instead,
  // and where it is less than what is idle, what is slow after that.
  Said OfFinding(const FindingFigure& finding, bool begins) const {
    std::optional<Said> idle = AllIdle(finding);
    if (!idle) {
      // What does not fit two lines of 80 columns gives way to what is slow.
      const bool fits = finding.sentence.size() <= kTwoLines;
      const std::string sentence = (fits ? finding.sentence : finding.headline) + ".";
      return {Plain(begins ? sentence : BehindColon(sentence)), Plain(finding.headline + "."),
              fits && !finding.reason.empty() ? Plain(finding.reason + ".") : Sentence()};
    }
    if (!IsOfIdle(finding)) {
      const Sentence more = Plain(" " + finding.headline + ".");
      idle->sentence = Builder().Append(idle->sentence).Append(more).Take();
      idle->reason = Builder().Append(idle->reason).Append(more).Take();
    }
    return *std::move(idle);
  }

  // Devices with work; of what a node has, some may have had none.
  double Workers() const {
    int64_t worked = 0;
    for (const DeviceFigure& device : view_.devices) worked += device.worked;
    return static_cast<double>(std::max<int64_t>(worked, 1));
  }

  // "The largest op, `x` (gemm in mlp, a.py:3), is 3.1% of device time."
  Sentence LargestOp() {
    const FoldedOp* op = TopOp();
    if (op == nullptr) return LargestKernel();
    return Builder()
        .Text("The largest op, ")
        .Append(NameOf(*op))
        .Text(fmt::format(", is {} of device time.", About(op->ns, view_.coverage.device_ns)))
        .Take();
  }

  Sentence LargestKernel() const {
    if (view_.kernels.empty() || view_.kernels[0].name.empty()) {
      return {{"No instruction could be named.", false}};
    }
    const NamedFigure& kernel = view_.kernels[0];
    const std::string share =
        fmt::format(" {} of device time.", About(kernel.ns, view_.coverage.device_ns));
    // Copies are no kernels.
    if (kernel.name.starts_with("Mem"))
      return Builder().Code(kernel.name).Text(" is" + share).Take();
    return Builder().Text("The largest kernel, ").Code(kernel.name).Text(", is" + share).Take();
  }

  void SayOfSteps() {
    verdict_.given = true;
    const Coverage& coverage = view_.coverage;
    const int64_t attributed = coverage.device_ns - coverage.none_ns;
    const bool partly =
        attributed > 0 && PercentOf(attributed, coverage.device_ns) < kAttributedEnough;
    if (partly) {
      const std::string of = fmt::format("Of the {} of device time that could be attributed",
                                         About(attributed, coverage.device_ns));
      Say({Builder().Text(of + ": ").Append(OfSteps(partly, false).sentence).Take(),
           Plain(of + "."), OfSteps(partly, true).sentence});
    } else {
      Say(OfSteps(partly, true));
    }
    verdict_.lede = Lede();
  }

  // `begins`: it is a sentence of its own, not what follows a colon.
  Said OfSteps(bool partly, bool begins) {
    const Coverage& coverage = view_.coverage;
    const StepPart part = LargestPart(view_);
    const int64_t part_ns = view_.step_parts[static_cast<size_t>(part)];
    const FoldedOp* op = TopOp();
    const int64_t whole = partly ? coverage.device_ns - coverage.none_ns : coverage.device_ns;
    const FindingFigure* finding = FirstWithSentence();
    if (finding != nullptr && (finding->confidence != "low" || ops_.empty())) {
      for (const FoldedOp& fold : ops_) {
        if (fold.op->instruction == finding->where_op) verdict_.op_handle = fold.op->handle;
        if (!verdict_.op_handle.empty()) break;
      }
      return OfFinding(*finding, begins);
    }
    if (op != nullptr && PercentOf(op->ns, whole) >= kOneOp &&
        !(part == StepPart::kIdle && PercentOf(part_ns, view_.steps.wall_ns) >= kOnePart)) {
      return OfOp(*op, whole, partly, begins);
    }
    if (PercentOf(part_ns, view_.steps.wall_ns) >= kOnePart) return OfPart(part, part_ns, begins);
    if (op == nullptr) {
      return OneLine(
          Plain(begins ? "No instruction could be named." : "no instruction could be named."));
    }
    const Sentence what = Plain(begins ? "No single bottleneck." : "no single bottleneck.");
    const Sentence why = LargestOp();
    return {Builder().Append(what).Text(" ").Append(why).Take(), what, why};
  }

  Said OfOp(const FoldedOp& op, int64_t whole, bool partly, bool begins) {
    const std::string share = About(op.ns, whole);
    const std::string_view of = partly ? "it" : "device time";
    const std::string what =
        op.copies > 1
            ? fmt::format("{} alike instructions are {} of {}", op.copies, share, of)
            : fmt::format("{} instruction is {} of {}", begins ? "One" : "one", share, of);
    const Sentence why = Builder()
                             .Append(NameOf(op))
                             .Text(fmt::format(" {} {} of {}{}", op.copies > 1 ? "take" : "takes",
                                               InUnitOf(view_.PerStep(op.ns),
                                                        view_.PerStep(view_.coverage.device_ns)),
                                               OfDeviceTime(view_), PerStepWords(view_)))
                             .Take();
    return TwoLines(Plain(what), ": ", why);
  }

  Said OfPart(StepPart part, int64_t part_ns, bool begins) {
    const std::string share = About(part_ns, view_.steps.wall_ns);
    const std::string of_step = fmt::format(
        "{} of {}", InUnitOf(view_.PerStep(part_ns), view_.PerStep(view_.steps.wall_ns)),
        Duration(view_.PerStep(view_.steps.wall_ns)));
    if (part == StepPart::kIdle) {
      idle_is_the_answer_ = true;
      // What a CPU's profile shows is what XLA runs; the host is not idle meanwhile.
      const std::string_view none = OnCpuOnly() ? begins ? "No op of XLA runs" : "no op of XLA runs"
                                    : begins    ? "The device is idle"
                                                : "the device is idle";
      return TwoLines(Plain(fmt::format("{} for {} of the step", none, share)), ": ",
                      Plain(of_step));
    }
    const Sentence largest = LargestOf(part);
    if (part == StepPart::kExposedCollective || part == StepPart::kExposedCopy) {
      const Sentence what =
          Plain(fmt::format("{} of the step is {} that nothing hides", share,
                            part == StepPart::kExposedCopy ? "copying" : "communication"));
      if (largest.empty()) return TwoLines(what, ": ", Plain(of_step));
      return TwoLines(what, ": ", Builder().Text(of_step + ". ").Append(largest).Take());
    }
    const Sentence what = Plain(
        part == StepPart::kUnknown || part == StepPart::kOther
            ? fmt::format("{} of the step ({}) has no known phase", share, of_step)
            : fmt::format("{} is {} of the step ({})", Capitalised(Text(part)), share, of_step));
    if (largest.empty()) return OneLine(Builder().Append(what).Text(".").Take());
    return TwoLines(what, ". ", largest);
  }

  // "Its largest op, `x` (gemm in mlp, a.py:3), is 3.1% of device time; action 1 saves 2.4% of the
  // step"; empty where no op is known of it.
  Sentence LargestOf(StepPart part) {
    const FoldedOp* op = TopOpOf(part);
    if (op == nullptr) return {};
    const bool phase = part != StepPart::kExposedCollective && part != StepPart::kExposedCopy;
    constexpr size_t kOneLine = 140;  // Of the page.
    Builder largest;
    largest.Text(phase ? "Its largest op, " : "The largest such op, ")
        .Append(NameOf(*op))
        .Text(fmt::format(", is {} of device time", About(op->ns, view_.coverage.device_ns)));
    // What is largest need not be what can be done first.
    const FindingFigure* first = view_.findings.empty() ? nullptr : &view_.findings[0];
    Sentence sentence = largest.Take();
    if (first == nullptr || first->saves_high_ns.value_or(0) <= 0 || first->of_run) {
      return sentence;
    }
    const std::string saves = fmt::format(
        "; action 1 saves {}{}% of the step", first->replayed() ? "" : "at most ",
        Percent(static_cast<double>(*first->saves_high_ns), view_.PerStep(view_.steps.wall_ns)));
    const size_t length = PlainText(sentence).size() + (phase ? 0 : 1) + saves.size();
    if (length >= kOneLine) return sentence;
    return Builder().Append(sentence).Text(saves).Take();
  }

  bool OnCpuOnly() const {
    return !view_.devices.empty() &&
           std::all_of(view_.devices.begin(), view_.devices.end(),
                       [](const DeviceFigure& device) { return device.kind == "cpu"; });
  }

  // Ops are by time, so the first that fits is the largest.
  const FoldedOp* TopOpOf(StepPart part) const {
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

  // The first finding, else what kind of work and which layer it is; always facts of this run.
  Sentence Lede() {
    Builder lede;
    if (!view_.findings.empty()) {
      const FindingFigure& finding = view_.findings[0];
      const std::string title = BehindColon(finding.title);
      lede.Text("First: " + title);
      if (finding.saves_high_ns) {
        // Titles that name the time save it at most.
        const std::string saves = Duration(static_cast<double>(*finding.saves_high_ns));
        if (title.find(saves) == std::string::npos) {
          lede.Text(fmt::format(", which saves {}{}{}", finding.replayed() ? "" : "at most ", saves,
                                finding.of_run ? " of the run" : " per step"));
        }
      }
      return lede.Text(".").Take();
    }
    const int64_t whole = view_.coverage.device_ns;
    if (!view_.kinds.empty()) {
      const NamedFigure& kind = view_.kinds[0];
      lede.Text(fmt::format("{} is {} of device time", Capitalised(KindWords(kind.name)),
                            About(kind.ns, whole)));
      if (!view_.layers.empty() && !view_.layers[0].name.empty()) {
        lede.Text(", ")
            .Code(view_.layers[0].name)
            .Text(fmt::format(" {}", About(view_.layers[0].ns, whole)));
      }
      lede.Text(". ");
    }
    if (idle_is_the_answer_) {
      AppendGaps(lede);
    } else if (view_.has_step_parts) {
      const int64_t idle = view_.step_parts[static_cast<size_t>(StepPart::kIdle)];
      lede.Text(fmt::format("{} for {} of the step.",
                            OnCpuOnly() ? "No op of XLA runs" : "The device is idle",
                            About(idle, view_.steps.wall_ns)));
    }
    return lede.Take();
  }

  // "Idle time by cause: the host calls too late 1.44 ms, a copy is waited for 20 us."
  void AppendGaps(Builder& lede) const {
    bool first = true;
    for (const GapFigure& gap : view_.gaps) {
      lede.Text(fmt::format("{}{} {}", first ? "Idle time by cause: " : ", ", CauseWords(gap.cause),
                            Duration(view_.PerStep(gap.ns))));
      first = false;
    }
    if (!first) lede.Text(".");
  }

  void NotKnown() {
    const auto add = [this](std::string text) {
      verdict_.not_known.push_back({{std::move(text), false}});
    };
    if (view_.OnFakeGpu()) {
      add("recorded on the fake GPU of xlatrace's tests: no time here is a real device's");
    }
    if (view_.IsPartial()) {
      add("the program was still running: the same command again takes in what has come since");
    }
    const Coverage& coverage = view_.coverage;
    const std::string_view per_step = PerStepWords(view_);
    for (size_t i = 0; i < std::min(kMostReasons, coverage.reasons.size()); ++i) {
      const ReasonFigure& reason = coverage.reasons[i];
      if (reason.ns == 0) continue;
      add(fmt::format(
          "{}{} ({}%) has no instruction: {}", Duration(view_.PerStep(reason.ns)), per_step,
          Percent(static_cast<double>(reason.ns), static_cast<double>(coverage.device_ns)),
          ReasonWords(reason.reason)));
    }
    constexpr auto kUnknown = static_cast<size_t>(model::Phase::kUnknown);
    const int64_t unknown = view_.phases[kUnknown] - view_.none_phases[kUnknown];
    if (unknown > 0) {
      add(fmt::format("{}{} has an instruction, but its phase is not known",
                      Duration(view_.PerStep(unknown)), per_step));
    }
    if (view_.phases_estimated_ns > 0) {
      add(fmt::format("{}{} is split between phases by estimate (fusions that mix them)",
                      Duration(view_.PerStep(view_.phases_estimated_ns)), per_step));
    }
    if (view_.basis.steady && view_.steps.steady_count < kEnoughSteps) {
      add(fmt::format("Only {} steady {}: the range is min to max, not percentiles",
                      view_.steps.steady_count, view_.steps.steady_count == 1 ? "step" : "steps"));
    }
  }

  const RunView& view_;
  std::vector<FoldedOp> ops_;
  bool idle_is_the_answer_ = false;
  Verdict verdict_;
};

}  // namespace

Verdict MakeVerdict(const RunView& view) { return VerdictMaker(view).Make(); }

std::string PlainText(const Sentence& sentence) {
  std::string text;
  for (const Piece& piece : sentence) text += piece.text;
  return text;
}

std::string AttributedPercent(const Coverage& coverage) {
  const int64_t attributed = coverage.device_ns - coverage.none_ns;
  // Never rounded up to 100: what is missing, however little, shows.
  if (coverage.none_ns > 0 && PercentOf(attributed, coverage.device_ns) >= 99.95) return "99.9";
  return Percent(static_cast<double>(attributed), static_cast<double>(coverage.device_ns));
}

}  // namespace xlatrace::report
