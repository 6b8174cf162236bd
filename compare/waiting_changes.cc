// SPDX-License-Identifier: Apache-2.0
#include "compare/waiting_changes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "compare/repeated_work.h"
#include "model/gap_words.h"

namespace xlatrace::compare {
namespace {

using model::StepPart;

// Smaller changes, as a share of device and idle time, are not reported.
constexpr double kMinIdleShare = 0.02;
constexpr double kMinHostCallRatio = 1.2;  // Minimum factor of the median of a launch call.

// The words of findings, terminal and page.
std::string_view CauseWords(std::string_view cause) {
  const auto texts = model::Texts<model::GapCause>();
  const auto at = std::find(texts.begin(), texts.end(), cause);
  return at == texts.end() ? cause
                           : model::InWords(static_cast<model::GapCause>(at - texts.begin()));
}

int64_t NsOf(const std::vector<Gap>& gaps, std::string_view cause) {
  for (const Gap& gap : gaps) {
    if (gap.cause == cause) return gap.ns;
  }
  return 0;
}

// ": the host is late +34.9 ms, the host had waited for the device +13.3 ms": causes that are a
// good part of `delta`; empty if `delta` is not positive.
std::string GapsThatGrew(const Run& base, const Run& now, int64_t delta) {
  if (delta <= 0) return {};
  std::vector<std::pair<int64_t, std::string_view>> grew;
  for (const Gap& gap : now.gaps) {
    const int64_t more = gap.ns - NsOf(base.gaps, gap.cause);
    if (more * 10 >= delta) grew.emplace_back(more, gap.cause);
  }
  std::stable_sort(grew.begin(), grew.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [more, cause] : grew) {
    text += fmt::format("{} {} +{}", text.empty() ? ":" : ",", CauseWords(cause),
                        Duration(static_cast<double>(more)));
  }
  return text;
}

// The cause whose gaps grew most; empty if none grew or the cause is not known.
std::string CauseOfMoreGaps(const Run& base, const Run& now) {
  const Gap* most = nullptr;
  int64_t most_ns = 0;
  for (const Gap& gap : now.gaps) {
    const int64_t more = gap.ns - NsOf(base.gaps, gap.cause);
    if (more <= most_ns) continue;
    most = &gap;
    most_ns = more;
  }
  return most == nullptr || most->cause == "unknown" ? std::string() : std::string(most->cause);
}

// "; each launch takes the host 1.49x as long (cudaLaunchKernel: 5.65 us -> 8.41 us)", if idle time
// changed in the same direction. After any wait, the following work is later, too.
std::string SlowerHost(const Run& base, const Run& now, bool more_idle) {
  if (!HostCallsChanged(base, now, more_idle)) return {};
  const double ratio =
      static_cast<double>(now.launch_call_ns) / static_cast<double>(base.launch_call_ns);
  return fmt::format("; each launch takes the host {}x as long ({}: {} -> {})", Significant(ratio),
                     base.launch_call, Duration(static_cast<double>(base.launch_call_ns)),
                     Duration(static_cast<double>(now.launch_call_ns)));
}

// Without steps, idle time of whole recordings is compared if they are equally long.
std::optional<Change> IdleOfWhole(const Run& base, const Run& now) {
  if (!SameSpan(base, now)) return std::nullopt;
  const auto idle = [](const Run& run) {
    int64_t sum = 0;
    for (const Gap& gap : run.gaps) sum += gap.ns;
    return sum;
  };
  const int64_t before = idle(base), after = idle(now);
  const int64_t delta = after - before;
  if (static_cast<double>(std::abs(delta)) <
      kMinIdleShare * static_cast<double>(base.device_ns + before)) {
    return std::nullopt;
  }
  Change change;
  change.id = "idle";
  change.wall = true;
  change.certain = false;
  change.delta_ns = delta;
  change.text =
      fmt::format("the devices together are idle for {} instead of {}{}{}",
                  Duration(static_cast<double>(after)), Duration(static_cast<double>(before)),
                  GapsThatGrew(base, now, delta), SlowerHost(base, now, delta > 0));
  return change;
}

int64_t PartNs(const Run& run, StepPart part) { return run.parts[static_cast<size_t>(part)]; }

// Launches that CUDA graphs no longer contain, or newly contain.
std::optional<Change> Graphs(const Run& base, const Run& now) {
  if (!base.graph_share || !now.graph_share) return std::nullopt;
  const double a = *base.graph_share;
  const double b = *now.graph_share;
  if (std::abs(a - b) < 0.05) return std::nullopt;
  // Another mix of launches changes the share, too. Without a graph, the host has more calls.
  if (a > 0 && b > 0 && base.host_calls && now.host_calls &&
      (b < a ? *now.host_calls < 1.25 * *base.host_calls
             : *base.host_calls < 1.25 * *now.host_calls)) {
    return std::nullopt;
  }
  Change change;
  change.id = "graphs";
  change.wall = true;
  // Removed graphs make the device wait. A change in the other direction has another reason.
  const int64_t idle = PartNs(now, StepPart::kIdle) - PartNs(base, StepPart::kIdle);
  if ((b < a) == (idle > 0)) change.delta_ns = idle;
  const std::string_view what = b == 0   ? "CUDA graphs are gone"
                                : a == 0 ? "CUDA graphs appeared"
                                : b < a  ? "fewer launches are in CUDA graphs"
                                         : "more launches are in CUDA graphs";
  change.text = fmt::format("{}: {}% of the launches were in one, now {}%", what,
                            a == 0 ? "0" : Percent(a, 1), b == 0 ? "0" : Percent(b, 1));
  if (base.host_calls && now.host_calls) {
    change.text += fmt::format(", {} host calls a step instead of {}", Significant(*now.host_calls),
                               Significant(*base.host_calls));
  }
  return change;
}

// Changes of the waiting parts of a step.
void Parts(const Run& base, const Run& now, bool idle_is_told, std::vector<Change>* changes) {
  if (!base.has_parts || !now.has_parts) return;
  const auto add = [&](StepPart part, std::string id, std::string text) {
    const int64_t delta = PartNs(now, part) - PartNs(base, part);
    if (delta == 0) return;
    Change change;
    change.id = std::move(id);
    change.wall = true;
    change.certain = false;
    change.delta_ns = delta;
    change.text = std::move(text);
    changes->push_back(std::move(change));
  };
  const auto both = [&](StepPart part) {
    return fmt::format("{} -> {} a step", Duration(static_cast<double>(PartNs(base, part))),
                       Duration(static_cast<double>(PartNs(now, part))));
  };
  if (!idle_is_told) {
    const bool more = PartNs(now, StepPart::kIdle) > PartNs(base, StepPart::kIdle);
    const std::string why = more ? CauseOfMoreGaps(base, now) : std::string();
    const std::string cause =
        why.empty() ? std::string() : fmt::format(", mostly because {}", CauseWords(why));
    add(StepPart::kIdle, "idle",
        fmt::format("the device {} ({}{}{})", more ? "waits longer" : "waits less",
                    both(StepPart::kIdle), cause, SlowerHost(base, now, more)));
  }
  const bool exposed =
      PartNs(now, StepPart::kExposedCollective) > PartNs(base, StepPart::kExposedCollective);
  add(StepPart::kExposedCollective, "exposed_collective",
      fmt::format("{} ({})",
                  exposed ? "communication is less hidden behind computation"
                          : "communication is better hidden behind computation",
                  both(StepPart::kExposedCollective)));
  const bool copies = PartNs(now, StepPart::kExposedCopy) > PartNs(base, StepPart::kExposedCopy);
  add(StepPart::kExposedCopy, "exposed_copy",
      fmt::format("{} ({})", copies ? "copies are less hidden" : "copies are better hidden",
                  both(StepPart::kExposedCopy)));
}

}  // namespace

bool HostCallsChanged(const Run& base, const Run& now, bool more_idle) {
  if (base.launch_call.empty() || base.launch_call != now.launch_call) return false;
  if (base.launch_call_ns <= 0 || now.launch_call_ns <= 0) return false;
  const double ratio =
      static_cast<double>(now.launch_call_ns) / static_cast<double>(base.launch_call_ns);
  return more_idle ? ratio >= kMinHostCallRatio : ratio <= 1 / kMinHostCallRatio;
}

std::vector<Change> WaitingChanges(const Run& base, const Run& now) {
  std::vector<Change> changes;
  if (base.steady && now.steady) {
    std::optional<Change> graphs = Graphs(base, now);
    // Graphs are the reason for the waiting if they have its time.
    Parts(base, now, graphs && graphs->delta_ns != 0, &changes);
    if (graphs) changes.insert(changes.begin(), *std::move(graphs));
  } else if (!base.steady && !now.steady) {
    if (std::optional<Change> idle = IdleOfWhole(base, now)) changes.push_back(*std::move(idle));
  }
  return changes;
}

}  // namespace xlatrace::compare
