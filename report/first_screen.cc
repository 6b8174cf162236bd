// SPDX-License-Identifier: Apache-2.0
#include "report/first_screen.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/html/html_parts.h"
#include "report/shown_words.h"
#include "report/trust.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

using model::Phase;
using model::StepPart;

// An op below this share of its peak is no reliable source of the peak.
constexpr double kMinReliablePeakPct = 1;

std::string PercentOf(int64_t part, int64_t whole) {
  return ShareText(static_cast<double>(part), static_cast<double>(whole)) + "%";
}

std::string GapWords(double count) {
  const std::string gaps = GapCount(count);
  return fmt::format("{} {} of 1 \u00b5s or more", gaps, gaps == "1" ? "gap" : "gaps");
}

bool IsMatrixWork(std::string_view kind) {
  return kind == "gemm" || kind == "convolution" || kind == "attention";
}

class FactMaker {
 public:
  explicit FactMaker(const RunView& view) : view_(view) {}

  std::vector<Fact> Make() {
    if (view_.basis.steady) {
      OfStep();
    } else {
      OfRun();
    }
    OfAttribution();
    return std::move(facts_);
  }

 private:
  void Add(std::string_view id, std::string label, std::string value, std::string note,
           std::optional<int64_t> ns = {}) {
    facts_.push_back({id, std::move(label), std::move(value), std::move(note), ns});
  }

  int64_t Part(StepPart part) const { return view_.step_parts[static_cast<size_t>(part)]; }
  // Formatted like columns of ms, so that a sum has the same digits everywhere.
  std::string PerStep(int64_t ns) const { return HtmlMilliseconds(view_.PerStep(ns)); }

  void OfAttribution() {
    const Coverage& coverage = view_.coverage;
    const Attributed words = AttributedWords(view_);
    if (words.foreign) return Add("attributed", "Attributed", "none", words.text, 0);
    std::string exact = PercentOf(coverage.exact_ns, coverage.device_ns) + " by exact evidence";
    if (const std::string recording = AttributedOfRecording(view_); !recording.empty()) {
      exact += "; " + recording + "% of the whole recording";
    }
    Add("attributed", "Attributed", AttributedPercent(coverage) + "%", std::move(exact),
        coverage.device_ns - coverage.none_ns);
  }

  void OfStep() {
    const StepsFigure& steps = view_.steps;
    const auto low = static_cast<double>(steps.p25_ns);
    const std::string high = HtmlMilliseconds(static_cast<double>(steps.p75_ns));
    std::string of = Thousands(steps.steady_count) + " steps";
    if (Workers(view_) > 1) of += fmt::format(" of {} devices", Thousands(Workers(view_)));
    if (HtmlMilliseconds(low) != high) {
      of = fmt::format("half of {}: {} to {}", of,
                       high.ends_with(" ms") ? Milliseconds(low) : HtmlMilliseconds(low), high);
    }
    // The sentence of a merged job is about another step than the mean of the steps in this file.
    if (view_.job.HasSteps()) {
      of += fmt::format("; the slowest rank\u2019s, median: {}",
                        HtmlMilliseconds(static_cast<double>(view_.job.step_ns)));
    }
    Add("step", "Step", HtmlMilliseconds(static_cast<double>(steps.typical_ns)), std::move(of),
        steps.typical_ns);
    const int64_t idle = Part(StepPart::kIdle);
    std::string note = idle > 0 ? fmt::format("idle {} a step", PerStep(idle)) : "never idle";
    if (idle > 0 && view_.gap_count > 0) {
      note += ", " + GapWords(view_.PerStep(view_.gap_count));
    }
    if (const std::string waits = BusyWaitWords(view_); !waits.empty()) note = waits + "; " + note;
    Add("busy", OnGpu() ? "GPU busy" : "Device busy", PercentOf(steps.busy_ns, steps.wall_ns),
        std::move(note), steps.busy_ns);
    Ratio(Part(StepPart::kForward), Part(StepPart::kBackward), Part(StepPart::kRecompute));
    if (const auto rate = FlopRateOf(view_)) {
      Add("flop-rate", "FLOP rate", ShareText(rate->flop_per_s, rate->peak_flop_per_s) + "%",
          fmt::format("{} of {}, {}", FlopRate(rate->flop_per_s), FlopRate(rate->peak_flop_per_s),
                      rate->type));
    }
  }

  // For a merged job without steps in this file, the step is that of all ranks.
  void OfJob() {
    const JobFigure& job = view_.job;
    Add("step", "Step of the job", HtmlMilliseconds(static_cast<double>(job.step_ns)),
        job.steps == 1 ? fmt::format("one step of {}", RankWords(job))
                       : fmt::format("median of {} steps of {}, {} to {}", Thousands(job.steps),
                                     RankWords(job), Milliseconds(static_cast<double>(job.min_ns)),
                                     HtmlMilliseconds(static_cast<double>(job.max_ns))),
        job.step_ns);
    Add("device", "Device time", PerStep(view_.coverage.device_ns),
        fmt::format("in all, of the launches of {} in this file", KeptWords(job)),
        view_.coverage.device_ns);
  }

