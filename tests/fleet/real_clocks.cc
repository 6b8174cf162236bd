// SPDX-License-Identifier: Apache-2.0

// Clocks of real ranks, moved by known amounts: CASES SEED RUN_DB...
//
// A rank is a device of a RUN_DB. In every trial each rank gets its own clock, shifted by up to 10
// s and drifting by up to 20 ppm. It loses up to 40 % of its collectives. Ranks and ends come in
// another order. The time between two ranks by FitClocks must be right within the sum of its stated
// errors. This holds from the first to the last end that both ranks have in common with the first
// clock.
//
// The reference: devices of one RUN_DB have one clock, so the planted shift is the truth. Between
// two RUN_DBs the true distance of the clocks is unknown. There the reference comes from every
// third collective, which the fit does not get. It uses another method: medians over the first, the
// middle and the last third of the recording.
//
// A second series divides the ranks into two groups without a common collective. They must stay in
// two sets, and be right inside each set.
//
// Prints a row of a Markdown table per series; exit status 1 where a case is wrong.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/robust.h"
#include "fleet/clocks.h"
#include "fleet/rank_reader.h"
#include "fleet/skew.h"
#include "store/run_db.h"

namespace xlatrace::fleet {
namespace {

struct RealRank {
  size_t source = 0;
  std::map<uint64_t, int64_t> ends;  // By collective, on the clock of the recording.
};

Result<std::vector<RealRank>> Read(const std::vector<std::string>& paths) {
  std::map<std::pair<size_t, int64_t>, RealRank> ranks;
  for (size_t s = 0; s < paths.size(); ++s) {
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(paths[s]));
    XLATRACE_TRY(ReadCollectives(db, [&](RankCollective& collective) {
      if (!Synchronises(collective.op)) return;
      RealRank& rank = ranks[{s, collective.device_id}];
      rank.source = s;
      rank.ends[CollectiveKeyHash()(collective.key)] = collective.end_ns;
    }));
  }
  std::vector<RealRank> result;
  for (auto& [place, rank] : ranks) result.push_back(std::move(rank));
  return result;
}

// x -> y as three medians see it: y - x at three times, straight between and beyond them.
class Thirds {
 public:
  explicit Thirds(std::vector<std::pair<int64_t, int64_t>> ends) {
    std::sort(ends.begin(), ends.end());
    const size_t n = ends.size();
    for (size_t part = 0; part < 3; ++part) {
      std::vector<double> at, apart;
      for (size_t i = n * part / 3; i < n * (part + 1) / 3; ++i) {
        at.push_back(static_cast<double>(ends[i].first - ends.front().first));
        apart.push_back(static_cast<double>(ends[i].second - ends[i].first - Base(ends)));
      }
      at_[part] = LowerMedian(std::move(at));
      apart_[part] = LowerMedian(std::move(apart));
    }
    first_ = ends.front().first;
    base_ = Base(ends);
  }

  double To(double x) const {
    const double at = x - static_cast<double>(first_);
    const size_t part = at < at_[1] ? 0 : 1;
    const double slope = (apart_[part + 1] - apart_[part]) / (at_[part + 1] - at_[part]);
    return x + static_cast<double>(base_) + apart_[part] + slope * (at - at_[part]);
  }

 private:
  static int64_t Base(const std::vector<std::pair<int64_t, int64_t>>& ends) {
    return ends.front().second - ends.front().first;
  }
  std::array<double, 3> at_{}, apart_{};
  int64_t first_ = 0, base_ = 0;
};

struct Series {
  int cases = 0, right = 0;
  std::vector<double> offset, drift, stated, wrong;  // Planted; of each pair of ranks.
};

class Trial {
 public:
  Trial(const std::vector<RealRank>& ranks, uint64_t seed) : ranks_(ranks), random_(seed) {
    for (size_t r = 0; r < ranks.size(); ++r) {
      offset_.push_back(Between(-1e10, 1e10));
      drift_.push_back(Between(-2e-5, 2e-5));
      clock_of_.push_back(r);
    }
    std::shuffle(clock_of_.begin(), clock_of_.end(), random_);
  }

  // `parted`: ranks of odd number see other collectives than those of even number.
  bool Run(bool parted, Series& series) {
    std::vector<CollectiveEnd> ends;
    std::vector<std::map<uint64_t, int64_t>> kept(ranks_.size());
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const double lost = Between(0, 0.4);
      for (const auto& [collective, end] : ranks_[r].ends) {
        if (Held(collective) || Between(0, 1) < lost) continue;
        const uint64_t number = parted && r % 2 == 1 ? ~collective : collective;
        kept[r][collective] = end;
        ends.push_back({number, static_cast<uint32_t>(clock_of_[r]), Planted(r, end)});
      }
      series.offset.push_back(std::abs(offset_[r]));
      series.drift.push_back(std::abs(drift_[r]));
    }
    std::shuffle(ends.begin(), ends.end(), random_);
    const ClockFits fits = FitClocks(ranks_.size(), ends);
    bool right = fits.sets == (parted ? 2u : 1u);
    if (!right) std::cerr << fits.sets << " sets\n";
    for (size_t a = 0; a < ranks_.size(); ++a) {
      for (size_t b = a + 1; b < ranks_.size(); ++b) {
        const ClockFit& of_a = fits.clocks[clock_of_[a]];
        const ClockFit& of_b = fits.clocks[clock_of_[b]];
        if (parted && (a + b) % 2 == 1) {
          right = right && of_a.set != of_b.set;
          continue;
        }
        const double stated = static_cast<double>(of_a.error_ns + of_b.error_ns);
        const double wrong = Wrong(a, b, of_a, of_b, parted, kept);
        series.stated.push_back(stated);
        series.wrong.push_back(wrong);
        if (wrong <= stated) continue;
        right = false;
        std::cerr << fmt::format("ranks {} and {}: {:.0f} ns off, stated {:.0f}\n", a, b, wrong,
                                 stated);
      }
    }
    ++series.cases;
    series.right += right ? 1 : 0;
    return right;
  }

