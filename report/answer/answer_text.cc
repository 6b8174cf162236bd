// SPDX-License-Identifier: Apache-2.0
#include "report/answer/answer_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/answer/part_words.h"
#include "report/shown_words.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

// A part is near its limit from this share of the limit on. Well-made kernels reach 0.9
// (docs/explanation/roofline.md); a tenth less allows for effects outside of the model.
constexpr double kMinNearLimitShare = 0.8;
// A smaller part is not named in addition.
constexpr double kMinInsideShare = 0.01;

Sentence CapitalisedSentence(Sentence sentence) {
  if (!sentence.empty() && !sentence[0].code) sentence[0].text = Capitalised(sentence[0].text);
  return sentence;
}

Sentence Joined(const Sentence& a, const Sentence& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  return SentenceBuilder().Append(a).Text(" ").Append(b).Take();
}

// "34.1 of 72.4 ms"
std::string PartOfWhole(int64_t part, int64_t whole) {
  const auto of = static_cast<double>(whole);
  return fmt::format("{} of {}", InUnitOf(static_cast<double>(part), of), Duration(of));
}

class AnswerWriter {
 public:
  explicit AnswerWriter(const RunView& view) : view_(view), answer_(view.answer) {}

  AnswerText Write() {
    if (answer_.run) WriteRun(*answer_.run);
    if (answer_.step) WriteStep(*answer_.step);
    text_.given = answer_.run || answer_.step;
    const bool unseen = (answer_.run && IsUnseen(answer_.run->descent)) ||
                        (answer_.step && IsUnseen(answer_.step->descent));
    if (unseen) text_.reason = Joined(text_.reason, Plain(HowToRecordTheHost()));
    if (!text_.given) WriteWithoutTree();
    if (text_.given && !view_.basis.steady && !view_.StepsAreJobs()) {
      text_.reason = Joined(text_.reason, Plain("The tables below show totals of the run."));
    }
    return std::move(text_);
  }

 private:
  // "Before the first step, compilation (`jit_step`) takes 25.0 of 38.8 s of the run (64.4%)."
  void WriteRun(const RunAnswer& run) {
    const Descent& descent = run.descent;
    std::string place;
    // The main part itself is no place: not "between steps, the time between steps".
    const TimePart& main = MainOf(descent);
    for (size_t i = 1; i < descent.path.size() && &descent.path[i] != &main; ++i) {
      const std::string_view here = PlaceInRun(descent.path[i].kind, answer_.step.has_value());
      if (!here.empty()) place = here;
    }
    SentenceBuilder sentence;
    if (!place.empty()) sentence.Text(place + ", ");
    AddMain(sentence, descent, "the run");
    text_.first = CapitalisedSentence(sentence.Take());
    text_.op_handle = descent.path.back().handle;
    const Sentence inside = Joined(Inside(descent), NoRemedy(descent));
    if (answer_.step) {
      text_.second = inside;
    } else {
      text_.reason = Joined(inside, Reason(descent, run.limit));
    }
  }

  // Time before the first step for which no finding has advice.
  Sentence NoRemedy(const Descent& descent) const {
    if (descent.path.size() < 2 || descent.path[1].kind != "startup" || descent.beside) return {};
    if (IsUnseen(descent)) return {};
    // The innermost part that the sentences name.
    const bool last = descent.path.size() > 2 || !descent.largest_inside;
    const TimePart& part = last ? descent.path.back() : *descent.largest_inside;
    const bool known = std::any_of(
        view_.findings.begin(), view_.findings.end(),
        [&](const FindingFigure& finding) { return finding.of_run && IsAbout(finding.id, part); });
    if (known) return {};
    return Plain(part.kind == "import" ? "No remedy is known for the import of installed packages."
                                       : "No remedy is known for this part.");
  }

  static bool IsAbout(std::string_view finding, const TimePart& part) {
    static constexpr std::array kCompileKinds = {"compile", "recompilation", "trace",   "lower",
                                                 "passes",  "codegen",       "autotune"};
    static constexpr std::array kCompileFindings = {"recompile", "slow_compile", "baked_constant",
                                                    "cache_miss", "autotuning"};
    const auto has = [](const auto& list, std::string_view text) {
      return std::find(list.begin(), list.end(), text) != list.end();
    };
    const bool about_compilation = has(kCompileFindings, finding);
    if (has(kCompileKinds, part.kind)) return about_compilation;
    if (part.kind == "import") return finding == "slow_import";
    if (part.kind == "backend_start") return finding == "context_start";
    return !about_compilation && finding != "slow_import" && finding != "context_start";
  }