  void OfRun() {
    if (view_.StepsAreJobs()) {
      OfJob();
    } else {
      Add("step", "Device time", PerStep(view_.coverage.device_ns),
          view_.span.longest_ns > 0
              ? fmt::format("whole run of {}: no typical step",
                            HtmlMilliseconds(static_cast<double>(view_.span.longest_ns)))
              : "whole run: no typical step",
          view_.coverage.device_ns);
    }
    int64_t idle = 0;
    for (const GapFigure& gap : view_.gaps) idle += gap.ns;
    if (idle > 0) {
      Add("idle", "Idle", PerStep(idle),
          fmt::format("{}in {}{}",
                      view_.span.wall_ns > 0 ? ShareText(static_cast<double>(idle),
                                                         static_cast<double>(view_.span.wall_ns)) +
                                                   "%, "
                                             : std::string(),
                      GapWords(static_cast<double>(view_.gap_count)),
                      view_.device_count > 1 ? ", all devices together" : ""),
          idle);
    }
    const auto phase = [&](Phase p) { return view_.phases[static_cast<size_t>(p)]; };
    Ratio(phase(Phase::kForward), phase(Phase::kBackward), phase(Phase::kRecompute));
    Add("activities", "Activities", Thousands(view_.coverage.activities), "launches, ops, copies");
  }

  // Backward runs about two products for each product of forward, and the recomputed products. If
  // all of forward is recomputed, the ratio is three.
  void Ratio(int64_t forward, int64_t backward, int64_t recompute) {
    int64_t products_ns = 0;
    for (const NamedFigure& kind : view_.kinds) {
      if (kind.name == "gemm" || kind.name == "convolution") products_ns += kind.ns;
    }
    // Elsewhere nothing is usual: a scan, a sort or a gather has another gradient.
    const bool usual = 2 * products_ns >= view_.coverage.device_ns;
    const bool unseen =
        std::any_of(view_.findings.begin(), view_.findings.end(),
                    [](const FindingFigure& finding) { return finding.id == "hidden_products"; });
    if (forward > 0 && backward + recompute > 0) {
      Add("ratio", "Backward / forward",
          Significant(static_cast<double>(backward + recompute) / static_cast<double>(forward)) +
              "\u00d7",
          unseen ? std::string("without products that run unrecorded")
          : recompute > 0
              ? std::string("with recompute") +
                    (usual ? fmt::format("; about {:.1f} is usual",
                                         2 + std::min(1.0, static_cast<double>(recompute) /
                                                               static_cast<double>(forward)))
                           : std::string())
          : usual ? std::string("about 2 is usual")
                  : PerStep(backward) + " and " + PerStep(forward));
    } else if (!view_.kinds.empty()) {
      Add("kind", "Largest kind of work", KindWords(view_.kinds[0].name),
          PercentOf(view_.kinds[0].ns, view_.coverage.device_ns) + " of device time");
    }
  }

  bool OnGpu() const {
    return !view_.devices.empty() &&
           std::all_of(view_.devices.begin(), view_.devices.end(),
                       [](const DeviceFigure& device) { return device.kind == "gpu"; });
  }

  const RunView& view_;
  std::vector<Fact> facts_;
};

}  // namespace

std::vector<Fact> FirstFacts(const RunView& view) { return FactMaker(view).Make(); }

std::optional<FlopRateFigure> FlopRateOf(const RunView& view) {
  if (!view.basis.steady || view.steps.wall_ns <= 0) return {};
  double work = 0;
  std::map<std::string_view, double> by_type;
  for (const OpFigure& op : view.ops) {
    const double flop = op.flop_per_call * static_cast<double>(op.calls);
    work += flop;
    if (IsMatrixWork(op.op_kind) && !op.compute_type.empty()) by_type[op.compute_type] += flop;
  }
  const auto most =
      std::max_element(by_type.begin(), by_type.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == by_type.end() || work <= 0) return {};
  // The peak is the divisor of the analysis, computed from the op of this type with the largest
  // share.
  const OpFigure* told = nullptr;
  for (const OpFigure& op : view.ops) {
    if (op.compute_type != most->first || !IsMatrixWork(op.op_kind) || op.peak_flop_per_s <= 0 ||
        op.compute_pct < kMinReliablePeakPct) {
      continue;
    }
    if (told == nullptr || op.compute_pct > told->compute_pct) told = &op;
  }
  if (told == nullptr) return {};
  const double seconds = static_cast<double>(view.steps.wall_ns) / 1e9;
  return FlopRateFigure{work / seconds, told->peak_flop_per_s, std::string(most->first)};
}

}  // namespace xlatrace::report
