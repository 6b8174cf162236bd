// SPDX-License-Identifier: Apache-2.0
#include "compare/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/number_format.h"
#include "compare/change_order.h"
#include "compare/run_record.h"

namespace xlatrace::compare {
namespace {

std::string Signed(double ns) {
  return fmt::format("{}{}", ns < 0 ? "-" : "+", Duration(std::abs(ns)));
}

std::string SignedPercent(double part, double whole) {
  return whole == 0 ? "0%" : WithSign(part, Percent(std::abs(part), whole) + "%");
}

std::string Told(const Change& change) {
  std::string text = change.text;
  if (!change.where.empty()) text += fmt::format(" ({})", change.where);
  if (change.delta_ns == 0) return text;
  return fmt::format("{}, {}", text, Signed(static_cast<double>(change.delta_ns)));
}

double Deviation(const std::vector<int64_t>& steps) {
  if (steps.size() < 2) return 0;
  std::vector<double> values(steps.begin(), steps.end());
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::vector<std::vector<double>> StepsOf(const std::vector<const Run*>& runs) {
  std::vector<std::vector<double>> steps;
  for (const Run* run : runs) {
    if (!run->steps.empty()) steps.emplace_back(run->steps.begin(), run->steps.end());
  }
  return steps;
}

// The first change and one more. After a measured change, the weightiest certain one follows, which
// may be its reason. After a wait, which a busy host can cause, the weightiest change of executed
// work follows, in any direction. After a certain one, the next follows if it is a good part of the
// total. If no change has the direction of the total, the text states this before changes in the
// other direction.
std::string Reasons(const std::vector<Change>& changes, int64_t whole, bool equal) {
  if (changes.empty()) return {};
  const bool against = !equal && (whole > 0) != (changes[0].delta_ns > 0);
  std::vector<const Change*> told = {&changes[0]};
  const auto matters = [&](const Change& change) {
    return std::abs(change.delta_ns) * 20 >= std::abs(whole);
  };
  const Change* second = nullptr;
  for (size_t i = 1; i < changes.size(); ++i) {
    const Change& change = changes[i];
    if (changes[0].certain) {
      if (!matters(change)) continue;
      second = &change;
      break;
    }
    // A certain change without time is no reason, unless many rows follow from it.
    const bool moves = IsStructure(change) || std::abs(change.delta_ns) * 100 >= std::abs(whole);
    const bool candidate =
        (change.certain && moves) || (changes[0].wall && !change.wall && matters(change));
    if (candidate && (second == nullptr || WeightOf(change) > WeightOf(*second))) second = &change;
  }
  if (second == nullptr && changes.size() > 1 && matters(changes[1])) second = &changes[1];
  if (second != nullptr) told.push_back(second);
  std::string text =
      against ? "nothing that was recorded explains it; what is different: " : std::string();
  std::string because;
  for (const Change* change : told) {
    text += (change == told.front() ? "" : "; ") + Told(*change);
    if (because.empty()) because = change->because;
  }
  // Only possible: it differs, and can cause such changes.
  if (!because.empty()) text += fmt::format(" (possible reason: {})", because);
  return text;
}

// Smaller changes of the time between steady steps, as a share of the step, are not reported.
constexpr double kMinStopShare = 0.05;

std::string NoneOr(int64_t count) { return count == 0 ? "none" : Thousands(count); }

// "All steps average 68.4 ms -> 522 ms, +663%: train_step was compiled 3 times instead of once, 4
// not steady, none before": if this changed more than the steady steps.
std::string Stops(const Run& base, const Run& now) {
  if (base.amid_ns <= 0 || now.amid_ns <= 0) return {};
  const int64_t delta = (now.amid_ns - now.step_ns) - (base.amid_ns - base.step_ns);
  if (static_cast<double>(std::abs(delta)) < kMinStopShare * static_cast<double>(base.step_ns) ||
      std::abs(delta) < std::abs(now.step_ns - base.step_ns)) {
    return {};
  }
  std::string why;
  const auto times = [](int64_t count) {
    return count == 1 ? std::string("once") : fmt::format("{} times", count);
  };
  if (base.compilations && now.compilations && *base.compilations != *now.compilations &&
      (*now.compilations > *base.compilations) == (delta > 0)) {
    const auto main = std::find_if(
        now.modules.begin(), now.modules.end(),
        [](const Module& module) { return module.role == "main" && !module.function.empty(); });
    why = fmt::format("{} was compiled {} instead of {}, ",
                      main == now.modules.end() ? "the main program" : main->function,
                      times(*now.compilations), times(*base.compilations));
  }
  return fmt::format("All steps average {} -> {}, {}: {}{} not steady, {} before",
                     Duration(static_cast<double>(base.amid_ns)),
                     Duration(static_cast<double>(now.amid_ns)),
                     SignedPercent(static_cast<double>(now.amid_ns - base.amid_ns),
                                   static_cast<double>(base.amid_ns)),
                     why, NoneOr(now.unsteady_amid), NoneOr(base.unsteady_amid));
}

constexpr std::string_view kNoSteps =
    "Not established: without steady steps, all that the recordings hold is part of both times";

// For recordings without steps, with equal work at another pace. Their device time shows how much
// was done, not how fast.
void TellPace(const Pace& pace, const std::string& times, const std::vector<Change>& changes,
              Verdict* verdict) {
  const bool slower = pace.ratio < 1;
  // Without decimals, because the borders of the recordings cause a larger error.
  const double longer = 100 * std::abs(1 / pace.ratio - 1);
  verdict->outcome =
      fmt::format("{}: the same work takes about {:.{}f}% {}", slower ? "Slower" : "Faster", longer,
                  longer < 10 ? 1 : 0, slower ? "longer" : "less time");
  // Changes in that direction are the reason; wall time and device time both count.
  std::vector<Change> told = changes;
  std::erase_if(told, [&](const Change& change) {
    return change.pace.has_value() || slower != (change.delta_ns > 0);
  });
  std::stable_sort(told.begin(), told.end(), [](const Change& a, const Change& b) {
    return std::abs(a.delta_ns) > std::abs(b.delta_ns);
  });
  std::string why;
  for (size_t i = 0; i < std::min<size_t>(told.size(), 2); ++i) {
    // The causes include the change of idle time.
    why += "; " + (told[i].id == "idle" ? told[i].text : Told(told[i]));
  }
  verdict->sentence = fmt::format("{}. Everything ran {}, per execution it {}{}.", verdict->outcome,
                                  pace.often, pace.each, why);
  verdict->changed = verdict->sentence;
  verdict->noise = fmt::format(
      "So much of these two recordings; without steady steps start-up is part of both, and other "
      "runs may differ. {}: how much was done, not how fast.",
      times);
}

}  // namespace

Verdict Judge(const Run& base, const Run& now, const Comparison& comparison,
              const std::vector<Change>& changes, const std::vector<const Run*>& base_runs,
              const std::vector<const Run*>& now_runs) {
  Verdict verdict;
  const Identity& identity = comparison.identity;
  if (identity.same_recording) {
    verdict.changed = verdict.sentence = "The same recording: no difference.";
    verdict.established = true;
    return verdict;
  }
  const bool steps = base.steady && now.steady;
  // Without steps, both recordings have a call of the main program, for any length.
  const MainCalls ours_called = MainCallsOf(base);
  const MainCalls theirs_called = MainCallsOf(now);
  const bool calls = !steps && ours_called.each_ns > 0 && theirs_called.each_ns > 0;
  const int64_t a = steps   ? comparison.base_step_ns
                    : calls ? ours_called.each_ns
                            : comparison.base_device_ns;
  const int64_t b = steps   ? comparison.now_step_ns
                    : calls ? theirs_called.each_ns
                            : comparison.now_device_ns;
  const bool equal = calls ? AboutEqual(a, b) : AboutEqual(comparison);
  const std::string times =
      fmt::format("{} {} -> {}, {}{}",
                  steps   ? "Step"
                  : calls ? "Device time of a call of the main program"
                          : "Device time of the whole run",
                  Duration(static_cast<double>(a)), Duration(static_cast<double>(b)),
                  SignedPercent(static_cast<double>(b - a), static_cast<double>(a)),
                  equal ? ", about the same" : "");
  if (!identity.comparable()) {
    verdict.sentence = fmt::format("Not comparable: {}.", fmt::join(identity.refusals, "; "));
    verdict.changed = verdict.sentence;
    verdict.noise = times + "; what this says of the program is unknown.";
    return verdict;
  }
  const bool certain = std::any_of(changes.begin(), changes.end(),
                                   [](const Change& change) { return change.certain; });
  // Another number of calls changes whole runs, but no call.
  std::vector<Change> told = changes;
  int64_t whole = steps ? b - a : comparison.now_device_ns - comparison.base_device_ns;
  if (calls) {
    std::erase_if(told, [&](const Change& change) {
      if (change.id == "repetitions") whole -= change.delta_ns;
      return change.id == "repetitions";
    });
    // Changes in the direction of the calls come first.
    std::stable_partition(told.begin(), told.end(), [&](const Change& change) {
      return equal || (b > a) == (change.delta_ns > 0);
    });
    whole = b > a ? std::abs(whole) : -std::abs(whole);
    PutStructureSecond(&told, whole);
  }
  const Pace* pace = nullptr;
  for (const Change& change : changes) {
    if (!steps && !calls && change.pace) pace = &*change.pace;
  }
  if (pace != nullptr) {
    TellPace(*pace, times, changes, &verdict);
    return verdict;
  }
  const std::string reasons = Reasons(told, whole, equal);
  const std::string what = reasons.empty() ? "the runs do the same work in the same way" : reasons;
  const std::string stops = steps ? Stops(base, now) : std::string();
  verdict.sentence = stops.empty()
                         ? fmt::format("{}: {}.", times, what)
                         : fmt::format("{}. Steady s{}: {}.", stops, times.substr(1), what);
  verdict.changed = calls ? verdict.sentence
                    : stops.empty()
                        ? fmt::format("What changed: {}.", what)
                        : fmt::format("{}. What changed in steady steps: {}.", stops, what);
  if (!steps) {
    verdict.noise = std::string(kNoSteps) + ".";
    if (calls) {
      verdict.noise += fmt::format(
          " Calls of the main program: {} in BASE, {} in NEW; what follows are totals of the whole"
          " runs.",
          Thousands(ours_called.count), Thousands(theirs_called.count));
    }
    return verdict;
  }
  const auto ours = StepsOf(base_runs);
  const auto theirs = StepsOf(now_runs);
  const auto interval = BootstrapRatio(ours, theirs);
  if (interval) {
    verdict.interval =
        Interval{interval->low * static_cast<double>(a), interval->high * static_cast<double>(a)};
    verdict.established = interval->low > 0 || interval->high < 0;
    verdict.noise = fmt::format(
        "{} runs against {}: the difference of step times lies between {:+.1f}% and {:+.1f}% "
        "(95%), so {}.",
        ours.size(), theirs.size(), 100 * interval->low, 100 * interval->high,
        verdict.established ? "it is established" : "none is established");
    return verdict;
  }
  verdict.noise = fmt::format(
      "One run a side: {}, but whether the step time really changed is not established. Steps vary "
      "by {} inside BASE and {} inside NEW; runs of one program differ by more than that. Give "
      "several runs: diff BASE... -- NEW...",
      certain ? "what the program does differently is certain" : "the program does the same",
      Duration(Deviation(base.steps)), Duration(Deviation(now.steps)));
  return verdict;
}

}  // namespace xlatrace::compare
