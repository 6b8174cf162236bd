// SPDX-License-Identifier: Apache-2.0

// Finds the ranks that other ranks of a job wait for, because their own work takes longer.
//
// One rank always arrives last. A rank that was delayed once can stay last for the rest of a run,
// because the hosts of the others keep their lead. Such a rank is not slower. A rank is therefore
// late only under two conditions. Without this rank, steps would be shorter; the difference is its
// cost. And one kind of its work (kernels or host) takes longer than that of the other ranks, with
// statistical significance. The test is Wilcoxon's rank-sum test (1945) over steps.
//
// All times are nanoseconds per step and need no common clock. Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_LATE_RANK_H_
#define XLATRACE_ANALYSIS_LATE_RANK_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace xlatrace::analysis {

// One rank. The vectors have one value per step; all ranks have the same steps.
struct RankWork {
  std::vector<double> own_ns;     // Duration of the step without waits for other ranks.
  std::vector<double> kernel_ns;  // Computation on the device.
  std::vector<double> host_ns;    // Host time between calls of the API; empty: unknown.
};

enum class LateWork { kKernels, kHost };

struct LateRanks {
  std::vector<size_t> ranks;  // Indices of the late ranks, longest own time first.
  LateWork work = LateWork::kKernels;
  // Mean over steps: the longest own time less the longest own time of all other ranks.
  double cost_ns = 0;
  // Excess of the first rank's work over that of the others (medians over steps).
  double excess_ns = 0;
};

// Empty if no rank is late, if all ranks are equally long, or with fewer than two ranks.
// `min_cost_ns`: smaller costs are not reported.
std::optional<LateRanks> FindLateRanks(const std::vector<RankWork>& ranks, double min_cost_ns);

// Probability that values from the distribution of `others` get ranks as high as those of `values`.
// Normal approximation; 1 without values.
double RankSumProbability(const std::vector<double>& values, const std::vector<double>& others);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LATE_RANK_H_
