// SPDX-License-Identifier: Apache-2.0

// Through which ranks a step's time runs: the critical path over the ranks of a job.
//
// Ranks leave a collective in which they synchronise together, its exchange (fleet/skew.h) after
// the last of them came. So what follows it on a rank that stood still for it was bound by the
// exchange, that by what the last one to come had done since a collective had let it go, and so on
// back to the step's start. All times are differences on one rank's clock: no common clock is
// needed.
//
// A rank's own time on the path is all that lies between two collectives on it: computation,
// copies, gaps, and collectives in which ranks do not synchronise. What let a rank go before it
// came to a collective is the last to end of those
// - at whose end it stood still: beside whose end something computes, it holds nobody up;
// - that ended on the same stream right before (kRightBeforeNs): the stream was the queue;
// without any of them the step's start, and so the end of the same rank's step before.
//
// What is kept is one entry per collective of the job (how its last rank came there) and one per
// rank and step (how it came to the step's end).
// Thread-safety: const calls may run beside each other.

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
// Of the steps: beyond, what stands in collectives of which it is not known who comes last could
// turn the path; and who comes last by less is one of many that are even.
inline constexpr double kUntoldShare = 0.02;
inline constexpr double kWorthALead = 0.02;
// Of more stays only those of each few steps are kept.
inline constexpr size_t kMostStays = 100'000;
// What the path may be longer or shorter than the steps that it explains.
inline constexpr double kPathError = 0.05;

// A synchronising collective all of whose ranks are known, as one rank ran it.
struct PathCollective {
  uint32_t number = 0;  // Of the job's, from 0: the same on all ranks.
  int64_t stream = 0;
  int64_t start_ns = 0, end_ns = 0;  // The rank's clock.
  bool waited = false;               // Nothing computed when it ended.
  bool last = false;                 // This rank came last: its duration is the exchange.
  int64_t lead_ns = 0;               // Where it did: how much later than the next to last.
};

struct PathStep {
  int64_t number = 0;
  int64_t start_ns = 0, end_ns = 0;  // The rank's clock.
  bool steady = false;
  int64_t untold_ns = 0;  // Exposed in collectives of which it is not known who comes last.
};

// A stay of the path on one rank. It begins where `from` let the rank go, goes through collectives
// to which the rank came last, and ends with the exchange of the last of these, `to`, from which
// the path goes on on another rank.
struct PathSegment {
  int64_t step = 0;
  size_t rank = 0;
  std::optional<uint32_t> from, to;  // Nothing: the step's start; its end.
  int64_t own_ns = 0, exchange_ns = 0;
  int64_t collectives = 0;  // Whose exchanges these are.
  int64_t lead_ns = 0;      // To these: how much later than the next to last it came.

  bool operator==(const PathSegment&) const = default;
};

class JobPath {
 public:
  // Of a step, over ranks.
  struct Steps {
    size_t ranks = 0, steady = 0;  // That have it; of which it is steady.
    int64_t step_ns = 0, untold_ns = 0;
  };

  explicit JobPath(size_t ranks) : ends_(ranks) {}

  // Steps of a rank in order; `collectives` in any.
  void AddStep(size_t rank, const PathStep& step, std::vector<PathCollective> collectives);

  // In order of time, of the steps that all ranks have. A step begins on the rank on which the one
  // before ended; where that is not to be had (the end of the recordings, a hole in them),
  // `ends_last` says on which rank a step ended last. Nothing where collectives follow each other
  // in a circle: they are not paired rightly.
  std::vector<PathSegment> Walk(const std::function<size_t(int64_t step)>& ends_last) const;

  size_t ranks() const { return ends_.size(); }
  const std::map<int64_t, Steps>& steps() const { return steps_; }

 private:
  static constexpr uint32_t kStart = UINT32_MAX;
  // How the last rank came to a collective.
  struct Way {
    uint32_t from = kStart;
    uint32_t rank = UINT32_MAX;
    int64_t own_ns = 0, exchange_ns = 0, lead_ns = 0;
  };
  // How a rank came to its step's end.
  struct End {
    int64_t number = 0, start_ns = 0, end_ns = 0, own_ns = 0;
    uint32_t from = kStart;
  };

  const End* EndOf(size_t rank, int64_t step) const;

  std::vector<Way> ways_;               // By number of the collective.
  std::vector<std::vector<End>> ends_;  // By rank; in order.
  std::map<int64_t, Steps> steps_;
};

struct PathShare {
  int64_t own_ns = 0, lead_ns = 0;
};

struct PathAnswer {
  std::string why_not;                // A clause; empty: it is told.
  std::vector<PathSegment> segments;  // Whole steps, about kMostStays of them at most.
  // Of steady steps; where there are none, of all.
  int64_t steps = 0;
  int64_t path_ns = 0, exchange_ns = 0;
  std::vector<PathShare> shares;  // By rank.
};

PathAnswer FindPath(const JobPath& path, const std::function<size_t(int64_t step)>& ends_last);

// "Of the critical path over ranks 71% is on rank 5, which comes to exchanges 10.0 ms after the
// last but one; 12% is exchange". `names`: of ranks.
std::string PathSentence(const PathAnswer& answer, const std::vector<std::string>& names);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_JOB_PATH_H_
