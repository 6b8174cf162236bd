// SPDX-License-Identifier: Apache-2.0

// A job of many recordings: whose they are, one clock, who is waited for.
//
// Two passes over the recordings, one at a time: the first reads figures per step and what each
// collective took at least, the second what each rank waited. What is kept of a rank is one row per
// step; of the job, one entry per collective.
//
// Who is who: fleet/rank_numbers.h. A process that comes twice counts once.
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
  // Permutes, sends, receives and broadcasts beside which nothing computed: waiting or transfer,
  // which of them is not known, but not the rank's own doing.
  int64_t elsewhere_ns = 0;
};

struct Rank {
  size_t source = 0;  // Into Job::sources.
  int64_t number = 0;
  std::string name;        // "rank 17", "rank 1 device 0 on b".
  size_t clock = 0;        // Into Job::clocks.
  RankTimes times;         // Steps by the job's numbers:
  int64_t step_shift = 0;  // what was added to the recording's own.
  std::map<int64_t, WaitedStep> waited;
};

struct Source {
  std::string path;  // A run.db.
  int64_t start_unix_ns = 0;
};

struct Job {
  std::vector<Source> sources;
  std::vector<Rank> ranks;  // By number and device.
  ClockFits clocks;
  std::vector<JobCollective> collectives;
  CulpritAnswer answer;
  PathAnswer path;
  // Of the segments' ends, by their numbers: program and instruction.
  std::map<uint32_t, std::pair<std::string, std::string>> on_path;
  std::vector<size_t> by_cost;       // Ranks, who is waited for most first.
  std::vector<model::RunStat> said;  // Twice the same, missing, other programs, clocks.
  std::vector<Error> skipped;        // Recordings that could not be read.

  // Adds to `said`.
  void Say(std::string name, model::Severity severity, std::string source, std::string advice);
};

// Fails where no recording can be read, or none has a device that did something.
Result<Job> ReadJob(const std::vector<std::string>& run_dbs);

// Whether the clocks of two ranks can be compared.
bool SameTime(const Job& job, size_t a, size_t b);

// "8 ranks; everyone waits for rank 3 (host b): 12.3 ms of each 140.2 ms step since step 40; its
// matrix products are stretched (clocks). Without it a step takes 127.9 ms"
std::string Sentence(const Job& job);
// The same without the number of ranks, where that stands beside it: "Everyone waits for ...".
std::string Heading(const Job& job);
// The two parts of it: who, how much and since when; and why, which may be empty.
std::string Headline(const Job& job);
std::string Reason(const Job& job);
// "Of the critical path over ranks 71% is on rank 5 ..."; empty for a job of one rank.
std::string PathSentence(const Job& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_JOB_H_
