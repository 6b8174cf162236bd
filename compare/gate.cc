// SPDX-License-Identifier: Apache-2.0
#include "compare/gate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "base/number_format.h"
#include "compare/statistics.h"
#include "compare/time_change.h"

namespace xlatrace::compare {
namespace {

// Rate of false alarms in comparisons of the same program, for a normal distribution of logarithms.
constexpr double kMaxFalseAlarmShare = 0.002;
constexpr double kMaxFalseDiscoveryShare = 0.01;

constexpr std::string_view kDeviceTime = "device time";
constexpr std::string_view kCallTime = "device time of a call";

struct FactRule {
  std::string_view name;
  double tolerance;  // Relative.
  bool less_is_worse;
  // kPerStep: without steps, it is a sum over a run of any length. Then the fact of a call of the
  // main program replaces it ("call_launches"). kOfBasis: not compared between steps and whole
  // runs.
  enum class Basis : uint8_t { kNone, kOfBasis, kPerStep } basis;
  bool stands_for_time;  // No regression if the time fell.
  std::string_view what;
  double min_change = 0;  // Smaller changes are no regression.
};
// Wall time of compilation depends on the load of the machine. Beside one other process per core it
// doubles, so only more than twice the time counts. The values are no measurement.
constexpr double kCompileTimeTolerance = 1.0;
constexpr double kMinCompileTimeChangeNs = 1e9;
constexpr std::array<FactRule, 10> kFacts = {{
    {"launches", 0.01, false, FactRule::Basis::kPerStep, true, "launches"},
    {"fusions", 0, true, FactRule::Basis::kNone, true, "fusions that run"},
    {"bytes", 0.01, false, FactRule::Basis::kPerStep, true, "bytes accessed (cost model)"},
    {"flops", 0.01, false, FactRule::Basis::kPerStep, true,
     "floating point operations (cost model)"},
    {"compilations", 0, false, FactRule::Basis::kNone, false,
     "programs compiled for the main function"},
    {"recompilations", 0, false, FactRule::Basis::kNone, false,
     "compilations of functions that were compiled before"},
    {"compile_ns", kCompileTimeTolerance, false, FactRule::Basis::kNone, false,
     "time of all compilations", kMinCompileTimeChangeNs},
    {"peak_memory_bytes", 0.01, false, FactRule::Basis::kNone, false, "peak memory"},
    {"exposed_collective_bytes", 0.05, false, FactRule::Basis::kNone, true,
     "bytes of exposed collectives"},
    {"attributed", 0.01, true, FactRule::Basis::kOfBasis, false,
     "part of device time that is attributed"},
}};

std::string Number(const FactRule& rule, double value) {
  if (rule.name == "attributed") return Percent(value, 1) + "%";
  if (rule.name.ends_with("bytes")) return Bytes(value);
  if (rule.name.ends_with("_ns")) return Duration(value);
  return std::abs(value - std::round(value)) < 0.005
             ? Thousands(static_cast<int64_t>(std::llround(value)))
             : Significant(value);
}

// Equally many inputs of other shapes mean another batch. More or fewer inputs mean another model,
// whose time may be compared.
bool OtherShapes(const std::string& a, const std::string& b) {
  return !a.empty() && a != b && a.substr(0, a.find(' ')) == b.substr(0, b.find(' '));
}

class GateEvaluation {
 public:
  GateEvaluation(const std::vector<RunRecord>& base, const std::vector<RunRecord>& now,
                 const GateOptions& options)
      : base_(base), now_(now), options_(options) {}

  GateResult Run() {
    if (!Comparable()) return std::move(result_);
    Facts();
    Times();
    FactsOfFasterRuns();
    Sum();
    return std::move(result_);
  }

 private:
  bool Refuse(std::string text) {
    result_.outcome = Outcome::kNotComparable;
    result_.sentence = fmt::format("Not comparable: {}.", text);
    Check check;
    check.name = "comparable";
    check.outcome = Outcome::kNotComparable;
    check.text = std::move(text);
    result_.checks.push_back(std::move(check));
    return false;
  }

