// SPDX-License-Identifier: Apache-2.0

// Ranks of a job as run.db files, one per rank, as `import` writes them. A step has one matrix
// product, one other kernel, a gap, and an all-reduce over all ranks.
//
// The job is simulated on one true clock; each file has its own, shifted and drifting.

#ifndef XLATRACE_TESTS_FLEET_RANK_FILES_H_
#define XLATRACE_TESTS_FLEET_RANK_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::fleet {

struct RankFiles {
  size_t ranks = 8;
  size_t steps = 12;
  size_t kernels = 1;  // Other kernels of a step.
  int64_t seed = 1;
  int64_t slow = -1;       // The matrix products of this rank take 1.5 times as long.
  bool clocks = true;      // Shifted by up to 5 s, drifting by up to 20 ppm.
  bool apart = false;      // Ranks of odd number run a program of their own: nothing in common.
  int64_t group_size = 0;  // Group size of the collectives; 0: all ranks.
  // More than 0: FSDP and DP. After the product, ranks gather in groups of this many neighbours.
  // At the end of the step they reduce across: each with the ranks at its place in other groups.
  size_t shard = 0;
  bool across = false;  // Reversed: gather across hosts, reduce among neighbours.
  // Stages of a pipeline: consecutive ranks with one program, which reduce among themselves.
  // Other stages wait in a permute until the last stage has ended.
  size_t stages = 1;
  double long_stage = 1;      // The last stage's product takes this many times as long.
  int64_t late = -1;          // This rank's recording begins seven steps later, and counts from 0.
  int64_t start_wait_ns = 0;  // Rank 0 starts this much earlier; step 0 is not steady.
  bool beside = false;     // From 10 us after its start on, a kernel runs beside each all-reduce.
  bool copies = false;     // The parallel work is a copy.
  int64_t slow_host = -1;  // Exchanges in which this host takes part take five times as long.
};

struct WrittenRanks {
  std::vector<std::string> paths;  // By rank.
  std::vector<int64_t> offset_ns;  // local = true + offset + drift x true.
  std::vector<double> drift;
};

Result<WrittenRanks> WriteRankFiles(const std::string& folder, const RankFiles& wanted);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_TESTS_FLEET_RANK_FILES_H_
