// SPDX-License-Identifier: Apache-2.0
#include "report/verdict.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/trust.h"
#include "report/verdict_figures.h"
#include "report/verdict_lede.h"
#include "report/verdict_sentences.h"

namespace xlatrace::report {
namespace {

using model::StepPart;

constexpr double kOneOp = 25;      // From here on one instruction is the answer.
constexpr double kMostOfAll = 50;  // And from here on whatever else can be done.
constexpr double kFarMore = 3;     // Where it is so many times what the action saves.
constexpr int64_t kStepsAsked = 20;

class VerdictMaker {
 public:
  explicit VerdictMaker(const RunView& view) : view_(view), sentences_(view) {}

  Verdict Make() {
    if (!SaidWithoutSteps()) SayOfSteps();
    verdict_.not_known = NotKnown(view_);
    return std::move(verdict_);
  }

 private:
  void Say(Said said) {
    verdict_.sentence = std::move(said.sentence);
    verdict_.headline = std::move(said.headline);
    verdict_.reason = std::move(said.reason);
    verdict_.op_handle = std::move(said.op_handle);
  }

  bool HasNoHlo() const { return view_.modules.empty() && view_.ops.empty(); }

  // The largest op or kernel, where a verdict cannot be given.
  Sentence Largest() {
    if (const FoldedOp* op = sentences_.TopOp()) verdict_.op_handle = op->op->handle;
    return sentences_.LargestOp();
  }

  // What is said where steady steps cannot answer, be it a verdict or why there is none; false:
  // they can.
  bool SaidWithoutSteps() {
    if (view_.run_coverage.activities == 0) {
      SayNothingRan();
      return true;
    }
    const FindingFigure* finding = FirstWithSentence(view_);
    if (HasNoHlo() && finding == nullptr) {
      SayWithoutModules();
      return true;
    }
    if (!view_.basis.steady) {
      if (!SaidOfJob()) SayWholeRun(finding);
      return true;
    }
    // What is known to have been lost at some moment, no steady step touches.
    if (const int64_t lost = view_.losses.anywhere(); lost > 0) {
      Say(OneLine(Plain(
          fmt::format("No verdict: {} {} lost, so idle time cannot be told from missing data.",
                      Thousands(lost), lost == 1 ? "record was" : "records were"))));
      verdict_.lede = Largest();
      return true;
    }
    return false;
  }

  void SayNothingRan() {
    Say(OneLine(Plain("No verdict: the run holds no device activity.")));
    // A window that was never reached is the reason, else the worst run stat. Without any, the
    // importer's reason for the missing activity takes its place.
    const StatFigure* worst = nullptr;
    for (const StatFigure& stat : view_.stats) {
      if (stat.name == "window_not_reached") {
        verdict_.lede = Plain(Capitalised(stat.advice) + ".");
        return;
      }
      const bool is_reason =
          stat.severity >= model::Severity::kDataLoss || stat.name == "no_device_activity";
      if (!is_reason || stat.advice.empty()) continue;
      if (worst == nullptr || stat.severity > worst->severity) worst = &stat;
    }
    verdict_.lede =
        Plain(worst != nullptr ? Capitalised(worst->advice) + "."
                               : "Record again while the program computes; xlatrace doctor says "
                                 "what stands in the way.");
  }

  // Of a merged job whose kept launches have no step the ranks tell what a step goes to.
  bool SaidOfJob() {
    const std::string headline = view_.Info("job_headline"), why = view_.Info("job_reason");
    if (headline.empty() || view_.Info("job_cause") == "no_data") return false;
    verdict_.given = verdict_.of_job = true;
    Say({Plain("Job: " + view_.Info("job") + "."), Plain(headline + "."),
         why.empty() ? Sentence() : Plain(Capitalised(why) + ".")});
    verdict_.lede =
        SentenceBuilder()
            .Text(view_.job.HasSteps()
                      ? fmt::format("Launches of {} are in this file and have no steps of their "
                                    "own: figures of kernels, ops and phases are totals of them. ",
                                    KeptWords(view_.job))
                      : std::string("The launches in this file have no steps of their own: other "
                                    "figures are totals of the whole run. "))
            .Append(view_.findings.empty() ? Largest() : Lede(view_, false))
            .Take();
    return true;
  }

  // Totals of the run, and what stands out in them.
  void SayWholeRun(const FindingFigure* finding) {
    SentenceBuilder lede;
    if (finding != nullptr) {
      verdict_.given = true;
      Said said = sentences_.OfFinding(*finding);
      lede.Text(TotalsNote(view_, said.of_idle)).Append(Lede(view_, false));
      Say(std::move(said));
    } else if (const RuledOutFigure* products = ProductsThatAreFine(view_)) {
      // What most of the time goes to is as it should be: that is the answer.
      verdict_.given = true;
      Say({Plain(fmt::format("Nothing to mend in {}: {}.", products->what, products->figure)),
           Plain(fmt::format("Nothing to mend in {}.", products->what)),
           Plain(Capitalised(products->figure) + ".")});
      lede.Text(TotalsNote(view_, false));
      if (view_.findings.empty()) {
        lede.Text(Capitalised(view_.HowToGetSteps()) + ".");
      } else {
        lede.Append(Lede(view_, false));
      }
    } else {
      SayNoSteadyStep(lede);
    }
    if (HasNoHlo() && !NothingIsXla(view_)) {
      lede.Text(" The run holds no HLO: import again with ")
          .Code("--modules DIR")
          .Text(", where DIR is what XLA dumped in the same run.");
    }
    verdict_.lede = lede.Take();
  }

