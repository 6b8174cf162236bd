// SPDX-License-Identifier: Apache-2.0
#include "compare/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <string_view>

namespace xlatrace::compare {
namespace {

constexpr uint64_t kSeed = 20221117;

// Two-sided quantiles of Student's t, by bisection of its distribution function (regularised
// incomplete beta function by continued fraction; Abramowitz and Stegun 26.5.8, 26.7.1).
double BetaFraction(double a, double b, double x) {
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < 1e-300 ? 1e-300 : d);
  double h = d;
  for (int m = 1; m < 300; ++m) {
    const double m2 = 2.0 * m;
    for (const double term : {m * (b - m) * x / ((a + m2 - 1) * (a + m2)),
                              -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1))}) {
      d = 1 + term * d;
      d = 1 / (std::abs(d) < 1e-300 ? 1e-300 : d);
      c = 1 + term / c;
      if (std::abs(c) < 1e-300) c = 1e-300;
      h *= d * c;
    }
    if (std::abs(d * c - 1) < 1e-12) break;
  }
  return h;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * BetaFraction(a, b, x) / a
                                   : 1 - front * BetaFraction(b, a, 1 - x) / b;
}

double Variance(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

}  // namespace

double StudentQuantile(double level, double freedom) {
  double low = 0;
  double high = 1e4;
  for (int i = 0; i < 200; ++i) {
    const double t = (low + high) / 2;
    const double outside = IncompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t));
    (outside > 1 - level ? low : high) = t;
  }
  return (low + high) / 2;
}

double Mean(std::span<const double> values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double Median(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::vector<double> MiddleHalf(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  if (sorted.size() < 4) return sorted;
  std::sort(sorted.begin(), sorted.end());
  const auto quarter = static_cast<std::ptrdiff_t>(sorted.size() / 4);
  return {sorted.begin() + quarter, sorted.end() - quarter};
}

double Scatter(std::span<const double> values) {
  const std::vector<double> half = MiddleHalf(values);
  const double median = Median(half);
  return values.size() < 4 || median <= 0 ? 0 : (half.back() - half.front()) / median;
}

std::optional<Interval> BootstrapRatio(const std::vector<std::vector<double>>& base,
                                       const std::vector<std::vector<double>>& now, double level) {
  if (base.size() < 2 || now.size() < 2) return std::nullopt;
  constexpr int kDrawCount = 4000;
  std::mt19937_64 random(kSeed);
  const auto draw = [&](const std::vector<std::vector<double>>& runs) {
    double sum = 0;
    for (size_t r = 0; r < runs.size(); ++r) {
      const std::vector<double>& run = runs[random() % runs.size()];
      double steps = 0;
      for (size_t s = 0; s < run.size(); ++s) steps += run[random() % run.size()];
      sum += run.empty() ? 0 : steps / static_cast<double>(run.size());
    }
    return sum / static_cast<double>(runs.size());
  };
  const auto mean = [](const std::vector<std::vector<double>>& runs) {
    std::vector<double> means;
    for (const std::vector<double>& run : runs) means.push_back(Mean(run));
    return Mean(means);
  };
  const double whole = mean(base);
  if (whole <= 0) return std::nullopt;
  const double estimate = mean(now) / whole - 1;
  std::vector<double> ratios;
  ratios.reserve(kDrawCount);
  for (int i = 0; i < kDrawCount; ++i) {
    const double below = draw(base);
    const double above = draw(now);
    if (below > 0) ratios.push_back(above / below - 1);
  }
  if (ratios.empty()) return std::nullopt;
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(ratios.size() - 1);
    return ratios[static_cast<size_t>(std::llround(place))];
  };
  // A bootstrap over few runs underestimates the spread: the variance by n/(n-1), and normal
  // instead of t quantiles.
  const auto runs = static_cast<double>(std::min(base.size(), now.size()));
  const double freedom = static_cast<double>(base.size() + now.size() - 2);
  const double widen =
      std::sqrt(runs / (runs - 1)) * StudentQuantile(level, freedom) / StudentQuantile(level, 1e6);
  return Interval{estimate - (estimate - at((1 - level) / 2)) * widen,
                  estimate + (at((1 + level) / 2) - estimate) * widen};
}

double RankSumProbability(std::span<const double> base, std::span<const double> now) {
  if (base.empty() || now.empty()) return 1;
  const size_t n = base.size();
  const size_t m = now.size();
  // Twice U, so that ties stay integers.
  size_t twice = 0;
  for (const double b : base) {
    for (const double v : now) twice += v > b ? 2 : v == b ? 1 : 0;
  }
  const double u = static_cast<double>(twice) / 2;
  const double middle = static_cast<double>(n * m) / 2;
  if (n * m > 400) {  // Normal, with continuity correction.
    const double sd = std::sqrt(static_cast<double>(n * m) * static_cast<double>(n + m + 1) / 12);
    const double z = std::max(0.0, std::abs(u - middle) - 0.5) / sd;
    return std::min(1.0, std::erfc(z / std::sqrt(2.0)));
  }
  // Number of orders of n and m values for each U.
  std::vector<std::vector<double>> count(n + 1, std::vector<double>(n * m + 1, 0));
  count[0][0] = 1;
  for (size_t j = 1; j <= n + m; ++j) {
    // The j-th smallest value is of `now` (adds the base values below it) or of `base`.
    for (size_t i = std::min(j, n); i > 0; --i) {
      std::vector<double> next(n * m + 1, 0);
      if (j > i && j - i <= m) {
        for (size_t k = i; k <= n * m; ++k) next[k] += count[i][k - i];
      }
      for (size_t k = 0; k <= n * m; ++k) next[k] += count[i - 1][k];
      count[i] = std::move(next);
    }
    if (j > m) std::fill(count[0].begin(), count[0].end(), 0.0);
  }
  double all = 0;
  double beyond = 0;
  for (size_t k = 0; k <= n * m; ++k) {
    all += count[n][k];
    if (std::abs(static_cast<double>(k) - middle) >= std::abs(u - middle) - 1e-9) {
      beyond += count[n][k];
    }
  }
  return all > 0 ? beyond / all : 1;
}

std::optional<Interval> PredictionInterval(std::span<const double> base, double level) {
  if (base.size() < 5) return std::nullopt;
  std::vector<double> logs;
  for (const double value : base) {
    if (value <= 0) return std::nullopt;
    logs.push_back(std::log(value));
  }
  const auto n = static_cast<double>(logs.size());
  const double mean = Mean(logs);
  const double half = StudentQuantile(level, n - 1) * std::sqrt(Variance(logs) * (1 + 1 / n));
  return Interval{std::exp(mean - half), std::exp(mean + half)};
}

double ChanceOfMore(std::span<const double> base, double value) {
  if (base.size() < 5 || value <= 0) return 1;
  std::vector<double> logs;
  for (const double one : base) {
    if (one <= 0) return 1;
    logs.push_back(std::log(one));
  }
  const auto n = static_cast<double>(logs.size());
  const double spread = std::sqrt(Variance(logs) * (1 + 1 / n));
  const double above = std::log(value) - Mean(logs);
  if (spread == 0) return above > 0 ? 0 : 1;
  const double t = above / spread;
  const double tail = IncompleteBeta((n - 1) / 2, 0.5, (n - 1) / (n - 1 + t * t)) / 2;
  return t > 0 ? tail : 1 - tail;
}

std::vector<bool> Discoveries(std::span<const double> probabilities, double rate) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return probabilities[a] < probabilities[b]; });
  size_t kept = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const double limit =
        rate * static_cast<double>(k + 1) / static_cast<double>(probabilities.size());
    if (probabilities[order[k]] <= limit) kept = k + 1;
  }
  std::vector<bool> found(probabilities.size());
  for (size_t k = 0; k < kept; ++k) found[order[k]] = true;
  return found;
}

