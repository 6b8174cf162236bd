// SPDX-License-Identifier: Apache-2.0
#include "correlator/graph_choice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace xlatrace::correlator {
namespace {

constexpr double kImpossibleCost = std::numeric_limits<double>::infinity();
// Standard deviation of the logarithm of time over cost for one graph (a factor of two).
constexpr double kLogTimeSpreadScale = 0.7;
// For all graphs: programs reach half of the cost model's speed, or less.
constexpr double kUsualSlownessOffset = 0.5;
constexpr double kSlownessSpreadScale = 1;
constexpr double kMinSlowness = -1.5;
constexpr double kMaxSlowness = 4;
constexpr double kSlownessStepSize = 0.25;
// Penalty of a graph that was compiled and never ran.
constexpr double kUnusedGraphCost = 0.2;
// Tolerance of the time of a graph that was instantiated again.
constexpr double kSameTimeTolerance = 0.03;
constexpr double kRepeatedGraphCost = 0.5;
// Penalty for modules that were compiled in another order than they run.
constexpr double kOtherOrderCost = 6;
// Maximum mean penalty of an explanation: times differ by a factor of four.
constexpr double kMaxCostPerRow = 2;
constexpr size_t kMaxChoiceCells = 200'000;

// For each row and each of its graphs, the cost of the best explanation with this pair.
using Explained = std::vector<std::vector<double>>;

// Matches rows and graphs, both in the required order.
class Matcher {
 public:
  Matcher(std::span<const GraphRows> rows, std::span<const double> costs,
          std::span<const uint32_t> order)
      : rows_(rows), costs_(costs), width_(costs.size()) {
    place_of_.resize(width_);
    for (uint32_t k = 0; k < order.size(); ++k) place_of_[order[k]] = k;
  }

  Explained Explain() {
    double best = kImpossibleCost;
    double slowness = 0;
    double unlikely = 0;
    for (double s = kMinSlowness; s <= kMaxSlowness; s += kSlownessStepSize) {
      Fill(s);
      Forward();
      const double off = (s - kUsualSlownessOffset) / kSlownessSpreadScale;
      const double cost = End() + off * off / 2;
      if (cost >= best) continue;
      best = cost;
      slowness = s;
      unlikely = off * off / 2;
    }
    Fill(slowness);
    Forward();
    Backward();
    const double worst = kMaxCostPerRow * static_cast<double>(rows_.size()) +
                         kUnusedGraphCost * static_cast<double>(width_);
    if (best > worst) unlikely = kImpossibleCost;
    Explained explained(rows_.size());
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (const uint32_t graph : rows_[r].among) {
        const size_t cell = r * width_ + place_of_[graph];
        explained[r].push_back(forward_[cell] + backward_[cell] + unlikely);
      }
    }
    return explained;
  }

 private:
  void Fill(double slowness) {
    fit_.assign(rows_.size() * width_, kImpossibleCost);
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (size_t k = 0; k < rows_[r].among.size(); ++k) {
        const uint32_t graph = rows_[r].among[k];
        const double off =
            (std::log(rows_[r].mean_ns) - std::log(costs_[graph]) - slowness) / kLogTimeSpreadScale;
        fit_[r * width_ + place_of_[graph]] =
            off * off / 2 + (rows_[r].against.empty() ? 0 : rows_[r].against[k]);
      }
    }
  }

  // forward_[r, g]: cost of rows up to r, with row r of graph g, including skipped graphs.
  void Forward() {
    forward_.assign(fit_.size(), kImpossibleCost);
    for (size_t r = 0; r < rows_.size(); ++r) {
      double earlier =
          r == 0 ? 0
                 : kImpossibleCost;  // Best way that ends before g, including the graphs between.
      for (size_t g = 0; g < width_; ++g) {
        forward_[r * width_ + g] = earlier + fit_[r * width_ + g];
        earlier += kUnusedGraphCost;
        if (r > 0) earlier = std::min(earlier, forward_[(r - 1) * width_ + g]);
      }
    }
  }

  // backward_[r, g]: cost of everything after row r of graph g.
  void Backward() {
    backward_.assign(fit_.size(), kImpossibleCost);
    for (size_t r = rows_.size(); r-- > 0;) {
      double later = r + 1 == rows_.size() ? 0 : kImpossibleCost;
      for (size_t g = width_; g-- > 0;) {
        backward_[r * width_ + g] = later;
        later += kUnusedGraphCost;
        if (r + 1 < rows_.size()) {
          const size_t next = (r + 1) * width_ + g;
          later = std::min(later, backward_[next] + fit_[next]);
        }
      }
    }
  }

  double End() const {
    double best = kImpossibleCost;
    for (size_t g = 0; g < width_; ++g) {
      const double unused = kUnusedGraphCost * static_cast<double>(width_ - 1 - g);
      best = std::min(best, forward_[(rows_.size() - 1) * width_ + g] + unused);
    }
    return best;
  }

  std::span<const GraphRows> rows_;
  std::span<const double> costs_;
  size_t width_;
  std::vector<uint32_t> place_of_;
  std::vector<double> fit_;
  std::vector<double> forward_;
  std::vector<double> backward_;
};

