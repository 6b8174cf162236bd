// SPDX-License-Identifier: Apache-2.0

// Jobs of many ranks that never ran, with one thing planted in them.
//
// Each rank computes, exchanges with a neighbour host, computes, exchanges with the other one, and
// all ranks meet in one all-reduce. No other cause delays a rank. Times and jitter are those of a
// real rank: per-step sums of two ranks of nsys-jax-pax-fsdp4-a100 (steps 2 to 4). Products take
// 54.9 ms, other kernels 65.4 ms, gaps 2.4 to 8.4 ms. Waiting is simulated on one true clock and
// visible only as durations of collectives.

#ifndef XLATRACE_TESTS_FLEET_JOB_MAKER_H_
#define XLATRACE_TESTS_FLEET_JOB_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "fleet/culprit.h"

namespace xlatrace::fleet {

struct Plant {
  Cause cause = Cause::kNone;
  GpuReason gpu = GpuReason::kNone;
  size_t rank = 0;  // The rank of kSlowGpu, kSlowHost, kOneOff; for kLink a rank of the slow host.
  size_t step = 0;  // First slow step; for kOneOff the only one.
  double factor =
      0;  // Additional time as a share of the stretched work; for hosts and one-offs of the step.
  bool everyone = false;  // kOneOff: all ranks stop (a checkpoint).
};

struct MadeJob {
  JobTimes times;
  std::vector<size_t> ranks_of_host;  // Ranks on the host of the planted rank.
  double true_step_ns = 0;            // Median, with the plant.
  double true_clean_ns = 0;           // The same random numbers without it.
};

// Case `number` of a size: the causes in turn (slow GPU twice), all else by chance.
Plant AnyPlant(std::mt19937_64& random, size_t number, size_t ranks, size_t steps);

// True if the answer has the planted rank, host, GPU or step, or no rank for a clean job.
bool NamesTheRank(const CulpritAnswer& answer, const Plant& plant, const MadeJob& made);

MadeJob MakeJob(size_t ranks, size_t steps, const Plant& plant, uint64_t seed);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_TESTS_FLEET_JOB_MAKER_H_