std::optional<ChangePoint> FindChangePoint(std::span<const double> values) {
  constexpr size_t kMinValues = 20;
  constexpr int kPermutationCount = 2000;
  const size_t n = values.size();
  if (n < kMinValues) return std::nullopt;
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(n);
  for (size_t k = 0; k < n;) {
    size_t end = k;
    while (end < n && values[order[end]] == values[order[k]]) ++end;
    for (size_t j = k; j < end; ++j) {
      ranks[order[j]] = static_cast<double>(k + end - 1) / 2 - static_cast<double>(n - 1) / 2;
    }
    k = end;
  }
  const auto largest = [n](const std::vector<double>& list, size_t* at) {
    double sum = 0;
    double most = -1;
    for (size_t i = 0; i + 1 < n; ++i) {
      sum += list[i];
      if (std::abs(sum) > most) {
        most = std::abs(sum);
        *at = i + 1;
      }
    }
    return most;
  };
  size_t first = 0;
  const double found = largest(ranks, &first);
  std::mt19937_64 random(kSeed);
  std::vector<double> shuffled = ranks;
  int beyond = 0;
  for (int i = 0; i < kPermutationCount; ++i) {
    for (size_t k = n - 1; k > 0; --k) std::swap(shuffled[k], shuffled[random() % (k + 1)]);
    size_t unused = 0;
    beyond += largest(shuffled, &unused) >= found;
  }
  if (beyond + 1 > (kPermutationCount + 1) / 100) return std::nullopt;
  // If the levels last for different lengths, the sum peaks beside the change. To find the
  // position, it is therefore divided by its spread there.
  double sum = 0;
  double most = -1;
  for (size_t i = 0; i + 1 < n; ++i) {
    sum += ranks[i];
    const auto before = static_cast<double>(i + 1);
    const double weighed = sum * sum / (before * (static_cast<double>(n) - before));
    if (weighed > most) {
      most = weighed;
      first = i + 1;
    }
  }
  return ChangePoint{first, Median(values.subspan(0, first)), Median(values.subspan(first))};
}

std::string Sparkline(std::span<const double> values, bool ascii) {
  static constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄",
                                                              "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 8> kAscii = {"_", ".", "-", "~",
                                                             "=", "+", "*", "#"};
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::string line;
  for (const double value : values) {
    const double part = *high > *low ? (value - *low) / (*high - *low) : 0;
    const auto at = static_cast<size_t>(std::min(7.0, part * 8));
    line += ascii ? kAscii[at] : kBlocks[at];
  }
  return line;
}

}  // namespace xlatrace::compare