 private:
  double Between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  static bool Held(uint64_t collective) { return collective % 3 == 0; }
  int64_t Planted(size_t r, int64_t at) const {
    return at + std::llround(offset_[r] + drift_[r] * static_cast<double>(at));
  }

  double Wrong(size_t a, size_t b, const ClockFit& of_a, const ClockFit& of_b, bool parted,
               const std::vector<std::map<uint64_t, int64_t>>& kept) const {
    // On a's own clock: which time of it is b's.
    std::vector<std::pair<int64_t, int64_t>> held;
    for (const auto& [collective, end] : ranks_[b].ends) {
      const auto same = ranks_[a].ends.find(collective);
      if (Held(collective) && same != ranks_[a].ends.end()) held.emplace_back(end, same->second);
    }
    std::optional<Thirds> reference;
    if (ranks_[a].source != ranks_[b].source) reference.emplace(held);
    // The stated error holds while both ranks have ends in common with the first clock of their
    // set.
    size_t root = a;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if ((!parted || (r + a) % 2 == 0) && clock_of_[r] < clock_of_[root]) root = r;
    }
    int64_t first = std::numeric_limits<int64_t>::min();
    int64_t last = std::numeric_limits<int64_t>::max();
    for (const size_t member : {a, b}) {
      std::vector<int64_t> common;
      for (const auto& [collective, end] : kept[member]) {
        const bool shared = kept[root].contains(collective) && ranks_[b].ends.contains(collective);
        if (shared) common.push_back(ranks_[b].ends.at(collective));
      }
      const auto [least, most] = std::minmax_element(common.begin(), common.end());
      first = std::max(first, *least);
      last = std::min(last, *most);
    }
    double worst = 0;
    for (int part = 0; part <= 8; ++part) {
      const int64_t of_b_ns = first + (last - first) / 8 * part;
      const int64_t of_a_ns =
          reference ? std::llround(reference->To(static_cast<double>(of_b_ns))) : of_b_ns;
      const int64_t apart =
          ToCommon(of_b, Planted(b, of_b_ns)) - ToCommon(of_a, Planted(a, of_a_ns));
      worst = std::max(worst, std::abs(static_cast<double>(apart)));
    }
    return worst;
  }

  const std::vector<RealRank>& ranks_;
  std::mt19937_64 random_;
  std::vector<double> offset_, drift_;
  std::vector<size_t> clock_of_;
};

double Most(const std::vector<double>& of) { return *std::max_element(of.begin(), of.end()); }

int Main(int cases, uint64_t seed, const std::vector<std::string>& paths) {
  const auto ranks = Read(paths);
  if (!ranks) {
    std::cerr << ranks.error().message << '\n';
    return 2;
  }
  std::cout
      << "| ranks | groups | cases right | offset up to s | drift up to ppm | stated error us,"
         " median (most) | off by us, median (most) |\n|---|---|---|---|---|---|---|\n";
  int wrong = 0;
  for (const bool parted : {false, true}) {
    if (parted && ranks->size() < 3) {
      // Two separated ranks have no reference.
      Series series;
      for (int i = 0; i < cases; ++i) {
        Trial(*ranks, seed + static_cast<uint64_t>(i)).Run(true, series);
      }
      std::cout << fmt::format("| {} | disjoint | {} of {} refused | {:.1f} | {:.1f} | - | - |\n",
                               ranks->size(), series.right, series.cases, Most(series.offset) / 1e9,
                               Most(series.drift) * 1e6);
      wrong += series.cases - series.right;
      continue;
    }
    Series series;
    for (int i = 0; i < cases; ++i) {
      if (!Trial(*ranks, seed + static_cast<uint64_t>(i)).Run(parted, series)) {
        std::cerr << "case " << i << (parted ? " (parted)\n" : "\n");
      }
    }
    wrong += series.cases - series.right;
    std::cout << fmt::format(
        "| {} | {} | {} of {}{} | {:.1f} | {:.1f} | {:.1f} ({:.1f}) | {:.1f} ({:.1f}) |\n",
        ranks->size(), parted ? "disjoint" : "one", series.right, series.cases,
        parted ? " refused" : "", Most(series.offset) / 1e9, Most(series.drift) * 1e6,
        LowerMedian(series.stated) / 1e3, Most(series.stated) / 1e3,
        LowerMedian(series.wrong) / 1e3, Most(series.wrong) / 1e3);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace xlatrace::fleet

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: fleet_real_clocks CASES SEED RUN_DB...\n";
    return 2;
  }
  return xlatrace::fleet::Main(std::atoi(argv[1]), std::strtoull(argv[2], nullptr, 10),
                               {argv + 3, argv + argc});
}
