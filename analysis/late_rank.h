// SPDX-License-Identifier: Apache-2.0

// Finds the ranks for which the others of a job wait because their own work takes longer.
//
// Some rank is always last. A rank that fell behind once can stay last for the rest of a run
// without being slower. The reason is that the hosts of the others keep their lead. A rank is
// therefore late only under two conditions. Without it, steps would be shorter: this is its cost.
// And one kind of its work (kernels or host) takes longer than that of the other ranks by more than
// chance explains. The test is Wilcoxon's rank-sum test (1945) over steps.
//
// All times are nanoseconds per step and need no common clock. Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_LATE_RANK_H_
#define XLATRACE_ANALYSIS_LATE_RANK_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace xlatrace::analysis {

// One rank; the vectors have one value per step, the same steps for all ranks.
struct RankWork {
  std::vector<double> own_ns;     // Step without its waits for other ranks.
  std::vector<double> kernel_ns;  // Computation on the device.
  std::vector<double> host_ns;    // Host time between calls of the API; empty: unknown.
};

enum class LateWork { kKernels, kHost };

struct LateRanks {
  std::vector<size_t> ranks;  // Index; the one with the longest own time first.
  LateWork work = LateWork::kKernels;
  // Mean over steps: the longest own time less the longest own time of all other ranks.
  double cost_ns = 0;
  // By how much the work of the first rank exceeds that of the others (medians over steps).
  double excess_ns = 0;
};

// Empty if no rank is late, if the ranks that are longer are all of them, or with fewer than two
// ranks. `min_cost_ns`: smaller costs are not reported.
std::optional<LateRanks> FindLateRanks(const std::vector<RankWork>& ranks, double min_cost_ns);

// Probability that values from one distribution rank as high as `values` do among `others`.
// Normal approximation; 1 without values.
double RankSumProbability(const std::vector<double>& values, const std::vector<double>& others);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LATE_RANK_H_
