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

std::string FormatChange(const Change& change) {
  std::string text = change.text;
  if (!change.where.empty()) text += fmt::format(" ({})", change.where);
  if (change.delta_ns == 0) return text;
  return fmt::format("{}, {}", text, Signed(static_cast<double>(change.delta_ns)));
}

// The first change and one more. After a measured change, the weightiest certain one follows, which
// may be its reason. After a wait, which a busy host can cause, the weightiest change of executed
// work follows, in any direction. After a certain one, the next follows if it is a good part of the
// total. If no change has the direction of the total, the text states this before changes in the
// other direction.
std::string Reasons(const std::vector<Change>& changes, int64_t whole, bool equal) {
  if (changes.empty()) return {};
  const bool against =
      !equal && changes[0].delta_ns != 0 && (whole > 0) != (changes[0].delta_ns > 0);
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
    text += (change == told.front() ? "" : "; ") + FormatChange(*change);
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

constexpr std::string_view kNoIterations =
    "Not distinguishable: the time of an iteration is not known, because there are neither steady "
    "steps nor repeated calls of a main program in both";

// For recordings without steps, with equal work at another pace. Their device time shows how much
// was done, not how fast.
void FormatPace(const Pace& pace, const std::string& times, const std::vector<Change>& changes,
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
    why += "; " + (told[i].id == "idle" ? told[i].text : FormatChange(told[i]));
  }
  verdict->sentence = fmt::format("{}. Everything ran {}, per execution it {}{}.", verdict->outcome,
                                  pace.often, pace.each, why);
  verdict->changed = verdict->sentence;
  verdict->noise = fmt::format(
      "This is true for these two recordings; without steady steps, start-up is part of both, and "
      "other runs may differ. {}: the amount of work, not its speed.",
      times);
}

// Without repeated calls only the device time per call, or of the whole run, is known.
struct Basis {
  std::string_view name;
  int64_t base_ns = 0, now_ns = 0;
};

Basis BasisOf(const Comparison& comparison, const TimeChange& time, bool steps,
              const MainCalls& ours, const MainCalls& theirs) {
  if (steps) return {"step", comparison.base_step_ns, comparison.now_step_ns};
  if (time.word != ResultWord::kUnknown) {
    return {"time from call to call of the main program", time.base_ns, time.now_ns};
  }
  if (ours.each_ns > 0 && theirs.each_ns > 0) {
    return {"device time of a call of the main program", ours.each_ns, theirs.each_ns};
  }
  return {"device time of the whole run", comparison.base_device_ns, comparison.now_device_ns};
}

std::string TimesOf(const Basis& basis, bool equal) {
  return fmt::format("{} {} -> {}, {}{}", basis.name, Duration(static_cast<double>(basis.base_ns)),
                     Duration(static_cast<double>(basis.now_ns)),
                     SignedPercent(static_cast<double>(basis.now_ns - basis.base_ns),
                                   static_cast<double>(basis.base_ns)),
                     equal ? ", about the same" : "");
}

std::string Capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
  return text;
}

std::string Small(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

std::string ShareText(double share) {
  return fmt::format("{:.{}f}%", 100 * share, share < 0.1 ? 1 : 0);
}

// "same time (within 3.5%)". A wide interval gives no evidence for equal times.
// `parts`: a part of the step has another time, which the variation of the step hides.
std::string NoDifference(const TimeChange& time, bool parts) {
  constexpr double kMaxSameTime = 0.5;
  if (time.within() <= kMaxSameTime) {
    return fmt::format("{} (within {})", parts ? "times not distinguishable" : "same time",
                       ShareText(time.within()));
  }
  const double factor = std::max(1 + time.interval.high, 1 / std::max(1 + time.interval.low, 1e-9));
  return fmt::format("times not distinguishable (they vary by up to {}x beside other load)",
                     Significant(factor));
}

// "Same program, slower by 12 to 15% (established)".
std::string FirstClause(const TimeChange& time, bool same, bool certain, bool parts) {
  const std::string difference = time.different()
                                     ? fmt::format("{} ({})", time.Difference(), InWords(time.word))
                                     : NoDifference(time, parts);
  return same      ? "Same program, " + difference
         : certain ? "Changed program, " + difference
                   : Capital(difference);
}

std::string CountText(size_t count, std::string_view word) {
  return fmt::format("{} {}{}", Thousands(static_cast<int64_t>(count)), word,
                     count == 1 ? "" : "s");
}

// The evidence for the result word.
std::string Evidence(const TimeChange& time) {
  const std::string_view iteration = time.of_calls ? "call" : "step";
  std::string text = fmt::format(
      "{} in {} of BASE, {} in {} of NEW: the difference lies between {:+.1f}% and {:+.1f}% (95%). "
      "Runs of one program usually differ by {} on this kind of machine (standard deviation)",
      CountText(time.base_count, iteration), CountText(time.base_runs, "run"),
      CountText(time.now_count, iteration), CountText(time.now_runs, "run"),
      100 * time.interval.low, 100 * time.interval.high, ShareText(time.usual_variation));
  const bool single = time.base_runs == 1 && time.now_runs == 1;
  return text + (single ? ", which several runs on each side would measure: diff BASE... -- NEW..."
                        : ", pooled with the spread of the given runs.");
}

}  // namespace