  // "The backward pass takes 32.5 of 72.4 ms of a step (45.0%)."
  void WriteStep(const StepAnswer& step) {
    const Descent& descent = step.descent;
    SentenceBuilder sentence;
    AddMain(sentence, descent, HasContention(step) ? "a step's own time" : "a step");
    Sentence written = CapitalisedSentence(sentence.Take());
    if (text_.first.empty()) {
      text_.first = std::move(written);
    } else {
      // The parts inside the run's part precede the step.
      text_.second = Joined(text_.second, written);
    }
    if (!descent.path.back().handle.empty()) text_.op_handle = descent.path.back().handle;
    text_.reason = Joined(Joined(Inside(descent), Reason(descent, step.limit)), Range(step));
    text_.reason = Joined(text_.reason, Contention(step));
    if (answer_.late) text_.reason = Joined(LateRank(*answer_.late), text_.reason);
  }

  static bool HasContention(const StepAnswer& step) {
    return static_cast<double>(step.contention_ns) >=
           kMinInsideShare * static_cast<double>(step.typical_ns);
  }

  // "Other programs had the CPU for 23.1 of 60.8 ms of a step (38.0%)."
  static Sentence Contention(const StepAnswer& step) {
    if (!HasContention(step)) return {};
    return Plain(fmt::format("Other programs had the CPU for {} of a step ({}%).",
                             PartOfWhole(step.contention_ns, step.typical_ns),
                             Share(step.contention_ns, step.typical_ns)));
  }

  // "The other ranks wait for rank 3: its kernels take 4.10 ms longer. Without that a step would
  // take 53.7 ms."
  static Sentence LateRank(const LateRankAnswer& late) {
    const auto more = late.ranks > 1 ? fmt::format(" and {} more", late.ranks - 1) : std::string();
    return Plain(fmt::format(
        "The others wait for {}{}: {} longer in each step. Without that a step would be {} "
        "shorter.",
        late.name, more,
        fmt::format("its {} {}", late.work == "host" ? "host takes" : "kernels take",
                    Duration(static_cast<double>(late.excess_ns))),
        Duration(static_cast<double>(late.cost_ns))));
  }

  // "Half of the steps take 67.1 to 78.3 ms."; empty: they take about the same time.
  static Sentence Range(const StepAnswer& step) {
    const auto of = static_cast<double>(step.typical_ns);
    const std::string low = InUnitOf(static_cast<double>(step.low_ns), of);
    const std::string high = InUnitOf(static_cast<double>(step.high_ns), of);
    if (low == high) return {};
    const std::string unit = Duration(of).substr(Duration(of).rfind(' ') + 1);
    return Plain(fmt::format("Half of the steps take {} to {} {}.", low, high, unit));
  }

  PartPhrase Phrase(const TimePart& part) const { return PhraseOf(part, answer_.step.has_value()); }

  // "the backward pass takes 32.5 of 72.4 ms of a step (45.0%)."
  void AddMain(SentenceBuilder& sentence, const Descent& descent, std::string_view whole) const {
    const int64_t whole_ns = descent.path[0].ns;
    if (descent.path.size() == 1) {
      sentence.Text(fmt::format("{} takes {}. No part of it is larger than all others.", whole,
                                Duration(static_cast<double>(whole_ns))));
      return;
    }
    if (descent.beside && descent.path.size() == 2) {
      sentence.Text(fmt::format("two parts of {} of {} are about equal: ", whole,
                                Duration(static_cast<double>(whole_ns))));
      AddPair(sentence, descent);
      return;
    }
    const TimePart& main = MainOf(descent);
    const PartPhrase phrase = Phrase(main);
    sentence.Append(phrase.words);
    sentence.Text(fmt::format(" {} {} of {} ({}%).", phrase.plural ? "take" : "takes",
                              PartOfWhole(main.ns, whole_ns), whole, Share(main.ns, whole_ns)));
  }

  // The largest part of the part that the first sentence is about.
  Sentence Inside(const Descent& descent) const {
    const int64_t whole = descent.path[0].ns;
    const TimePart& main = MainOf(descent);
    SentenceBuilder sentence;
    if (descent.beside) {
      if (descent.path.size() == 2) return {};
      sentence.Text("Its two largest parts are about equal: ");
      AddPair(sentence, descent);
      return sentence.Take();
    }
    std::optional<TimePart> inside = descent.largest_inside;
    if (&main != &descent.path.back()) {
      inside = descent.path.back();
    } else if (main.kind == "computation") {
      inside = descent.largest_op;
    }
    if (!inside || static_cast<double>(inside->ns) < kMinInsideShare * static_cast<double>(whole)) {
      return {};
    }
    sentence.Text(Phrase(main).plural ? "Their largest part is " : "Its largest part is ");
    sentence.Append(Phrase(*inside).words);
    sentence.Text(fmt::format(", {} ({}%).", Duration(static_cast<double>(inside->ns)),
                              Share(inside->ns, whole)));
    return sentence.Take();
  }

  // "`dot.5` with 49.0 ms (49.0%) and `dot.7` with 47.0 ms (47.0%)."
  void AddPair(SentenceBuilder& sentence, const Descent& descent) const {
    AddFigure(sentence, descent.path.back(), descent.path[0].ns);
    sentence.Text(" and ");
    AddFigure(sentence, *descent.beside, descent.path[0].ns);
    sentence.Text(".");
  }