void TakeLess(const Explained& other, Explained* explained) {
  for (size_t r = 0; r < explained->size(); ++r) {
    for (size_t k = 0; k < (*explained)[r].size(); ++k) {
      (*explained)[r][k] = std::min((*explained)[r][k], other[r][k]);
    }
  }
}

// Assumes that every row has its own graph.
Explained ExplainApart(std::span<const GraphRows> rows, std::span<const double> costs) {
  std::vector<uint32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0u);
  Explained explained = Matcher(rows, costs, order).Explain();

  // The same by size: of two rows, the longer one has the more expensive graph.
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return costs[a] < costs[b]; });
  std::vector<size_t> by_time(rows.size());
  std::iota(by_time.begin(), by_time.end(), size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](size_t a, size_t b) { return rows[a].mean_ns < rows[b].mean_ns; });
  std::vector<GraphRows> sorted;
  for (const size_t r : by_time) sorted.push_back(rows[r]);
  const Explained by_size = Matcher(sorted, costs, order).Explain();
  Explained reordered(rows.size());
  for (size_t k = 0; k < by_time.size(); ++k) {
    for (const double cost : by_size[k]) reordered[by_time[k]].push_back(cost + kOtherOrderCost);
  }
  TakeLess(reordered, &explained);
  return explained;
}

bool AreEquivalent(std::span<const double> a, std::span<const double> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::abs(x - y) <= 1; });
}

// For each row the first row of the same graph, if rows with equal times are one graph.
std::vector<size_t> FirstOfSame(std::span<const GraphRows> rows) {
  std::vector<size_t> first(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    first[r] = r;
    for (size_t e = 0; e < r && first[r] == r; ++e) {
      const bool same =
          std::abs(std::log(rows[r].mean_ns / rows[e].mean_ns)) <= kSameTimeTolerance &&
          rows[r].among == rows[e].among && AreEquivalent(rows[r].against, rows[e].against);
      if (first[e] == e && same) first[r] = e;
    }
  }
  return first;
}

}  // namespace

std::vector<std::vector<double>> ChooseGraphs(std::span<const GraphRows> rows,
                                              std::span<const double> costs) {
  if (rows.empty() || costs.empty() || rows.size() > kMaxChoiceCells / costs.size()) return {};
  Explained explained = ExplainApart(rows, costs);
  const std::vector<size_t> first = FirstOfSame(rows);
  std::vector<GraphRows> merged;
  std::vector<size_t> place(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    if (first[r] != r) continue;
    place[r] = merged.size();
    merged.push_back(rows[r]);
  }
  if (merged.size() < rows.size()) {
    const Explained of_merged = ExplainApart(merged, costs);
    const double again = kRepeatedGraphCost * static_cast<double>(rows.size() - merged.size());
    Explained same(rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const double cost : of_merged[place[first[r]]]) same[r].push_back(cost + again);
    }
    TakeLess(same, &explained);
  }
  double best = kImpossibleCost;
  for (const double cost : explained.front()) best = std::min(best, cost);
  if (best == kImpossibleCost) return {};
  for (std::vector<double>& of_row : explained) {
    for (double& cost : of_row) cost -= best;
  }
  return explained;
}

}  // namespace xlatrace::correlator