  bool Comparable() {
    if (now_.empty()) return Refuse("there is no new run");
    const RunRecord& now = now_.front();
    for (const std::vector<RunRecord>* side : {&base_, &now_}) {
      for (const RunRecord& other : *side) {
        if (other.devices != now.devices) {
          const auto named = [](const std::string& devices) {
            return devices.empty() ? std::string("no device") : devices;
          };
          return Refuse(
              fmt::format("other devices: {} and {}", named(other.devices), named(now.devices)));
        }
        if (other.program != now.program && !other.program.empty() && !now.program.empty()) {
          return Refuse(fmt::format("other programs: {} and {}", other.program, now.program));
        }
        if (OtherShapes(other.inputs, now.inputs)) {
          return Refuse("the main program takes inputs of other shapes (batch, sequence length)");
        }
        if (other.device_ns == 0) return Refuse("a run has no device time");
        if (other.damaged) return Refuse("a run lost records or was still being recorded");
        per_call_ = per_call_ || !other.steady;
        mixed_ = mixed_ || other.steady != now.steady || other.program != now.program;
      }
    }
    return true;
  }

  static std::vector<double> ValuesOf(const std::vector<RunRecord>& runs, std::string_view fact) {
    std::vector<double> values;
    for (const RunRecord& run : runs) {
      const auto at = run.facts.find(std::string(fact));
      if (at != run.facts.end()) values.push_back(at->second);
    }
    return values;
  }

  // Fewer ops in all: fusions were merged with each other or into a library call, and none was
  // lost.
  bool Merged() const {
    const std::vector<double> before = ValuesOf(base_, "main_ops");
    const std::vector<double> now = ValuesOf(now_, "main_ops");
    return !before.empty() && !now.empty() &&
           Median(now) < *std::min_element(before.begin(), before.end());
  }

  void Facts() {
    if (base_.empty()) return;
    for (const FactRule& rule : kFacts) {
      if (options_.ignored.contains(std::string(rule.name))) continue;
      const bool of_call = per_call_ && rule.basis == FactRule::Basis::kPerStep;
      const std::string key = fmt::format("{}{}", of_call ? "call_" : "", rule.name);
      if (mixed_ && rule.basis == FactRule::Basis::kOfBasis) continue;
      const std::vector<double> a = ValuesOf(base_, key);
      const std::vector<double> b = ValuesOf(now_, key);
      if (a.empty() || b.empty()) continue;
      Check check;
      check.name = fmt::format("fact {}", rule.name);
      check.is_time = false;
      check.base = Median(a);
      check.now = Median(b);
      // Differences among runs of the base side occur without a change.
      const auto [low, high] = std::minmax_element(a.begin(), a.end());
      const double margin = std::max(rule.tolerance * std::abs(check.base), rule.min_change);
      bool worse = rule.less_is_worse ? check.now < *low - margin : check.now > *high + margin;
      if (rule.name == "fusions" && Merged()) worse = false;
      check.outcome = worse ? Outcome::kRegression : Outcome::kPass;
      check.text = fmt::format("{}{}: {} -> {}", rule.what,
                               rule.basis != FactRule::Basis::kPerStep ? ""
                               : of_call ? " in a call of the main program"
                                         : " a step",
                               Number(rule, check.base), Number(rule, check.now));
      result_.checks.push_back(std::move(check));
    }
  }

  struct Metric {
    std::string name;
    std::vector<std::vector<double>> base, now;  // Values of each run, without both ends.
    std::vector<double> base_scatter, now_scatter;
    std::vector<double> base_means, now_means;  // Mean of all values of each run.
    std::vector<Iterations> base_iterations, now_iterations;

    void Add(bool is_now, const std::vector<int64_t>& iterations, double usual_variation) {
      const std::vector<double> values(iterations.begin(), iterations.end());
      (is_now ? now_iterations : base_iterations).push_back({iterations, usual_variation});
      (is_now ? now : base).push_back(MiddleHalf(values));
      (is_now ? now_scatter : base_scatter).push_back(Scatter(values));
      (is_now ? now_means : base_means).push_back(Mean(values));
    }
    // Other programs ran beside the new runs: their values scatter far more within a run than those
    // of the earlier runs.
    bool Disturbed() const {
      constexpr double kDisturbedScatterRatio = 2;
      constexpr double kMinDisturbedScatter = 0.01;
      const double scatter = Median(now_scatter);
      return scatter > kMinDisturbedScatter &&
             scatter > kDisturbedScatterRatio * Median(base_scatter);
    }
  };

