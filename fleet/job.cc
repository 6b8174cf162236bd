// SPDX-License-Identifier: Apache-2.0
#include "fleet/job.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "fleet/collectives.h"
#include "fleet/job_answer.h"
#include "fleet/pairing.h"
#include "fleet/path_collector.h"
#include "fleet/rank_numbers.h"
#include "fleet/skew.h"
#include "store/run_db.h"

namespace xlatrace::fleet {
namespace {

constexpr size_t kEndsPerRank = 512;  // More ends do not improve a line.

class JobReader {
 public:
  Result<Job> Run(const std::vector<std::string>& run_dbs) {
    for (const std::string& path : run_dbs) {
      Status read = ReadSource(path);
      if (!read) job_.skipped.push_back(std::move(read).error());
    }
    if (job_.sources.empty() && !job_.skipped.empty()) {
      return tl::unexpected<Error>(job_.skipped.front());
    }
    if (job_.ranks.empty()) {
      return MakeError("none of the recordings has a device with activity",
                       "xlatrace summary RUN shows the contents of a recording");
    }
    NumberRanks(job_);
    NumberSteps(job_);
    pairing_.emplace(job_.ranks.size());
    if (!group_sizes_.empty() && *group_sizes_.begin() < static_cast<int64_t>(job_.ranks.size())) {
      for (size_t s = 0; s < job_.sources.size(); ++s) XLATRACE_TRY(ReadGroups(s));
      pairing_->Settle();
    }
    for (size_t s = 0; s < job_.sources.size(); ++s) XLATRACE_TRY(ReadEnds(s));
    job_.clocks = FitClocks(clocks_.size(), std::move(ends_));
    ReportClocks();
    path_.emplace(job_.ranks.size());
    for (size_t s = 0; s < job_.sources.size(); ++s) XLATRACE_TRY(ReadWaiting(s));
    job_.collectives = collectives_.Rows(skew_, *pairing_, SteadySteps());
    AnswerJob(skew_, *pairing_, unpaired_ns_, Unpaired(), job_);
    path_->FillPath(skew_, job_);
    return std::move(job_);
  }

 private:
  std::string Unpaired() const {
    return UnpairedWords(group_sizes_.empty() ? 0 : *group_sizes_.rbegin(), job_.ranks.size());
  }

  Status ReadSource(const std::string& path) {
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(path));
    XLATRACE_ASSIGN(RunRanks run, ReadRanks(db));
    XLATRACE_TRY(db.ForEach("SELECT DISTINCT group_size FROM collective WHERE group_size > 1",
                            [&](const store::Statement& row) {
                              group_sizes_.insert(row.Int64(0));
                              return true;
                            }));
    XLATRACE_ASSIGN(const auto start, db.Info("start_unix_ns"));
    Source source{.path = path};
    if (start && !start->empty()) source.start_unix_ns = std::strtoll(start->c_str(), nullptr, 10);
    const size_t number = job_.sources.size();
    job_.sources.push_back(std::move(source));
    waited_.push_back(std::move(run.waited));
    if (run.ranks.empty()) {
      job_.AddNote(
          "rank_without_work", model::Severity::kNotice, path,
          "no device has activity in this recording, so it is not part of the job's figures; "
          "xlatrace summary shows its contents");
    }
    for (RankTimes& times : run.ranks) {
      // The same process of the same recording, with another path.
      const auto identity =
          std::tuple(times.host, times.pid, times.ordinal, times.activities, times.device_ns);
      if (times.pid && !known_.insert(identity).second) {
        job_.AddNote(
            "rank_twice", model::Severity::kNotice, path,
            fmt::format("process {} is in another recording of the job too: it counts once",
                        *times.pid));
        continue;
      }
      Rank& rank = job_.ranks.emplace_back();
      rank.source = number;
      rank.clock = clocks_.try_emplace({number, times.host}, clocks_.size()).first->second;
      rank.times = std::move(times);
    }
    return {};
  }

  // True if the given ranks leave it together, even if some of its ranks are missing.
  bool Common(const RankCollective& collective) const {
    const auto all = static_cast<int64_t>(job_.ranks.size());
    return Synchronises(collective.op) && all > 1 && collective.group_size.value_or(all) >= all;
  }

  std::map<int64_t, size_t> RanksOf(size_t source) const {
    std::map<int64_t, size_t> of_device;
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      if (job_.ranks[r].source == source) of_device[job_.ranks[r].times.device_id] = r;
    }
    return of_device;
  }

  // Collectives of the ranks of the job, with its step numbers.
  template <typename Give>
  Status Collectives(store::RunDb& db, const std::map<int64_t, size_t>& of_device,
                     const Give& give) {
    return ReadCollectives(db, [&](RankCollective& collective) {
      const auto rank = of_device.find(collective.device_id);
      if (rank == of_device.end()) return;
      collective.key.step += job_.ranks[rank->second].step_shift;
      give(rank->second, collective);
    });
  }

  bool Steady(size_t rank, const RankCollective& collective) const {
    const auto& steps = job_.ranks[rank].times.steps;
    const auto step = steps.find(collective.key.step);
    return step != steps.end() && step->second.steady;
  }

