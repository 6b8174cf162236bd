// SPDX-License-Identifier: Apache-2.0
#include "report/view_figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

constexpr double kTooShortGapsPct = 80;
constexpr double kLaunchedGapsPct = 75;  // Share of these gaps from which shorter ones are not
                                         // named.
constexpr double kMinShownWaitPct = 5;

}  // namespace

double PercentOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string About(int64_t part, int64_t whole) {
  if (PercentOf(part, whole) >= 99.95 && part < whole) return "over 99.9%";
  return ShareText(static_cast<double>(part), static_cast<double>(whole)) + "%";
}

std::string Capitalised(std::string_view word) {
  std::string text(word);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string_view PerStepWords(const RunView& view) {
  return view.basis.steady     ? " per step"
         : view.StepsAreJobs() ? " in the launches of this file"
                               : " in the whole run";
}

bool OnCpuOnly(const RunView& view) {
  return !view.devices.empty() &&
         std::all_of(view.devices.begin(), view.devices.end(),
                     [](const DeviceFigure& device) { return device.kind == "cpu"; });
}

int64_t Workers(const RunView& view) {
  int64_t worked = 0;
  for (const DeviceFigure& device : view.devices) worked += device.worked;
  return std::max<int64_t>(worked, 1);
}

std::string OfRunWords(int64_t devices) {
  return devices > 1 ? fmt::format("of {} devices' time", Thousands(devices)) : "of the run";
}

bool NothingIsXla(const RunView& view) {
  const auto& reasons = view.run_coverage.reasons;
  const auto foreign = [](const ReasonFigure& r) {
    return r.reason == "not_xla" || r.reason == "eager";
  };
  // A run that has only copies and memsets has no HLO, either.
  return !reasons.empty() &&
         std::all_of(reasons.begin(), reasons.end(), [&](const ReasonFigure& r) {
           return r.ns == 0 || foreign(r) || r.reason == "transfer";
         });
}

std::string IdleCauseWords(const GapFigure& gap) {
  std::string words(CauseWords(gap.cause));
  if (PercentOf(gap.short_ns, gap.ns) >= kTooShortGapsPct) {
    words += " (gaps under 5 us, too short to judge)";
  } else if (PercentOf(gap.launched_ns, gap.ns) >= kLaunchedGapsPct) {
    words += " (launched in time)";
  }
  return words;
}

WaitFigure WaitsOf(const RunView& view) {
  WaitFigure waits;
  int64_t copies = 0;
  int64_t collectives = 0;
  for (const OpFigure& op : view.ops) {
    if (!op.category.ends_with("-done")) continue;
    waits.ns += op.ns;
    if (op.op_kind == "copy") copies += op.ns;
    if (op.op_kind == "collective") collectives += op.ns;
  }
  // Lines of a device wait side by side; what is busy is their union.
  waits.ns = std::min(waits.ns, view.steps.busy_ns);
  waits.what = 2 * copies > waits.ns        ? "copies"
               : 2 * collectives > waits.ns ? "collectives"
                                            : "async ops";
  return waits;
}

std::string BusyWaitWords(const RunView& view) {
  const WaitFigure waits = WaitsOf(view);
  if (PercentOf(waits.ns, view.steps.busy_ns) < kMinShownWaitPct) return {};
  return fmt::format("{} of it waiting for {}", About(waits.ns, view.steps.busy_ns), waits.what);
}

}  // namespace xlatrace::report