  bool AllHave(std::vector<int64_t> RunRecord::*values) const {
    const auto has = [&](const RunRecord& run) { return (run.*values).size() >= kMinIterations; };
    return std::all_of(base_.begin(), base_.end(), has) &&
           std::all_of(now_.begin(), now_.end(), has);
  }

  std::vector<Metric> Metrics() const {
    std::vector<Metric> metrics(1);
    metrics[0].name = per_call_ ? "call" : "step";
    const bool calls_known = AllHave(&RunRecord::calls);
    const bool walls_known = AllHave(&RunRecord::call_walls);
    std::map<std::string, Metric> by_name;
    for (const bool is_now : {false, true}) {
      for (const RunRecord& run : is_now ? now_ : base_) {
        if (!per_call_) {
          metrics[0].Add(is_now, run.steps, run.usual_variation);
        } else if (walls_known) {
          metrics[0].Add(is_now, run.call_walls, run.usual_variation);
        } else if (calls_known) {
          metrics[0].Add(is_now, run.calls, run.usual_variation);
        } else if (run.call_ns > 0) {
          metrics[0].Add(is_now, {run.call_ns}, run.usual_variation);
        }
      }
    }
    if (per_call_ && walls_known && calls_known) {
      Metric& device = metrics.emplace_back();
      device.name = kCallTime;
      for (const bool is_now : {false, true}) {
        for (const RunRecord& run : is_now ? now_ : base_) {
          device.Add(is_now, run.calls, run.usual_variation);
        }
      }
    }
    // All runs have another basis, so there is no comparison.
    if (per_call_) return metrics;
    Metric& device = metrics.emplace_back();
    device.name = calls_known ? kCallTime : kDeviceTime;
    for (const bool is_now : {false, true}) {
      for (const RunRecord& run : is_now ? now_ : base_) {
        if (calls_known) {
          device.Add(is_now, run.calls, run.usual_variation);
        } else {
          device.Add(is_now, {run.device_ns}, run.usual_variation);
        }
      }
    }
    if (options_.by != GateBy::kStep) {
      const auto values = [&](const RunRecord& run) -> const std::map<std::string, int64_t>& {
        return options_.by == GateBy::kPhase ? run.phases : run.ops;
      };
      const std::string_view kind = options_.by == GateBy::kPhase ? "phase" : "op";
      for (const bool is_now : {false, true}) {
        for (const RunRecord& run : is_now ? now_ : base_) {
          for (const auto& [name, ns] : values(run)) {
            Metric& metric = by_name[name];
            metric.name = fmt::format("{} {}", kind, name);
            (is_now ? metric.now : metric.base).push_back({static_cast<double>(ns)});
          }
        }
      }
      for (auto& [name, metric] : by_name) {
        // Not among the hundred largest in some runs: the spread is not known.
        if (metric.base.size() == base_.size() && metric.now.size() == now_.size()) {
          metrics.push_back(std::move(metric));
        }
      }
    }
    return metrics;
  }

  static bool IsWhole(const Metric& metric) {
    return metric.name == "step" || metric.name == kDeviceTime || metric.name == kCallTime ||
           metric.name == "call";
  }

  static std::vector<double> Means(const std::vector<std::vector<double>>& runs) {
    std::vector<double> means;
    for (const std::vector<double>& run : runs) means.push_back(Mean(run));
    return means;
  }

  static std::vector<double> Medians(const std::vector<std::vector<double>>& runs) {
    std::vector<double> medians;
    for (const std::vector<double>& run : runs) medians.push_back(Median(run));
    return medians;
  }

