// SPDX-License-Identifier: Apache-2.0

// Ranks of a job for those who have none: FOLDER RANKS STEPS KERNELS SLOW [SHARD [SLOW_HOST
// [SEED]]] (see rank_files.h).

#include <cstdlib>
#include <iostream>

#include "tests/fleet/rank_files.h"

int main(int argc, char** argv) {
  if (argc < 6 || argc > 9) {
    std::cerr << "usage: fleet_ranks FOLDER RANKS STEPS KERNELS SLOW [SHARD [SLOW_HOST [SEED]]]\n";
    return 2;
  }
  xlatrace::fleet::RankFiles wanted;
  wanted.ranks = std::strtoull(argv[2], nullptr, 10);
  wanted.steps = std::strtoull(argv[3], nullptr, 10);
  wanted.kernels = std::strtoull(argv[4], nullptr, 10);
  wanted.slow = std::strtoll(argv[5], nullptr, 10);
  if (argc > 6) wanted.shard = std::strtoull(argv[6], nullptr, 10);
  if (argc > 7) wanted.slow_host = std::strtoll(argv[7], nullptr, 10);
  if (argc > 8) wanted.seed = std::strtoll(argv[8], nullptr, 10);
  const auto written = xlatrace::fleet::WriteRankFiles(argv[1], wanted);
  if (written) return 0;
  std::cerr << written.error().message << '\n';
  return 1;
}
