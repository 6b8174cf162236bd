// SPDX-License-Identifier: Apache-2.0

// A job of many recordings: its ranks, a common clock, and the rank that the other ranks wait for.
//
// Two passes read the recordings one at a time. The first reads figures per step and the shortest
// duration of each collective, the second the waiting time of each rank. Memory: one row per rank
// and step, and one entry per collective of the job.
//
// fleet/rank_numbers.h numbers the ranks. A duplicate process counts once.
//
// Thread-safety: one thread.

#ifndef XLATRACE_FLEET_JOB_H_
#define XLATRACE_FLEET_JOB_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "fleet/clocks.h"
#include "fleet/collectives.h"
#include "fleet/culprit.h"
#include "fleet/job_path.h"
#include "fleet/rank_reader.h"
#include "model/events.h"

namespace xlatrace::fleet {

struct WaitedStep {
  bool told = false;  // Collectives of this step could be paired.
  int64_t wait_ns = 0;
  int64_t transfer_ns = 0;
  // Exposed permutes, sends, receives and broadcasts. They are waiting or transfer, which cannot be
  // separated; they are not own time of the rank.
  int64_t elsewhere_ns = 0;
};

struct Rank {
  size_t source = 0;  // Index in Job::sources.
  int64_t number = 0;
  std::string name;        // "rank 17", "rank 1 device 0 on b".
  size_t clock = 0;        // Index in Job::clocks.
  RankTimes times;         // Steps have the numbers of the job:
  int64_t step_shift = 0;  // difference to the numbers of the recording.
  std::map<int64_t, WaitedStep> waited;
};

struct Source {
  std::string path;  // Path of a run.db.
  int64_t start_unix_ns = 0;
};

struct Job {
  std::vector<Source> sources;
  std::vector<Rank> ranks;  // Ordered by number and device.
  ClockFits clocks;
  std::vector<JobCollective> collectives;
  CulpritAnswer answer;
  PathAnswer path;
  // Program and instruction at the ends of the segments, by number.
  std::map<uint32_t, std::pair<std::string, std::string>> on_path;
  std::vector<size_t> by_cost;       // Ranks, ordered by cost, largest first.
  std::vector<model::RunStat> said;  // Messages: duplicates, missing ranks, other programs, clocks.
  std::vector<Error> skipped;        // Recordings that could not be read.

  // Adds a message to `said`.
  void AddNote(std::string name, model::Severity severity, std::string source, std::string advice);
};

// Fails if no recording can be read, or if no device has activities.
Result<Job> ReadJob(const std::vector<std::string>& run_dbs);

// True if times of two ranks can be compared.
bool SameTime(const Job& job, size_t a, size_t b);

// "8 ranks; all other ranks wait for rank 3 (host b): 12.3 ms of each 140.2 ms step since step 40;
// only its matrix products take longer, as with low clocks of the GPU. Without it a step takes
// 127.9 ms"
std::string Sentence(const Job& job);
// The same without the number of ranks, for places that show the number: "All other ranks wait for
// ...".
std::string Heading(const Job& job);
// The two parts of the sentence: rank, cost and first step; and the reason, which may be empty.
std::string Headline(const Job& job);
std::string Reason(const Job& job);
// "71% of the critical path over ranks is on rank 5 ..."; empty for a job of one rank.
std::string PathSentence(const Job& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_JOB_H_
