// SPDX-License-Identifier: Apache-2.0
#include "report/trust.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/shown_words.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

constexpr double kMinTrustedPct = 95;  // Share of device time; below it figures of ops cover only a
                                       // part.

double AttributedShare(const Coverage& coverage) {
  return PercentOf(coverage.device_ns - coverage.none_ns, coverage.device_ns);
}

bool IsForeign(const RunView& view) {
  return view.coverage.none_ns == view.coverage.device_ns && NothingIsXla(view);
}

// Whether the figures can be trusted, and the first reason why not.
std::string FirstDoubt(const RunView& view, bool foreign) {
  if (view.OnFakeGpu()) return "No: a fake GPU computes nothing, its times are meaningless.";
  if (view.lost > 0) {
    return fmt::format("With care: {} lost, so idle time may be missing data.",
                       Counted(view.lost, "record was", "records were"));
  }
  if (view.losses.may_lack()) return fmt::format("With care: lost {}.", view.losses.Text());
  if (view.StepsAreJobs()) {
    return fmt::format(
        "In part: steps are those of the job, {}; figures of kernels and ops are sums over the "
        "launches of {}.",
        RankWords(view.job), KeptWords(view.job));
  }
  if (!view.basis.steady) {
    return "In part: no step was steady, so figures are sums over the whole run.";
  }
  if (foreign) return {};
  if (AttributedShare(view.coverage) >= kMinTrustedPct) return {};
  return fmt::format("In part: {}% of device time has no instruction.",
                     ShareText(static_cast<double>(view.coverage.none_ns),
                               static_cast<double>(view.coverage.device_ns)));
}

}  // namespace

std::string AttributedPercent(const Coverage& coverage) {
  // Never rounded up to 100, so that a small part without instruction remains visible.
  if (coverage.none_ns > 0 && AttributedShare(coverage) >= 99.95) return "99.9";
  return ShareText(static_cast<double>(coverage.device_ns - coverage.none_ns),
                   static_cast<double>(coverage.device_ns));
}

std::string AttributedOfRecording(const RunView& view) {
  const bool alike =
      std::abs(AttributedShare(view.coverage) - AttributedShare(view.run_coverage)) < 1;
  if (!view.basis.steady || view.run_coverage.device_ns <= 0 || alike) return {};
  return AttributedPercent(view.run_coverage);
}

Attributed AttributedWords(const RunView& view) {
  const Coverage& coverage = view.coverage;
  if (coverage.device_ns <= 0) return {};
  if (IsForeign(view)) {
    return {"no kernel is XLA's", "", "there is no HLO that it could have an instruction of", true};
  }
  Attributed words;
  words.text = "attributed " + AttributedPercent(coverage) + "%";
  if (view.basis.steady) words.of = " of the steps";
  if (const std::string recording = AttributedOfRecording(view); !recording.empty()) {
    words.of += ", " + recording + "% of the recording";
  }
  words.why = "device time that has an instruction";
  words.low = AttributedShare(coverage) < kMinTrustedPct;
  return words;
}

std::string TrustText(const RunView& view) {
  if (view.run_coverage.activities == 0) return "There is nothing to trust: no device activity.";
  const Coverage& coverage = view.coverage;
  const bool foreign = IsForeign(view);
  std::string text = FirstDoubt(view, foreign);
  const bool yes = text.empty();
  if (yes) text = "Yes, for one run:";
  if (view.lost == 0 && !view.losses.may_lack())
    text += yes ? " nothing was lost," : " Nothing was lost,";
  if (foreign) {
    text +=
        " sums equal the device time to the nanosecond. No kernel is XLA's: names are those of "
        "kernels and of what launched them.";
  } else {
    text += fmt::format(
        " {}% of device time{} is attributed by exact evidence",
        ShareText(static_cast<double>(coverage.exact_ns), static_cast<double>(coverage.device_ns)),
        view.basis.steady ? " in the steps" : "");
    if (const std::string recording = AttributedOfRecording(view); !recording.empty()) {
      text += fmt::format(" (of the whole recording {}% by any)", recording);
    }
    text += ", and sums equal the device time to the nanosecond.";
  }
  if (view.basis.steady) {
    const int64_t steps = view.steps.steady_count;
    text += steps < kStepsForPercentiles
                ? fmt::format(" Ranges rest on {}.", Counted(steps, "step", "steps"))
                : fmt::format(" {} steady steps.", Thousands(steps));
  }
  if (view.errors > 0) text += fmt::format(" {} below.", Counted(view.errors, "error", "errors"));
  std::string missing;
  for (const std::string& sentence : view.losses.Sentences()) {
    missing += (missing.empty() ? " Missing: " : "; ") + sentence;
  }
  if (!missing.empty()) text += missing + ".";
  return text;
}

}  // namespace xlatrace::report
