// SPDX-License-Identifier: Apache-2.0

// Which rank everyone waits for, what that costs, since when, and why.
//
// Gets times per rank and step that need no common clock (fleet/skew.h), gives one answer. What a
// rank does by itself in a step is the step without its waiting; who has most of it is waited for.
//
// Like is compared with like: a rank's excess is what it has more than the median of the ranks that
// run the same program. Somebody is always last, so an excess counts only where it is larger than
// kLeastShare of the step and than kSpreads spreads of what clean ranks differ by, and stays on the
// same rank; with an excess that wanders or comes once other causes are looked at.
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
  std::string name;  // As the person knows it: "rank 17 (host b)".
  std::string host;  // Empty: unknown.
  std::string
      program;  // What it runs: fingerprints of the modules of a step. Same text, same work.
};

// One rank in one step. The parts are times of the device: they need not sum to the step, for what
// runs beside computation is in none of them.
struct RankStep {
  bool known = false;
  double step_ns = 0;
  double wait_ns = 0;   // In synchronising collectives, for others; in sends and receives at all.
  double gemm_ns = 0;   // Matrix products and convolutions.
  double other_ns = 0;  // All other computation and copies.
  double gap_ns = 0;    // The device idle.
};

// The exchange itself of one instruction in one of its groups, per step.
struct GroupTransfer {
  std::string instruction;
  std::vector<size_t> ranks;
  double transfer_ns = 0;
};

struct JobTimes {
  std::vector<JobRank> ranks;
  std::vector<int64_t>
      steps;  // Their numbers, ascending: the steady ones and what interrupts them.
  std::vector<RankStep> times;  // Rank r in step s: r x steps + s.
  std::vector<GroupTransfer> transfers;

  const RankStep& At(size_t rank, size_t step) const { return times[rank * steps.size() + step]; }
};

enum class Cause {
  kNone,      // Nobody is waited for more than ranks differ by anyway.
  kSlowGpu,   // Kernels stretched.
  kSlowHost,  // Kernels equal, gaps longer.
  kLink,      // Exchanges of groups that share a host take longer than those of other groups.
  kData,      // Computation that differs, of another rank in every step.
  kProgram,   // Other modules with more to do: a longer pipeline stage.
  kOneOff,    // Single steps: checkpoint, compilation, garbage collection.
  kUnknown,   // Somebody is waited for; the data do not say why.
  kNoData     // Too few steps or ranks to say anything.
};
std::string_view Text(Cause cause);  // "slow_gpu"; what run.db and JSON say.

enum class GpuReason { kNone, kClocks, kMemoryOrNeighbour };

struct CulpritAnswer {
  Cause cause = Cause::kNone;
  GpuReason gpu = GpuReason::kNone;
  std::vector<size_t> ranks;  // Who is waited for, the worst first. Of kData and kNone: empty.
  double step_ns = 0;         // Median over steps, of the slowest rank's step.
  // Per step, mean over the steps since `since_step`: against the longest of the others; of kLink
  // against all ranks with exchanges as short as those of other groups.
  double cost_ns = 0;
  double without_ns = 0;  // The step without it.
  int64_t since_step = 0;
  bool all_along = true;              // It is the first of the steps that are judged.
  std::vector<int64_t> steps;         // Of kOneOff: which ones.
  std::vector<std::string> evidence;  // Sentences with numbers.
  // Per rank: what it has more than its like, per step (median over steps).
  std::vector<double> excess_ns;
};

inline constexpr double kLeastShare = 0.02;
inline constexpr double kSpreads = 6;
inline constexpr size_t kFewestSteps = 5;

CulpritAnswer FindCulprit(const JobTimes& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_CULPRIT_H_
