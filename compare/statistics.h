// SPDX-License-Identifier: Apache-2.0

// The few statistics that comparing runs takes. The unit of evidence is the run: steps of one run
// are not independent, and runs of one program differ by more than their steps.
//
// Everything is deterministic: the bootstrap draws from a generator with a fixed seed.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_STATISTICS_H_
#define XLATRACE_COMPARE_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace xlatrace::compare {

double Mean(std::span<const double> values);    // 0 for none.
double Median(std::span<const double> values);  // 0 for none.

// The middle half of the values, in order of size: without what came by chance at either end. All
// of fewer than 4.
std::vector<double> MiddleHalf(std::span<const double> values);

// How far the quarters lie apart, as a part of the median; 0 for fewer than 4 values.
double Scatter(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};

// Hierarchical bootstrap (runs with replacement, in each its steps with replacement) of
// mean(now) / mean(base) - 1, where a side is the mean of its runs' means. The middle `level`, with
// the small-sample widening of the t distribution for the number of runs. Nothing with under two
// runs on a side or a base of 0.
std::optional<Interval> BootstrapRatio(const std::vector<std::vector<double>>& base,
                                       const std::vector<std::vector<double>>& now,
                                       double level = 0.95);

// Exact two-sided rank-sum (Mann-Whitney) probability of values as far apart as these or farther,
// if both came from one distribution. 1 where a side is empty.
double RankSumProbability(std::span<const double> base, std::span<const double> now);

// How far `value` lies above what `base` lets expect of one more value: t prediction interval on
// the logarithms of at least 5 positive values. Gives the ratio limits of the interval; nothing
// for fewer values.
std::optional<Interval> PredictionInterval(std::span<const double> base, double level = 0.99);

// Probability of one more value of at least `value`, by the same distribution; 1 for fewer than 5.
double ChanceOfMore(std::span<const double> base, double value);

// Benjamini-Hochberg: which of the probabilities are discoveries at this rate of false ones.
std::vector<bool> Discoveries(std::span<const double> probabilities, double rate);

// The position from which on the level of a series is another: the largest CUSUM of ranks, judged
// by permutation. Nothing under 20 values or where chance explains it (1 in 100).
struct ChangePoint {
  size_t first = 0;              // The first value of the new level.
  double before = 0, after = 0;  // Medians.
};
std::optional<ChangePoint> FindChangePoint(std::span<const double> values);

// One character per value, lowest to highest; ASCII where asked.
std::string Sparkline(std::span<const double> values, bool ascii);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_STATISTICS_H_
