// SPDX-License-Identifier: Apache-2.0

// The critical path over the ranks of a job.
//
// Ranks leave a synchronising collective together, one exchange time (fleet/skew.h) after the last
// rank arrived. So work after the collective, on a rank that was idle for it, was bound by the
// exchange. The exchange was bound by the work of the last rank to arrive, since an earlier
// collective released it. This repeats back to the start of the step. All times are differences on
// the clock of one rank, so no common clock is needed.
//
// The own time of a rank is all time between two collectives on the path. It includes computation,
// copies, gaps, and collectives that do not synchronise. Before a rank came to a collective, one
// of the earlier collectives released it. It is the last one to end of two kinds:
//
// - The rank was idle at its end. (If its end overlaps computation, it delays no work.)
// - It ended on the same stream just before (kRightBeforeNs), because the stream is a queue.
//
// Without such a collective, the start of the step released it, which is the end of the previous
// step on the rank.
//
// Memory: one entry per collective of the job, for the way of its last rank. One entry per rank and
// step, for the way to the end of the step. Thread-safety: const calls may run in parallel.

#ifndef XLATRACE_FLEET_JOB_PATH_H_
#define XLATRACE_FLEET_JOB_PATH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xlatrace::fleet {

inline constexpr int64_t kRightBeforeNs = 5'000;
// Shares of the step. More time in collectives with an unknown last rank could change the path. A
// smaller lead means that many ranks are about equally late.
inline constexpr double kUntoldShare = 0.02;
inline constexpr double kMinLeadShare = 0.02;
// If there are more segments, only those of each few steps are kept.
inline constexpr size_t kMaxSegments = 100'000;
// Tolerance between the length of the path and the length of the steps.
inline constexpr double kPathErrorTolerance = 0.05;

// A run of a synchronising collective on one rank, with all ranks of the collective.
struct PathCollective {
  uint32_t number = 0;  // Number in the job, from 0: the same on all ranks.
  int64_t stream = 0;
  int64_t start_ns = 0, end_ns = 0;  // The rank's clock.
  bool waited = false;               // The rank was idle when the collective ended.
  bool last = false;    // This rank arrived last, so its duration is the exchange time.
  int64_t lead_ns = 0;  // If `last`: delay behind the next to last rank.
};

struct PathStep {
  int64_t number = 0;
  int64_t start_ns = 0, end_ns = 0;  // The rank's clock.
  bool steady = false;
  int64_t untold_ns = 0;  // Exposed time in collectives with an unknown last rank.
};

// A part of the path on one rank. It begins where the collective `from` released the rank. It
// passes collectives to which this rank came last. It ends with the exchange of the last of these,
// `to`. There, the path continues on another rank.
struct PathSegment {
  int64_t step = 0;
  size_t rank = 0;
  std::optional<uint32_t> from, to;  // nullopt: the start or the end of the step.
  int64_t own_ns = 0, exchange_ns = 0;
  int64_t collectives = 0;  // Number of exchanges in exchange_ns.
  // Sum over these collectives of the time by which this rank arrived after the next to last rank.
  int64_t lead_ns = 0;

  bool operator==(const PathSegment&) const = default;
};

class JobPath {
 public:
  // One step over all ranks.
  struct Steps {
    // Number of ranks with the step, and number of ranks for which the step is steady.
    size_t ranks = 0, steady = 0;
    int64_t step_ns = 0, untold_ns = 0;
  };

  explicit JobPath(size_t ranks) : ends_(ranks) {}

  // Steps of a rank in order; `collectives` in any order.
  void AddStep(size_t rank, const PathStep& step, std::vector<PathCollective> collectives);

  // Segments in order of time, for the steps that all ranks have. A step begins on the rank on
  // which the previous step ended. If that rank is not known (the end of the recordings, a gap in
  // them), `ends_last` returns the rank on which a step ended last. Empty if collectives follow
  // each other in a cycle, which means that they are paired incorrectly.
  std::vector<PathSegment> Walk(const std::function<size_t(int64_t step)>& ends_last) const;

  size_t ranks() const { return ends_.size(); }
  const std::map<int64_t, Steps>& steps() const { return steps_; }

 private:
  static constexpr uint32_t kStartIndex = UINT32_MAX;
  // The way of the last rank to a collective.
  struct Way {
    uint32_t from = kStartIndex;
    uint32_t rank = UINT32_MAX;
    int64_t own_ns = 0, exchange_ns = 0, lead_ns = 0;
  };
  // The path of a rank to the end of its step.
  struct End {
    int64_t number = 0, start_ns = 0, end_ns = 0, own_ns = 0;
    uint32_t from = kStartIndex;
  };

  const End* EndOf(size_t rank, int64_t step) const;

  std::vector<Way> ways_;               // By number of the collective.
  std::vector<std::vector<End>> ends_;  // By rank, in order.
  std::map<int64_t, Steps> steps_;
};

struct PathShare {
  int64_t own_ns = 0, lead_ns = 0;
};

struct PathAnswer {
  std::string why_not;  // Clause with the reason if there is no path; empty: there is a path.
  std::vector<PathSegment> segments;  // Whole steps, with about kMaxSegments segments at most.
  // Sums over the steady steps; without any, over all steps.
  int64_t steps = 0;
  int64_t path_ns = 0, exchange_ns = 0;
  std::vector<PathShare> shares;  // By rank.
};

PathAnswer FindPath(const JobPath& path, const std::function<size_t(int64_t step)>& ends_last);

// "71% of the critical path over ranks is on rank 5, which reaches exchanges 10.0 ms after the last
// rank but one; 12% is exchange". `names`: names of the ranks.
std::string PathSentence(const PathAnswer& answer, const std::vector<std::string>& names);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_JOB_PATH_H_