  void SayNoSteadyStep(SentenceBuilder& lede) {
    const auto steps = static_cast<int64_t>(view_.steps.all.size());
    if (view_.StepsAreJobs()) {
      Say(
          OneLine(Plain(fmt::format("No verdict: a step of the job takes {}; what it goes to "
                                    "cannot be told from the launches in this file.",
                                    Duration(static_cast<double>(view_.job.step_ns))))));
      lede.Text(TotalsNote(view_, true));
      lede.Append(view_.findings.empty() ? Largest() : Lede(view_, false));
      return;
    }
    Say(OneLine(Plain(steps == 0 ? "No verdict: no step was found, so nothing can be said per step."
                      : steps == 1 ? "No verdict: one step was recorded, and it is not steady."
                                   : fmt::format("No verdict: none of {} recorded steps is steady.",
                                                 Thousands(steps)))));
    const bool disagree = steps >= kStepsAsked &&
                          std::any_of(view_.stats.begin(), view_.stats.end(), [](const auto& stat) {
                            return stat.name == "steps_do_not_agree";
                          });
    lede.Text(fmt::format("{}{}. ", disagree ? "Their times do not agree. " : "",
                          Capitalised(view_.HowToGetSteps())));
    lede.Text("All figures are totals of the whole run. ");
    lede.Append(view_.findings.empty() ? Largest() : Lede(view_, false));
  }

  // Kernels alone, and nothing that stands out.
  void SayWithoutModules() {
    if (!NothingIsXla(view_)) {
      Say(OneLine(Plain(
          "No verdict: the run holds no HLO module, so no kernel can be led back to the model.")));
      verdict_.lede = SentenceBuilder()
                          .Append(sentences_.LargestKernel())
                          .Text(" Import again with ")
                          .Code("--modules DIR")
                          .Text(", where DIR is what XLA dumped in the same run.")
                          .Take();
      return;
    }
    if (view_.findings.empty()) {
      Say(
          OneLine(Plain("No verdict: nothing in this run is XLA's, so no kernel can be led back to "
                        "HLO.")));
      verdict_.lede = sentences_.LargestKernel();
      return;
    }
    const Sentence largest = sentences_.LargestKernel();
    const Sentence foreign =
        Plain("Nothing in this run is XLA's: no kernel can be led back to HLO.");
    Say({SentenceBuilder().Append(largest).Text(" ").Append(foreign).Take(), largest, foreign});
    verdict_.lede = Lede(view_, false);
  }

  void SayOfSteps() {
    verdict_.given = true;
    const Coverage& coverage = view_.coverage;
    const int64_t attributed = coverage.device_ns - coverage.none_ns;
    const bool partly = attributed > 0 && AttributedWords(view_).low;
    Said said = OfSteps(partly ? attributed : coverage.device_ns, partly);
    verdict_.lede = Lede(view_, said.of_idle);
    if (partly) {
      const Sentence first = Plain(fmt::format("Only {} of device time could be attributed.",
                                               About(attributed, coverage.device_ns)));
      said.reason = said.sentence;
      said.sentence = SentenceBuilder().Append(first).Text(" ").Append(said.sentence).Take();
      said.headline = first;
    }
    Say(std::move(said));
  }

  // `known_ns`: device time that shares are of.
  Said OfSteps(int64_t known_ns, bool partly) const {
    const StepPart part = LargestPart(view_);
    const double part_pct =
        PercentOf(view_.step_parts[static_cast<size_t>(part)], view_.steps.wall_ns);
    const FoldedOp* op = sentences_.TopOp();
    const FindingFigure* finding = FirstWithSentence(view_);
    if (finding != nullptr && (finding->confidence != "low" || op == nullptr) &&
        !OutweighedBy(op, *finding)) {
      return sentences_.OfFinding(*finding);
    }
    if (op != nullptr && PercentOf(op->ns, known_ns) >= kOneOp &&
        !(part == StepPart::kIdle && part_pct >= kOnePartPct)) {
      return sentences_.OfOp(*op, known_ns, partly);
    }
    return part_pct >= kOnePartPct ? sentences_.OfPart(part) : sentences_.NoBottleneck();
  }

  // One op is most of the step, and what can be done first is about something else that is far
  // less: then the op is what is slow, and the action stands below it.
  bool OutweighedBy(const FoldedOp* op, const FindingFigure& finding) const {
    if (op == nullptr || PercentOf(op->ns, view_.steps.wall_ns) < kMostOfAll) return false;
    return finding.where_op != op->op->instruction &&
           view_.PerStep(op->ns) >= kFarMore * static_cast<double>(*finding.saves_high_ns);
  }

  const RunView& view_;
  const VerdictSentences sentences_;
  Verdict verdict_;
};

}  // namespace

Verdict MakeVerdict(const RunView& view) { return VerdictMaker(view).Make(); }

}  // namespace xlatrace::report
