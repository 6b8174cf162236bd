// SPDX-License-Identifier: Apache-2.0

// Collects the input of the critical path over ranks (fleet/job_path.h), rank by rank, and stores
// the path in the job.
//
// Memory besides the entries of the path: the collectives of one rank, until EndRank.
// Thread-safety: one thread.

#ifndef XLATRACE_FLEET_PATH_COLLECTOR_H_
#define XLATRACE_FLEET_PATH_COLLECTOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fleet/job.h"
#include "fleet/job_path.h"
#include "fleet/rank_reader.h"
#include "fleet/skew.h"

namespace xlatrace::fleet {

class PathCollector {
 public:
  explicit PathCollector(size_t ranks) : path_(ranks) {}

  // `group`: combined figures of all ranks of the collective; nullopt if the last rank is not
  // known. `stood_still`: the rank was idle when the collective ended (RunRanks::waited).
  void Add(size_t rank, const RankCollective& collective, const std::optional<Skew::Group>& group,
           bool stood_still);

  // Call it after all collectives of the rank were added.
  void EndRank(size_t rank, const RankTimes& times);

  // Fills `job.path` and `job.on_path`. `job.clocks` must be set.
  void FillPath(const Skew& skew, Job& job) const;

 private:
  struct OnPath {
    std::vector<PathCollective> collectives;
    int64_t untold_ns = 0;
  };

  JobPath path_;
  std::map<std::pair<size_t, int64_t>, OnPath> on_path_;  // By rank and step.
};

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_PATH_COLLECTOR_H_
