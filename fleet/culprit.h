// SPDX-License-Identifier: Apache-2.0

// Finds the rank that the other ranks wait for, the cost of the waiting, the first step, and the
// cause.
//
// The input is times per rank and step, which need no common clock (fleet/skew.h). The own time of
// a rank is its step without its waiting time; the others wait for the rank with the longest own
// time.
//
// The excess of a rank is its own time minus the median of the ranks that run the same program. One
// rank is always last, so an excess counts only under two conditions. It exceeds kMinExcessShare of
// the step and kMinExcessSpreads spreads of normal ranks, and it stays on the same rank. If the
// excess moves between ranks or occurs once, other causes are tested.
//
// Thread-safety: pure.

#ifndef XLATRACE_FLEET_CULPRIT_H_
#define XLATRACE_FLEET_CULPRIT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::fleet {

struct JobRank {
  std::string name;     // Name for the user: "rank 17 (host b)".
  std::string host;     // Empty: unknown.
  std::string program;  // Fingerprints of the modules of a step. Equal texts mean equal work.
};

// One rank in one step. The parts are times of the device. They need not sum to the step, because
// work in parallel with computation is in no part.
struct RankStep {
  bool known = false;
  double step_ns = 0;
  double wait_ns = 0;   // For other ranks, in synchronising collectives; all of the time in sends
                        // and receives.
  double gemm_ns = 0;   // Matrix products and convolutions.
  double other_ns = 0;  // All other computation and copies.
  double gap_ns = 0;    // Device idle.
};

// The exchange time of one instruction in one of its groups, per step.
struct GroupTransfer {
  std::string instruction;
  std::vector<size_t> ranks;
  double transfer_ns = 0;
};

struct JobTimes {
  std::vector<JobRank> ranks;
  std::vector<int64_t> steps;   // Numbers, ascending: the steady steps and those between them.
  std::vector<RankStep> times;  // Rank r in step s: r x steps + s.
  std::vector<GroupTransfer> transfers;

  const RankStep& At(size_t rank, size_t step) const { return times[rank * steps.size() + step]; }
};

enum class Cause {
  kNone,      // Ranks differ only by their usual scatter.
  kSlowGpu,   // Kernels take longer.
  kSlowHost,  // Kernels take equally long, gaps longer.
  kLink,      // Exchanges of groups that share a host take longer than others.
  kData,      // Computation takes longer, on another rank in every step.
  kProgram,   // Other modules with more work: a longer pipeline stage.
  kOneOff,    // Single steps: checkpoint, compilation, garbage collection.
  kUnknown,   // Others wait for a rank, and the data does not show why.
  kNoData     // Too few steps or ranks.
};
std::string_view Text(Cause cause);  // "slow_gpu"; the text in run.db and JSON.

enum class GpuReason { kNone, kClocks, kMemoryOrNeighbour };

struct CulpritAnswer {
  Cause cause = Cause::kNone;
  GpuReason gpu = GpuReason::kNone;
  std::vector<size_t> ranks;  // Responsible ranks, the worst first. Empty for kData and kNone.
  double step_ns = 0;         // Median over steps of the slowest rank's step.
  // Per step, mean over the steps since `since_step`, compared with the longest of the other ranks.
  // For kLink, compared with all ranks if their exchanges were as short as those of other groups.
  double cost_ns = 0;
  double without_ns = 0;  // Step time without the cost.
  int64_t since_step = 0;
  bool all_along = true;              // `since_step` is the first evaluated step.
  std::vector<int64_t> steps;         // For kOneOff: the slow steps.
  std::vector<std::string> evidence;  // Sentences with numbers.
  // Per rank: own time less the median of similar ranks, per step (median over steps).
  std::vector<double> excess_ns;
};

inline constexpr double kMinExcessShare = 0.02;
inline constexpr double kMinExcessSpreads = 6;
inline constexpr size_t kMinSteps = 5;

CulpritAnswer FindCulprit(const JobTimes& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_CULPRIT_H_