  // Change of the mean of all steps, if the middle half did not change: beyond the limit and beyond
  // chance, else 0. A delay of few steps may come from the program or its host.
  double HeldUp(const Metric& metric) const {
    const double before = Mean(metric.base_means);
    const double ratio = before > 0 ? Mean(metric.now_means) / before - 1 : 0;
    const bool by_chance =
        ChanceOfMore(metric.base_means, Median(metric.now_means)) > kMaxFalseAlarmShare;
    return ratio > options_.max_regress && !by_chance ? ratio : 0;
  }

  // A change of a time and its significance.
  struct Movement {
    double ratio = 0;       // New to earlier, less 1.
    double most = 0;        // Upper bound of the ratio at 95 %.
    double chance = 1;      // Probability of such a ratio by chance.
    bool beyond = false;    // Beyond the limit, by more than the absolute minimum.
    bool by_prior = false;  // Few runs: the usual variation between runs decides.
    std::string how;        // As text.
  };

  // Enough runs on both sides: compares their means.
  void MoveOfRuns(const Metric& metric, Movement& movement) const {
    const auto interval = BootstrapRatio(metric.base, metric.now);
    movement.how = interval ? fmt::format("95% between {:+.1f}% and {:+.1f}%", 100 * interval->low,
                                          100 * interval->high)
                            : std::string("no interval");
    if (!interval) return;
    movement.most = interval->high;
    if (interval->low <= options_.max_regress) return;
    movement.chance = std::max(RankSumProbability(Means(metric.base), Means(metric.now)),
                               RankSumProbability(Medians(metric.base), Medians(metric.now))) /
                      2;
    if (IsWhole(metric) && movement.chance <= 0.05) movement.chance = 0;
  }

  // A baseline of many runs: compares with its prediction for one more run.
  void MoveFromBaseline(const Metric& metric, Movement& movement) const {
    const std::vector<double> ours = Means(metric.base);
    const double value = Median(Means(metric.now));
    movement.chance = std::max(ChanceOfMore(ours, value),
                               ChanceOfMore(Medians(metric.base), Median(Medians(metric.now))));
    const auto expected = PredictionInterval(ours, 1 - 2 * kMaxFalseAlarmShare);
    movement.how = expected ? fmt::format("{} runs of the baseline let expect up to {}",
                                          ours.size(), Duration(expected->high))
                            : std::string("the baseline's spread is not known");
    const auto usual = PredictionInterval(ours, 0.9);  // 5 % are below it, 5 % above.
    if (usual && usual->low > 0) movement.most = std::max(movement.ratio, value / usual->low - 1);
  }

  Movement MoveOf(const Metric& metric, const Check& check, double floor) {
    Movement movement;
    movement.ratio = check.base > 0 ? check.now / check.base - 1 : 0;
    movement.most = movement.ratio;
    movement.beyond = movement.ratio > options_.max_regress && check.now - check.base > floor;
    if (metric.base.size() >= kMinRuns && metric.now.size() >= kMinRuns) {
      MoveOfRuns(metric, movement);
    } else if (metric.base.size() >= kMinBaselineRuns) {
      MoveFromBaseline(metric, movement);
    } else {
      MoveWithPrior(metric, movement);
    }
    return movement;
  }

  // Few runs: the usual variation between runs of one program replaces their spread.
  void MoveWithPrior(const Metric& metric, Movement& movement) {
    const TimeChange time = ChangeOfTime(metric.base_iterations, metric.now_iterations);
    const std::string more = fmt::format(
        "{} against {} runs: give at least {} a side, or a "
        "baseline of {}",
        metric.base.size(), metric.now.size(), kMinRuns, kMinBaselineRuns);
    if (time.word == ResultWord::kUnknown || time.usual_variation <= 0) {
      movement.how = more;
      return;
    }
    movement.by_prior = prior_known_ = true;
    movement.most = std::max(movement.ratio, time.interval.high);
    if (time.word == ResultWord::kEstablished && time.interval.low > options_.max_regress) {
      movement.chance = 0;
    }
    movement.how = fmt::format("95% between {:+.1f}% and {:+.1f}%, {}; {}", 100 * time.interval.low,
                               100 * time.interval.high, InWords(time.word), more);
  }