Verdict ComputeVerdict(const Run& base, const Run& now, const Comparison& comparison,
                       const std::vector<Change>& changes, const std::vector<const Run*>& base_runs,
                       const std::vector<const Run*>& now_runs) {
  Verdict verdict;
  const Identity& identity = comparison.identity;
  if (identity.same_recording) {
    verdict.changed = verdict.sentence = "The same recording: no difference.";
    verdict.same_program = verdict.same_recording = true;
    return verdict;
  }
  const MainCalls ours_called = MainCallsOf(base);
  const MainCalls theirs_called = MainCallsOf(now);
  verdict.time = ChangeOfTime(base_runs, now_runs);
  const TimeChange& time = verdict.time;
  const bool known = time.word != ResultWord::kUnknown;
  // Changes are per step, or sums over whole recordings.
  const bool steps = base.steady && now.steady;
  const bool calls = !steps && ours_called.each_ns > 0 && theirs_called.each_ns > 0;
  const Basis basis = BasisOf(comparison, time, steps, ours_called, theirs_called);
  const int64_t a = basis.base_ns;
  const int64_t b = basis.now_ns;
  const bool equal = known ? !time.different() : AboutEqual(a, b);
  const std::string times = TimesOf(basis, equal && !known);
  if (!identity.comparable()) {
    verdict.time = {};
    verdict.sentence = fmt::format("Not comparable: {}.", fmt::join(identity.refusals, "; "));
    verdict.changed = verdict.sentence;
    verdict.noise = Capital(times) + "; the times belong to different work.";
    return verdict;
  }
  const bool certain = std::any_of(changes.begin(), changes.end(), [](const Change& change) {
    return change.certain && change.id != "repetitions";
  });
  verdict.same_program = comparison.same_program && !certain;
  // Another number of calls changes whole runs, but no call.
  std::vector<Change> told = changes;
  int64_t whole = steps ? b - a : comparison.now_device_ns - comparison.base_device_ns;
  if (!steps && (known || calls)) {
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
    if (!steps && !calls && !known && change.pace) pace = &*change.pace;
  }
  if (pace != nullptr) {
    FormatPace(*pace, Capital(times), changes, &verdict);
    return verdict;
  }
  const std::string reasons = Reasons(told, whole, equal);
  if (!known) {
    const std::string what =
        reasons.empty() ? "the runs do the same work in the same way" : reasons;
    verdict.changed = verdict.sentence = fmt::format("{}: {}.", Capital(times), what);
    if (steps) verdict.changed = fmt::format("What changed: {}.", what);
    verdict.noise = std::string(kNoIterations) + ".";
    if (calls) {
      verdict.noise += fmt::format(
          " Calls of the main program: {} in BASE, {} in NEW; what follows are totals of the whole"
          " runs.",
          Thousands(ours_called.count), Thousands(theirs_called.count));
    }
    return verdict;
  }
  const bool parts =
      std::any_of(told.begin(), told.end(), [](const Change& change) { return !change.certain; });
  verdict.outcome = FirstClause(time, verdict.same_program, certain, parts);
  const std::string why = !reasons.empty() ? ": " + reasons
                          : time.different() && verdict.same_program
                              ? std::string(": the cause was not recorded")
                              : std::string();
  verdict.changed = fmt::format("{}{}.", verdict.outcome, why);
  verdict.sentence = why.empty() ? fmt::format("{}: {}.", verdict.outcome, times)
                                 : fmt::format("{}. {}.", verdict.outcome + why, Capital(times));
  if (const std::string stops = steps ? Stops(base, now) : std::string(); !stops.empty()) {
    verdict.outcome = stops;
    verdict.sentence = fmt::format("{}. Steady steps: {}", stops, Small(verdict.sentence));
    verdict.changed = fmt::format("{}. Steady steps: {}", stops, Small(verdict.changed));
  }
  if (!steps) verdict.changed = verdict.sentence;
  verdict.noise = Evidence(time);
  return verdict;
}

}  // namespace xlatrace::compare
