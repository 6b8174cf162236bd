// SPDX-License-Identifier: Apache-2.0

// Statistics for the comparison of runs. The unit of evidence is the run: steps of one run are not
// independent, and runs of one program differ by more than their steps.
//
// Everything is deterministic: the bootstrap uses a generator with a fixed seed.
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

// The middle half of the sorted values, without outliers at either end. All values if there are
// fewer than 4.
std::vector<double> MiddleHalf(std::span<const double> values);

// Interquartile range relative to the median; 0 for fewer than 4 values.
double Scatter(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};

// Hierarchical bootstrap of mean(now) / mean(base) - 1: draws runs with replacement, and steps of
// each run with replacement. The mean of a side is the mean of the means of its runs. Returns the
// middle `level` of the distribution, widened by the t distribution for the number of runs. Returns
// nullopt with fewer than two runs on a side or a base of 0.
std::optional<Interval> BootstrapRatio(const std::vector<std::vector<double>>& base,
                                       const std::vector<std::vector<double>>& now,
                                       double level = 0.95);

// Two-sided rank-sum (Mann-Whitney) probability of a difference that is at least as large, if both
// sides have the same distribution. Exact up to 400 pairs, otherwise the normal approximation. 1 if
// a side is empty.
double RankSumProbability(std::span<const double> base, std::span<const double> now);

// The t beyond which 1 - `level` of Student's distribution lies, on both sides together.
double StudentQuantile(double level, double freedom);

// Interval for one more value: the t prediction interval on the logarithms of the values. Returns
// nullopt for fewer than 5 values, or if one is not positive.
std::optional<Interval> PredictionInterval(std::span<const double> base, double level = 0.99);

// Probability that one more value is at least `value`, with the same distribution; 1 for fewer than
// 5 values.
double ChanceOfMore(std::span<const double> base, double value);

// Benjamini-Hochberg: true for each probability that is a discovery at this false discovery rate.
std::vector<bool> Discoveries(std::span<const double> probabilities, double rate);

// The position at which the level of a series changes: the largest CUSUM of ranks, with a
// permutation test. Not found for fewer than 20 values, or if the change is not significant (1 in
// 100).
struct ChangePoint {
  size_t first = 0;              // The first value of the new level.
  double before = 0, after = 0;  // Medians.
};
std::optional<ChangePoint> FindChangePoint(std::span<const double> values);

// One character per value, with its height between the lowest and the highest; ASCII on request.
std::string Sparkline(std::span<const double> values, bool ascii);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_STATISTICS_H_