  void AddFigure(SentenceBuilder& sentence, const TimePart& part, int64_t whole) const {
    sentence.Append(Phrase(part).words)
        .Text(fmt::format(" with {} ({}%)", Duration(static_cast<double>(part.ns)),
                          Share(part.ns, whole)));
  }

  Sentence Reason(const Descent& descent, const std::optional<LimitFigure>& limit) const {
    const TimePart& part = descent.path.back();
    SentenceBuilder reason;
    if (limit) {
      AddLimit(reason, *limit);
    } else if (IsIdleKind(part.kind) && part.kind != "idle" && !descent.beside) {
      reason.Text(OnCpuOnly(view_) ? "No op runs meanwhile." : "The device is idle meanwhile.");
    }
    return reason.Take();
  }

  // True if the answer names time whose cause was not recorded.
  static bool IsUnseen(const Descent& descent) {
    const auto unseen = [](const TimePart& part) {
      return part.name == "nothing recorded" || part.kind == "unknown";
    };
    return unseen(descent.path.back()) ||
           (descent.largest_inside && unseen(*descent.largest_inside));
  }

  void AddLimit(SentenceBuilder& reason, const LimitFigure& limit) const {
    const std::string share = limit.of_limit < 0.01 ? std::string("less than 1%")
                                                    : fmt::format("{:.0f}%", 100 * limit.of_limit);
    if (limit.copies) {
      reason.Text(fmt::format("These copies move {}", ByteRate(limit.bytes_per_s)));
      if (limit.limit_bytes_per_s > 0) {
        reason.Text(fmt::format(", {} of what the link can carry", share));
      }
      reason.Text(".");
      return;
    }
    const std::string_view rate = limit.bound_by == "memory"    ? "memory bandwidth"
                                  : limit.bound_by == "compute" ? "arithmetic rate"
                                  : limit.bound_by == "network" ? "network rate"
                                                                : std::string_view();
    if (!rate.empty()) {
      reason.Text(fmt::format("It reaches {} of the achievable {}.", share, rate));
    } else if (2 * limit.of_limit < 1 && limit.of_limit > 0) {
      reason.Text(fmt::format("It takes {} times as long as its operations and bytes need.",
                              Thousands(std::llround(1 / limit.of_limit))));
    }
    if (limit.of_limit < kMinNearLimitShare) return;
    const FindingFigure* first = view_.findings.empty() ? nullptr : &view_.findings[0];
    if (first == nullptr || !first->saves_high_ns) return;
    reason.Text(fmt::format(" The largest saving is elsewhere: at most {} by action 1.",
                            Duration(static_cast<double>(*first->saves_high_ns))));
  }

  // A hint how the next recording can show the host's activity.
  std::string_view HowToRecordTheHost() const {
    if (view_.source == "nsys_sqlite") {
      return "To see the host, record with nsys profile --trace=cuda,nvtx,osrt "
             "--python-sampling=true.";
    }
    if (view_.source == "kineto") {
      return "To see the host, record ProfilerActivity.CPU and with_stack=True.";
    }
    if (view_.source == "xplane") {
      return "To see the host, record with python_tracer_level=1.";
    }
    return {};
  }

  void WriteWithoutTree() {
    if (view_.run_coverage.activities > 0) {
      text_.first = Plain("The largest part of the time is not known: this file has no time tree.");
      text_.reason = Plain("Import its recording again.");
      return;
    }
    text_.first = Plain("The run holds no device activity.");
    // The reason is a window that was never reached, or else the worst run stat. Without either, it
    // is the importer's reason for the missing activity.
    const StatFigure* worst = nullptr;
    for (const StatFigure& stat : view_.stats) {
      if (stat.name == "window_not_reached") {
        text_.reason = Plain(Capitalised(stat.advice) + ".");
        return;
      }
      const bool is_reason =
          stat.severity >= model::Severity::kDataLoss || stat.name == "no_device_activity";
      if (!is_reason || stat.advice.empty()) continue;
      if (worst == nullptr || stat.severity > worst->severity) worst = &stat;
    }
    text_.reason =
        Plain(worst != nullptr ? Capitalised(worst->advice) + "."
                               : "Record again while the program computes. xlatrace doctor lists "
                                 "what prevents a recording.");
  }

  static std::string Share(int64_t part, int64_t whole) {
    return ShareText(static_cast<double>(part), static_cast<double>(whole));
  }

  const RunView& view_;
  const Answer& answer_;
  AnswerText text_;
};

}  // namespace

Sentence AnswerText::All() const { return Joined(first, second); }
Sentence AnswerText::BelowFirst() const { return Joined(second, reason); }

AnswerText TextOf(const RunView& view) { return AnswerWriter(view).Write(); }

}  // namespace xlatrace::report
