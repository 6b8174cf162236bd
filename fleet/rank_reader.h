// SPDX-License-Identifier: Apache-2.0

// Reads the ranks of a run.db: a rank is one device of one process.
//
// The input is an open run.db. The results are figures per step, and collectives one by one, so
// that at most the rows of one rank are in memory. Thread-safety: one thread per run.db.

#ifndef XLATRACE_FLEET_RANK_READER_H_
#define XLATRACE_FLEET_RANK_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/skew.h"
#include "store/run_db.h"

namespace xlatrace::fleet {

struct RankStepTimes {
  int64_t start_ns = 0;  // Since the start of the run.
  int64_t step_ns = 0;
  int64_t gemm_ns = 0;   // Sums over activities.
  int64_t other_ns = 0;  // All other activities except collectives.
  int64_t idle_ns = 0;
  bool steady = false;
};

struct RankTimes {
  int64_t process_id = 0, device_id = 0, ordinal = 0;
  std::string host;
  std::optional<int64_t> pid, rank, local_rank;
  std::string program;  // Fingerprints of its main modules (names, without HLO).
  int64_t activities = 0, device_ns = 0;
  std::map<int64_t, RankStepTimes> steps;
};

// A rank was idle for a collective if nothing computed for this long before its end. Gaps between
// kernels of one stream are about as long.
inline constexpr int64_t kGapOfKernelsNs = 2'000;

struct RunRanks {
  std::vector<RankTimes> ranks;  // Devices with activities, by process and device.
  // For each collective, in the order of ReadCollectives: nothing computed on its device when it
  // ended. Copies do not count as computation.
  std::vector<bool> waited;
};

Result<RunRanks> ReadRanks(store::RunDb& db);

struct RankCollective {
  size_t position = 0;  // Index in RunRanks::waited.
  int64_t device_id = 0;
  CollectiveKey key;  // Its group is 0.
  std::string op;
  std::optional<int64_t> group_size;
  int64_t stream = 0;
  int64_t end_ns = 0;  // Since the start of the run.
  int64_t duration_ns = 0;
  int64_t exposed_ns = 0;
  std::optional<int64_t> bytes;
  double bus_bytes = 0;  // Bytes that cross the bus in a run; 0: not known.
};

// Collectives of known instructions inside steps, in the order of time.
Status ReadCollectives(store::RunDb& db, const std::function<void(RankCollective&)>& row);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_RANK_READER_H_
