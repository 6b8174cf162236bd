// SPDX-License-Identifier: Apache-2.0
#include "compare/time_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::compare {
namespace {

// Relative standard deviations between runs of one program on one machine. Dedicated GPU: clocks,
// autotuning, memory layout. Shared CPU without other load: processes of one program "differ by
// several percent" (docs/how-to/compare.md).
constexpr double kGpuVariationShare = 0.01;
constexpr double kCpuVariationShare = 0.06;
constexpr double kPriorRunCount = 6;  // The prior counts as the spread of this many runs.

// The standard error of the mean of the middle half against that of the mean, normal distribution.
constexpr double kMiddleHalfErrorRatio = 1.1;
constexpr double kQuartileSigmaRatio = 1.349;
constexpr size_t kMaxBlocks = 8;
constexpr size_t kMinPerBlock = 4;
// If iterations are independent, the variance of block means exceeds the expected one by this
// factor in 5 % of runs. Chi-square quantile / (N - 1) for N blocks; index: N.
constexpr std::array<double, kMaxBlocks + 1> kMinDriftRatios = {0,    0,    3.84, 3.00, 2.60,
                                                                2.37, 2.21, 2.10, 2.01};

struct Level {
  double log_ns = 0;
  double variance = 0;  // Error of log_ns, from the iterations of the run.
  double drift = 0;     // Variance of the level within the run, beyond independent iterations.
};

double Square(double value) { return value * value; }

double VarianceOf(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += Square(value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

double MiddleMean(std::span<const double> values) { return Mean(MiddleHalf(values)); }

Level LevelOf(const std::vector<int64_t>& iterations) {
  const std::vector<double> values(iterations.begin(), iterations.end());
  const auto n = static_cast<double>(values.size());
  Level level;
  level.log_ns = std::log(std::max(MiddleMean(values), 1.0));
  const double of_one = Square(kMiddleHalfErrorRatio * Scatter(values) / kQuartileSigmaRatio);
  level.variance = of_one / n;
  const size_t blocks = std::min(kMaxBlocks, values.size() / kMinPerBlock);
  if (blocks < 2) return level;
  std::vector<double> logs;
  for (size_t b = 0; b < blocks; ++b) {
    const size_t first = b * values.size() / blocks;
    const size_t last = (b + 1) * values.size() / blocks;
    logs.push_back(
        std::log(std::max(MiddleMean(std::span(values).subspan(first, last - first)), 1.0)));
  }
  const double of_block = VarianceOf(logs);
  const double expected = of_one * static_cast<double>(blocks) / n;
  if (of_block <= kMinDriftRatios[blocks] * expected) return level;
  level.variance = std::max(level.variance, of_block / static_cast<double>(blocks));
  level.drift = of_block - expected;
  return level;
}

struct RunLevels {
  double log_ns = 0;
  double variance = 0;      // Error of log_ns, without the common part between runs.
  double between_runs = 0;  // Sum of squares of the levels around their mean.
  double prior = 0;
};

RunLevels LevelsOf(const std::vector<Iterations>& runs) {
  const auto n = static_cast<double>(runs.size());
  RunLevels side;
  std::vector<double> logs;
  for (const Iterations& run : runs) {
    const Level level = LevelOf(run.ns);
    logs.push_back(level.log_ns);
    side.variance += (level.variance + level.drift) / n / n;
    side.prior = std::max(side.prior, run.usual_variation);
  }
  side.log_ns = Mean(logs);
  side.between_runs = VarianceOf(logs) * (n - 1);
  return side;
}

bool Enough(const std::vector<Iterations>& runs) {
  return !runs.empty() && std::all_of(runs.begin(), runs.end(), [](const Iterations& run) {
    return run.ns.size() >= kMinIterations;
  });
}

size_t CountOf(const std::vector<Iterations>& runs) {
  size_t count = 0;
  for (const Iterations& run : runs) count += run.ns.size();
  return count;
}

// "12", "1.4": a bound of an interval does not need more digits.
std::string IntervalEnd(double share) {
  const double percent = 100 * std::abs(share);
  return fmt::format("{:.{}f}", percent, percent < 10 ? 1 : 0);
}

}  // namespace

std::string_view Text(ResultWord word) {
  constexpr std::array<std::string_view, 4> kTexts = {"unknown", "not_distinguishable",
                                                      "very_likely", "established"};
  return kTexts[static_cast<size_t>(word)];
}

std::string_view InWords(ResultWord word) {
  constexpr std::array<std::string_view, 4> kTexts = {"unknown", "not distinguishable",
                                                      "very likely", "established"};
  return kTexts[static_cast<size_t>(word)];
}

double TimeChange::within() const {
  return std::max(std::abs(interval.low), std::abs(interval.high));
}

std::string TimeChange::Difference() const {
  const bool slower = ratio > 1;
  const double low = slower ? interval.low : -interval.high;
  const double high = slower ? interval.high : -interval.low;
  return fmt::format("{} by {} to {}%", slower ? "slower" : "faster", IntervalEnd(low),
                     IntervalEnd(high));
}

double UsualVariation(const Run& run) {
  // Other load on a shared CPU changes between runs at least as it changes between iterations.
  const std::vector<int64_t>& iterations = run.steps.empty() ? run.call_walls : run.steps;
  const double on_host = std::hypot(
      kCpuVariationShare,
      run.cpu
          ? Scatter(std::vector<double>(iterations.begin(), iterations.end())) / kQuartileSigmaRatio
          : 0);
  if (run.cpu) return on_host;
  if (!run.has_parts || run.step_ns <= 0) return kGpuVariationShare;
  const double idle = static_cast<double>(run.parts[static_cast<size_t>(model::StepPart::kIdle)]) /
                      static_cast<double>(run.step_ns);
  return std::hypot((1 - idle) * kGpuVariationShare, idle * on_host);
}

TimeChange ChangeOfTime(const std::vector<Iterations>& base, const std::vector<Iterations>& now) {
  TimeChange change;
  if (!Enough(base) || !Enough(now)) return change;
  const RunLevels ours = LevelsOf(base);
  const RunLevels theirs = LevelsOf(now);
  const auto runs = static_cast<double>(base.size() + now.size());
  const double freedom = kPriorRunCount + runs - 2;
  change.usual_variation = std::max(ours.prior, theirs.prior);
  const auto between = [&](double prior) {
    return (kPriorRunCount * Square(prior) + ours.between_runs + theirs.between_runs) / freedom;
  };
  const double error = std::sqrt(ours.variance + theirs.variance +
                                 between(ours.prior) / static_cast<double>(base.size()) +
                                 between(theirs.prior) / static_cast<double>(now.size()));
  const double difference = theirs.log_ns - ours.log_ns;
  const auto beyond = [&](double level) {
    return std::abs(difference) > StudentQuantile(1 - level, freedom) * error;
  };
  change.word = beyond(kEstablishedLevel)  ? ResultWord::kEstablished
                : beyond(kVeryLikelyLevel) ? ResultWord::kVeryLikely
                                           : ResultWord::kNotDistinguishable;
  const double half = StudentQuantile(1 - kVeryLikelyLevel, freedom) * error;
  change.ratio = std::exp(difference);
  change.interval = {std::exp(difference - half) - 1, std::exp(difference + half) - 1};
  change.base_runs = base.size();
  change.now_runs = now.size();
  change.base_ns = std::llround(std::exp(ours.log_ns));
  change.now_ns = std::llround(std::exp(theirs.log_ns));
  change.base_count = CountOf(base);
  change.now_count = CountOf(now);
  return change;
}

TimeChange ChangeOfTime(const std::vector<const Run*>& base, const std::vector<const Run*>& now) {
  const auto all = [&](const auto& has) {
    return std::all_of(base.begin(), base.end(), has) && std::all_of(now.begin(), now.end(), has);
  };
  const bool steps =
      all([](const Run* run) { return run->steady && run->steps.size() >= kMinIterations; });
  const auto of = [&](const std::vector<const Run*>& runs) {
    std::vector<Iterations> iterations;
    for (const Run* run : runs) {
      iterations.push_back({steps ? run->steps : run->call_walls, UsualVariation(*run)});
    }
    return iterations;
  };
  TimeChange change = ChangeOfTime(of(base), of(now));
  change.of_calls = !steps;
  return change;
}

}  // namespace xlatrace::compare