  Status ReadGroups(size_t source) {
    const std::map<int64_t, size_t> of_device = RanksOf(source);
    if (of_device.empty()) return {};
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(job_.sources[source].path));
    return Collectives(db, of_device, [&](size_t rank, const RankCollective& collective) {
      pairing_->Add(rank, collective);
    });
  }

  Status ReadEnds(size_t source) {
    const std::map<int64_t, size_t> of_device = RanksOf(source);
    if (of_device.empty()) return {};
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(job_.sources[source].path));
    int64_t unpaired = 0;
    std::vector<CollectiveEnd> ends;
    XLATRACE_TRY(Collectives(db, of_device, [&](size_t rank, const RankCollective& collective) {
      const auto paired = pairing_->Of(rank, collective);
      if (!paired && Synchronises(collective.op)) {
        ++unpaired;
        if (Steady(rank, collective)) unpaired_ns_ += collective.exposed_ns;
      }
      if (!paired && !Common(collective)) return;
      if (paired) skew_.Add(paired->key, collective.duration_ns, rank);
      const uint64_t id = CollectiveKeyHash()(paired ? paired->key : collective.key);
      ends.push_back({id, static_cast<uint32_t>(job_.ranks[rank].clock),
                      job_.sources[source].start_unix_ns + collective.end_ns});
    }));
    if (unpaired > 0) {
      model::RunStat& stat = job_.said.emplace_back();
      stat = {.name = "collectives_unpaired",
              .severity = model::Severity::kNotice,
              .source = job_.sources[source].path,
              .value = unpaired,
              .advice = Unpaired() + ": their waiting is not known"};
    }
    // The same collectives of every rank, independent of the content of each recording.
    const size_t most = kEndsPerRank * of_device.size();
    if (ends.size() > most) {
      if (keep_one_in_ == 0) keep_one_in_ = ends.size() / most + 1;
    }
    for (const CollectiveEnd& end : ends) {
      if (keep_one_in_ <= 1 || end.collective % keep_one_in_ == 0) ends_.push_back(end);
    }
    return {};
  }

  void ReportClocks() {
    if (job_.clocks.sets < 2) return;
    std::map<size_t, std::string> names;
    for (const Rank& rank : job_.ranks) {
      std::string& of_set = names[job_.clocks.clocks[rank.clock].set];
      if (of_set.size() < 120) of_set += (of_set.empty() ? "" : ", ") + rank.name;
    }
    for (const auto& [set, of_set] : names) {
      if (set == 0) continue;
      job_.AddNote(
          "clocks_not_aligned", model::Severity::kNotice, of_set,
          "no collective in common with the first rank: times of these ranks and of the others are "
          "not compared");
    }
  }

  Status ReadWaiting(size_t source) {
    const std::map<int64_t, size_t> of_device = RanksOf(source);
    if (of_device.empty()) return {};
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(job_.sources[source].path));
    XLATRACE_TRY(Collectives(db, of_device, [&](size_t rank, const RankCollective& collective) {
      const auto paired = pairing_->Of(rank, collective);
      const auto group = paired ? skew_.Of(paired->key, paired->ranks) : std::nullopt;
      const auto waited = Waited(rank, collective, group);
      collectives_.Add(rank, collective, Steady(rank, collective), waited);
      path_->Add(rank, collective, group, waited_[source][collective.position]);
    }));
    for (const auto& [device, rank] : of_device) path_->EndRank(rank, job_.ranks[rank].times);
    return {};
  }

  // Adds the waiting time to the step of the rank; nullopt if it is not known.
  std::optional<int64_t> Waited(size_t rank, const RankCollective& collective,
                                const std::optional<Skew::Group>& group) {
    if (!collective.op.empty() && !Synchronises(collective.op)) {
      job_.ranks[rank].waited[collective.key.step].elsewhere_ns += collective.exposed_ns;
      return std::nullopt;
    }
    if (!group) return std::nullopt;
    WaitedStep& step = job_.ranks[rank].waited[collective.key.step];
    step.told = true;
    step.transfer_ns += group->transfer_ns;
    // Waiting beside computation costs nothing.
    const int64_t waited =
        std::min(collective.duration_ns - group->transfer_ns, collective.exposed_ns);
    step.wait_ns += waited;
    return waited;
  }

  std::vector<int64_t> SteadySteps() const {
    std::vector<int64_t> steady;
    for (const Rank& rank : job_.ranks) {
      steady.push_back(std::count_if(rank.times.steps.begin(), rank.times.steps.end(),
                                     [](const auto& step) { return step.second.steady; }));
    }
    return steady;
  }

  Job job_;
  std::map<std::pair<size_t, std::string>, size_t> clocks_;
  std::set<std::tuple<std::string, std::optional<int64_t>, int64_t, int64_t, int64_t>> known_;
  std::set<int64_t> group_sizes_;
  // Exposed time in steady steps. Others do not count, because ranks wait for seconds during
  // start-up.
  int64_t unpaired_ns_ = 0;
  std::optional<Pairing> pairing_;
  Skew skew_;
  JobCollectives collectives_;
  std::optional<PathCollector> path_;
  std::vector<std::vector<bool>> waited_;  // By source: RunRanks::waited.
  std::vector<CollectiveEnd> ends_;
  uint64_t keep_one_in_ = 0;
};

}  // namespace

void Job::AddNote(std::string name, model::Severity severity, std::string source,
                  std::string advice) {
  said.push_back({.name = std::move(name),
                  .severity = severity,
                  .source = std::move(source),
                  .value = 1,
                  .advice = std::move(advice)});
}

Result<Job> ReadJob(const std::vector<std::string>& run_dbs) { return JobReader().Run(run_dbs); }

bool SameTime(const Job& job, size_t a, size_t b) {
  return job.clocks.clocks[job.ranks[a].clock].set == job.clocks.clocks[job.ranks[b].clock].set;
}

}  // namespace xlatrace::fleet