  // Describes the change of one time, but does not decide on a regression. `chance`: probability of
  // such a change by chance. `disturbed`: other programs ran.
  Check CheckTime(const Metric& metric, double floor, bool disturbed, double* chance) {
    Check check;
    check.name = metric.name;
    check.base = Mean(Means(metric.base));
    check.now = Mean(Means(metric.now));
    Movement movement = MoveOf(metric, check, floor);
    std::string& how = movement.how;
    // A pass states that the program is at most slower by the limit. Only for the whole, because
    // among a hundred ops some are always noisy.
    const bool hidden = IsWhole(metric) && movement.most > options_.max_regress &&
                        (movement.most - movement.ratio) * check.base > floor;
    if (hidden && !movement.beyond) {
      how += fmt::format("; with this noise {:+.1f}% cannot be excluded", 100 * movement.most);
    }
    check.outcome = movement.beyond || hidden ? Outcome::kNotEstablished : Outcome::kPass;
    *chance = 1;
    if (metric.base.empty() && metric.now.empty()) {
      check.text = "no run says";
      return check;
    }
    if (metric.base.empty() || metric.now.empty()) {
      check.text = fmt::format("{} ({})", Duration(metric.base.empty() ? check.now : check.base),
                               !metric.base.empty() ? "not measured in the new runs"
                               : base_.empty()      ? "no earlier run to compare with"
                                                    : "not measured in the earlier runs");
      return check;
    }
    *chance = movement.chance;
    const double held_up = HeldUp(metric);
    if (held_up > 0 && !movement.beyond) {
      check.outcome = Outcome::kNotEstablished;
      how += fmt::format("; some took far longer, +{}% in the mean", Percent(held_up, 1));
    }
    if (movement.beyond && metric.Disturbed() && !movement.by_prior) {
      *chance = 1;
      how += fmt::format("; it scatters by {}% in the new runs and by {}% in the earlier",
                         Percent(Median(metric.now_scatter), 1),
                         Percent(Median(metric.base_scatter), 1));
    } else if (movement.beyond && disturbed && !IsWhole(metric)) {
      *chance = 1;
      how += "; something else was running";
    }
    check.text = fmt::format("{} -> {}, {:+.1f}% ({})", Duration(check.base), Duration(check.now),
                             100 * movement.ratio, how);
    return check;
  }

  void Times() {
    const std::vector<Metric> metrics = Metrics();
    const bool disturbed = std::any_of(metrics.begin(), metrics.end(),
                                       [](const Metric& metric) { return metric.Disturbed(); });
    const double step = Mean(Means(metrics[0].base));
    const double floor = options_.floor_ns > 0 ? static_cast<double>(options_.floor_ns)
                                               : std::max(1000.0, step / 1000);
    std::vector<Check> checks;
    std::vector<double> chances;
    for (const Metric& metric : metrics) {
      checks.push_back(CheckTime(metric, floor, disturbed, &chances.emplace_back()));
    }
    size_t wholes = 0;
    while (wholes < metrics.size() && IsWhole(metrics[wholes])) ++wholes;
    for (size_t i = 0; i < wholes; ++i) {
      if (chances[i] <= kMaxFalseAlarmShare &&
          checks[i].now / checks[i].base - 1 > options_.max_regress &&
          checks[i].now - checks[i].base > floor) {
        checks[i].outcome = Outcome::kRegression;
      }
    }
    const std::vector<bool> found =
        Discoveries(std::span(chances).subspan(wholes), kMaxFalseDiscoveryShare);
    for (size_t i = wholes; i < checks.size(); ++i) {
      if (checks[i].outcome == Outcome::kNotEstablished && found[i - wholes]) {
        checks[i].outcome = Outcome::kRegression;
      }
    }
    for (Check& check : checks) result_.checks.push_back(std::move(check));
  }

  std::string_view CallName() const {
    return AllHave(&RunRecord::call_walls) ? "time from call to call" : "device time of a call";
  }
  std::string_view CallTitle() const {
    return AllHave(&RunRecord::call_walls) ? "Time from call to call" : "Device time of a call";
  }

  // A program that became faster may do more.
  void FactsOfFasterRuns() {
    const auto whole = std::find_if(
        result_.checks.begin(), result_.checks.end(),
        [](const Check& check) { return check.name == "step" || check.name == "call"; });
    if (whole == result_.checks.end() || whole->now <= 0 || whole->now >= whole->base) return;
    const std::string_view iteration = whole->name;
    for (Check& check : result_.checks) {
      if (check.is_time || check.outcome != Outcome::kRegression) continue;
      const auto rule = std::find_if(kFacts.begin(), kFacts.end(), [&](const FactRule& fact) {
        return check.name == fmt::format("fact {}", fact.name);
      });
      if (rule == kFacts.end() || !rule->stands_for_time) continue;
      check.outcome = Outcome::kPass;
      check.text += fmt::format("; no regression, because the time per {} fell", iteration);
    }
  }

  void Sum() {
    const auto weight = [](const Check& check) {
      return check.outcome == Outcome::kRegression       ? 0
             : check.outcome == Outcome::kNotEstablished ? 1
                                                         : 2;
    };
    std::stable_sort(result_.checks.begin(), result_.checks.end(),
                     [&](const Check& a, const Check& b) { return weight(a) < weight(b); });
    size_t regressions = 0;
    size_t open = 0;
    const Check* step = nullptr;
    for (const Check& check : result_.checks) {
      regressions += check.outcome == Outcome::kRegression;
      open += check.outcome == Outcome::kNotEstablished;
      if (check.name == "step" || check.name == "call") step = &check;
    }
    const bool few =
        base_.size() < kMinBaselineRuns && (base_.size() < kMinRuns || now_.size() < kMinRuns);
    const bool blind =
        step == nullptr || step->base <= 0 || step->now <= 0 || (few && !prior_known_);
    // First the decisive time, in a sentence about the whole.
    const auto told = [&](const Check& check) {
      const std::string_view what = check.name == "call"   ? CallName()
                                    : check.name == "step" ? "step"
                                                           : std::string_view(check.name);
      return fmt::format("{} {}", what, check.text);
    };
    std::string about;
    if (step != nullptr && step->base > 0 && step->now > 0) {
      about = fmt::format(" {} {}.", step->name == "call" ? CallTitle() : "Step", step->text);
    } else if (per_call_) {
      about = " No steady steps and no program that recurs in both: run at least 20 steps.";
    }
    if (regressions > 0) {
      const Check& first = result_.checks.front();
      result_.outcome = Outcome::kRegression;
      result_.sentence =
          &first == step
              ? fmt::format("Regression: {}.", told(first))
              : fmt::format("Regression: {}.{}", first.is_time ? told(first) : first.text, about);
    } else if (open > 0 || blind) {
      result_.outcome = Outcome::kNotEstablished;
      result_.sentence = fmt::format("Not established.{}", about);
    } else {
      result_.sentence = fmt::format("Pass.{}", about);
    }
  }

  const std::vector<RunRecord>& base_;
  const std::vector<RunRecord>& now_;
  const GateOptions& options_;
  GateResult result_;
  bool prior_known_ = false;  // The usual variation between runs decided on a time.
  bool per_call_ = false;     // A run has no steady steps,
  bool mixed_ = false;        // and another one has, or only one has a known program.
};

}  // namespace

std::string_view Text(Outcome outcome) {
  constexpr std::array<std::string_view, 4> kTexts = {"pass", "regression", "not_comparable",
                                                      "not_established"};
  return kTexts[static_cast<size_t>(outcome)];
}

std::vector<std::string_view> FactNames() {
  std::vector<std::string_view> names;
  for (const FactRule& rule : kFacts) names.push_back(rule.name);
  return names;
}

GateResult EvaluateGate(const std::vector<RunRecord>& base, const std::vector<RunRecord>& now,
                        const GateOptions& options) {
  const auto steady = [](const RunRecord& run) { return run.steady; };
  std::vector<RunRecord> with_steps;
  if (std::all_of(now.begin(), now.end(), steady)) {
    std::copy_if(base.begin(), base.end(), std::back_inserter(with_steps), steady);
  }
  // A single run without steps among enough others does not exclude steps.
  const bool enough = with_steps.size() >= kMinBaselineRuns;
  return GateEvaluation(enough ? with_steps : base, now, options).Run();
}

}  // namespace xlatrace::compare
