#include "fleet/job.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/number_format.h"
#include "fleet/collectives.h"
#include "fleet/pairing.h"
#include "fleet/robust.h"
#include "fleet/skew.h"
#include "fleet/step_numbers.h"
#include "store/run_db.h"

namespace xlatrace::fleet {
namespace {

constexpr size_t kEndsPerRank = 512;  // More do not make a line better known.

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
      return MakeError("none of the recordings has a device that did something",
                       "xlatrace summary RUN says what a recording holds");
    }
    Number();
    NumberSteps();
    pairing_.emplace(job_.ranks.size());
    if (!group_sizes_.empty() && *group_sizes_.begin() < static_cast<int64_t>(job_.ranks.size())) {
      for (size_t s = 0; s < job_.sources.size(); ++s) XLATRACE_TRY(ReadGroups(s));
      pairing_->Settle();
    }
    for (size_t s = 0; s < job_.sources.size(); ++s) XLATRACE_TRY(ReadEnds(s));
    job_.clocks = FitClocks(clocks_.size(), std::move(ends_));
    SayClocks();
    path_.emplace(job_.ranks.size());
    for (size_t s = 0; s < job_.sources.size(); ++s) XLATRACE_TRY(ReadWaiting(s));
    Answer();
    TellPath();
    return std::move(job_);
  }

 private:
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
      Say("rank_without_work", model::Severity::kNotice, path,
          "no device did anything in this recording: it is not in the job's figures; xlatrace "
          "summary of it says what it holds");
    }
    for (RankTimes& times : run.ranks) {
      // The same process of the same recording, under another name.
      const auto identity =
          std::tuple(times.host, times.pid, times.ordinal, times.activities, times.device_ns);
      if (times.pid && !known_.insert(identity).second) {
        Say("rank_twice", model::Severity::kNotice, path,
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

  void Say(std::string name, model::Severity severity, std::string source, std::string advice) {
    job_.said.push_back({.name = std::move(name),
                         .severity = severity,
                         .source = std::move(source),
                         .value = 1,
                         .advice = std::move(advice)});
  }

  void Number() {
    std::map<int64_t, std::set<std::pair<size_t, int64_t>>> processes_of;
    bool all = true;
    for (const Rank& rank : job_.ranks) {
      all = all && rank.times.rank.has_value();
      processes_of[rank.times.rank.value_or(0)].emplace(rank.source, rank.times.process_id);
    }
    bool twice = false;
    for (const auto& [number, processes] : processes_of) twice = twice || processes.size() > 1;
    if (all && !twice) {
      for (Rank& rank : job_.ranks) rank.number = *rank.times.rank;
    } else {
      if (all && processes_of.size() > 1) {
        Say("rank_number_twice", model::Severity::kNotice, "merge",
            "processes of the job have the same rank: ranks are numbered by host and order here");
      }
      NumberByOrder();
    }
    std::stable_sort(job_.ranks.begin(), job_.ranks.end(), [](const Rank& a, const Rank& b) {
      return std::tie(a.number, a.times.ordinal) < std::tie(b.number, b.times.ordinal);
    });
    std::map<int64_t, int> devices;
    for (const Rank& rank : job_.ranks) ++devices[rank.number];
    for (Rank& rank : job_.ranks) {
      rank.name = fmt::format("rank {}", rank.number);
      if (devices[rank.number] > 1) rank.name += fmt::format(" device {}", rank.times.ordinal);
      if (!rank.times.host.empty()) rank.name += " on " + rank.times.host;
    }
    const int64_t last = job_.ranks.back().number;
    std::string missing;
    for (int64_t number = 0; number < last && missing.size() < 200; ++number) {
      if (!devices.contains(number))
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", number);
    }
    if (!missing.empty()) {
      Say("rank_missing", model::Severity::kDataLoss, "merge",
          fmt::format("no recording of rank {}: what the others wait for may be in there",
                      missing));
    }
    SayPrograms();
  }

  void NumberByOrder() {
    std::vector<std::tuple<std::string, size_t, int64_t>> processes;
    for (const Rank& rank : job_.ranks) {
      processes.emplace_back(rank.times.host, rank.source, rank.times.process_id);
    }
    std::sort(processes.begin(), processes.end());
    processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
    for (Rank& rank : job_.ranks) {
      const auto at =
          std::lower_bound(processes.begin(), processes.end(),
                           std::tuple(rank.times.host, rank.source, rank.times.process_id));
      rank.number = at - processes.begin();
    }
  }

  // As the first rank counts that has as many steps as any.
  void NumberSteps() {
    const auto lengths = [](const Rank& rank) {
      std::map<int64_t, int64_t> of_rank;
      for (const auto& [number, step] : rank.times.steps) of_rank.emplace(number, step.step_ns);
      return of_rank;
    };
    const auto most = std::max_element(
        job_.ranks.begin(), job_.ranks.end(),
        [](const Rank& a, const Rank& b) { return a.times.steps.size() < b.times.steps.size(); });
    const std::map<int64_t, int64_t> job = lengths(*most);
    for (Rank& rank : job_.ranks) {
      rank.step_shift = &rank == &*most ? 0 : StepShift(job, lengths(rank));
      if (rank.step_shift == 0) continue;
      std::map<int64_t, RankStepTimes> shifted;
      for (const auto& [number, step] : rank.times.steps) {
        shifted.emplace(number + rank.step_shift, step);
      }
      rank.times.steps = std::move(shifted);
      Say("steps_renumbered", model::Severity::kNotice, rank.name,
          fmt::format("its recording counts steps otherwise: its step 0 is step {} of the job",
                      rank.step_shift));
    }
  }

  void SayPrograms() {
    std::map<std::string, std::vector<std::string>> programs;
    for (const Rank& rank : job_.ranks) programs[rank.times.program].push_back(rank.name);
    if (programs.size() < 2) return;
    const auto most = std::max_element(
        programs.begin(), programs.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (const auto& [program, names] : programs) {
      if (program == most->first) continue;
      Say("other_program", model::Severity::kInfo, names.front(),
          fmt::format("{} of {} ranks run other main modules than most: they are compared with "
                      "each other only",
                      names.size(), job_.ranks.size()));
    }
  }

  // Ranks that are here leave it together, whether or not all of its ranks are here.
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

  // Those of ranks of the job, with its numbers of steps.
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
              .advice =
                  "collectives of which it is not known who takes part, or not all ranks are here: "
                  "their waiting is not known"};
    }
    // The same ones of every rank, whatever each of them holds.
    const size_t most = kEndsPerRank * of_device.size();
    if (ends.size() > most) {
      if (keep_one_in_ == 0) keep_one_in_ = ends.size() / most + 1;
    }
    for (const CollectiveEnd& end : ends) {
      if (keep_one_in_ <= 1 || end.collective % keep_one_in_ == 0) ends_.push_back(end);
    }
    return {};
  }

  void SayClocks() {
    if (job_.clocks.sets < 2) return;
    std::map<size_t, std::string> names;
    for (const Rank& rank : job_.ranks) {
      std::string& of_set = names[job_.clocks.clocks[rank.clock].set];
      if (of_set.size() < 120) of_set += (of_set.empty() ? "" : ", ") + rank.name;
    }
    for (const auto& [set, of_set] : names) {
      if (set == 0) continue;
      Say("clocks_not_aligned", model::Severity::kNotice, of_set,
          "no collective in common with the first rank: times of these ranks and of the others are "
          "not compared");
    }
  }

  Status ReadWaiting(size_t source) {
    const std::map<int64_t, size_t> of_device = RanksOf(source);
    if (of_device.empty()) return {};
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(job_.sources[source].path));
    std::map<std::pair<size_t, int64_t>, OnPath> on_path;  // By rank and step.
    XLATRACE_TRY(Collectives(db, of_device, [&](size_t rank, const RankCollective& collective) {
      const auto waited = Waited(rank, collective);
      collectives_.Add(rank, collective, Steady(rank, collective), waited);
      AddToPath(source, rank, collective, on_path[{rank, collective.key.step}]);
    }));
    for (const auto& [device, rank] : of_device) {
      for (const auto& [number, times] : job_.ranks[rank].times.steps) {
        OnPath& step = on_path[{rank, number}];
        path_->AddStep(rank,
                       {.number = number,
                        .start_ns = times.start_ns,
                        .end_ns = times.start_ns + times.step_ns,
                        .steady = times.steady,
                        .untold_ns = step.untold_ns},
                       std::move(step.collectives));
      }
    }
    return {};
  }

  struct OnPath {
    std::vector<PathCollective> collectives;
    int64_t untold_ns = 0;
  };

  void AddToPath(size_t source, size_t rank, const RankCollective& collective, OnPath& step) const {
    const auto paired = pairing_->Of(rank, collective);
    const auto group = paired ? skew_.Of(paired->key, paired->ranks) : std::nullopt;
    if (!group) {
      step.untold_ns += collective.exposed_ns;
      return;
    }
    const bool last = group->last == rank;
    step.collectives.push_back(
        {.number = group->number,
         .stream = collective.stream,
         .start_ns = collective.end_ns - collective.duration_ns,
         .end_ns = collective.end_ns,
         .waited = collective.exposed_ns > 0 && waited_[source][collective.position],
         .last = last,
         .lead_ns = last && group->next_ns != INT64_MAX ? group->next_ns - group->transfer_ns : 0});
  }

  void TellPath() {
    const auto missing = [](const model::RunStat& stat) { return stat.name == "rank_missing"; };
    if (std::any_of(job_.said.begin(), job_.said.end(), missing)) {
      job_.path.why_not = "it may run through the ranks that are missing";
      return;
    }
    // On the common clock; ranks that have none get no path.
    const auto end_of = [&](size_t r, int64_t number) -> std::optional<int64_t> {
      const Rank& rank = job_.ranks[r];
      const auto step = rank.times.steps.find(number);
      if (step == rank.times.steps.end()) return std::nullopt;
      return ToCommon(
          job_.clocks.clocks[rank.clock],
          job_.sources[rank.source].start_unix_ns + step->second.start_ns + step->second.step_ns);
    };
    job_.path = FindPath(*path_, [&](int64_t number) {
      size_t last = 0;
      std::optional<int64_t> latest;
      for (size_t r = 0; r < job_.ranks.size(); ++r) {
        const std::optional<int64_t> end = end_of(r, number);
        if (end && (!latest || *end > *latest)) {
          latest = end;
          last = r;
        }
      }
      return last;
    });
    if (job_.path.why_not.empty() && job_.clocks.sets > 1) {
      job_.path = {.why_not = "not all ranks have a collective in common"};
    }
    for (const PathSegment& segment : job_.path.segments) {
      for (const std::optional<uint32_t>& end : {segment.from, segment.to}) {
        if (end) job_.on_path.try_emplace(*end);
      }
    }
    skew_.ForEach([&](const CollectiveKey& key, const Skew::Group& group) {
      const auto end = job_.on_path.find(group.number);
      if (end != job_.on_path.end()) end->second = {key.fingerprint, key.instruction};
    });
  }

  // Adds it to its step; nothing where it is not known.
  std::optional<int64_t> Waited(size_t rank, const RankCollective& collective) {
    if (!collective.op.empty() && !Synchronises(collective.op)) {
      job_.ranks[rank].waited[collective.key.step].elsewhere_ns += collective.exposed_ns;
      return std::nullopt;
    }
    const auto paired = pairing_->Of(rank, collective);
    if (!paired) return std::nullopt;
    const auto group = skew_.Of(paired->key, paired->ranks);
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

  // From the first steady step of any rank to the last.
  JobTimes Times() const {
    JobTimes times;
    std::optional<int64_t> first, last;
    for (const Rank& rank : job_.ranks) {
      for (const auto& [number, step] : rank.times.steps) {
        if (!step.steady) continue;
        first = std::min(first.value_or(number), number);
        last = std::max(last.value_or(number), number);
      }
      times.ranks.push_back({rank.name, rank.times.host, rank.times.program});
    }
    std::map<int64_t, size_t> ranks_with;
    for (const Rank& rank : job_.ranks) {
      for (const auto& [number, step] : rank.times.steps) {
        const auto waited = rank.waited.find(number);
        const bool told = waited != rank.waited.end() && waited->second.told;
        if (first && number >= *first && number <= *last && told) ++ranks_with[number];
      }
    }
    for (const auto& [number, ranks] : ranks_with) {
      if (ranks * 2 >= job_.ranks.size()) times.steps.push_back(number);
    }
    times.times.resize(times.ranks.size() * times.steps.size());
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      const Rank& rank = job_.ranks[r];
      for (size_t s = 0; s < times.steps.size(); ++s) {
        const auto step = rank.times.steps.find(times.steps[s]);
        const auto waited = rank.waited.find(times.steps[s]);
        if (step == rank.times.steps.end() || waited == rank.waited.end()) continue;
        if (!waited->second.told) continue;
        times.times[r * times.steps.size() + s] = {
            .known = true,
            .step_ns = static_cast<double>(step->second.step_ns),
            .wait_ns = static_cast<double>(waited->second.wait_ns + waited->second.elsewhere_ns),
            .gemm_ns = static_cast<double>(step->second.gemm_ns),
            .other_ns = static_cast<double>(step->second.other_ns),
            .gap_ns = static_cast<double>(step->second.idle_ns)};
      }
    }
    times.transfers = Transfers();
    return times;
  }

  // What the exchange of each instruction takes in each of its groups: the median over steps of the
  // sum in a step.
  std::vector<GroupTransfer> Transfers() const {
    struct Sums {
      std::vector<size_t> ranks;
      std::map<int64_t, double> of_step;
    };
    std::map<std::tuple<std::string, std::string, int64_t>, Sums> sums;
    skew_.ForEach([&](const CollectiveKey& key, const Skew::Group& group) {
      Sums& of = sums[{key.fingerprint, key.instruction, key.group}];
      if (of.ranks.empty()) of.ranks = pairing_->RanksOf(key);
      // The least of a part of them may be anybody's waiting.
      if (group.ranks < static_cast<int64_t>(of.ranks.size())) return;
      of.of_step[key.step] += static_cast<double>(group.transfer_ns);
    });
    std::vector<GroupTransfer> transfers;
    for (auto& [place, of] : sums) {
      std::vector<double> times;
      for (const auto& [step, sum] : of.of_step) times.push_back(sum);
      if (times.size() < kFewestSteps) continue;
      transfers.push_back({.instruction = std::get<0>(place) + "::" + std::get<1>(place),
                           .ranks = std::move(of.ranks),
                           .transfer_ns = LowerMedian(std::move(times))});
    }
    return transfers;
  }

  // Waiting that is not known would look like a rank's own time.
  void HoldBack() {
    CulpritAnswer& answer = job_.answer;
    int64_t steps_ns = 0;
    for (const Rank& rank : job_.ranks) {
      for (const auto& [number, step] : rank.times.steps) {
        if (step.steady) steps_ns += step.step_ns;
      }
    }
    const double share =
        steps_ns > 0 ? static_cast<double>(unpaired_ns_) / static_cast<double>(steps_ns) : 0;
    if (share < kLeastShare || job_.ranks.size() < 2) return;
    std::string why = fmt::format(
        "collectives of which it is not known who takes part, or not all ranks are "
        "here, take {}% of the steps",
        Percent(share, 1));
    if (answer.cause == Cause::kNoData) {
      answer.evidence.insert(answer.evidence.begin(), std::move(why));
      return;
    }
    CulpritAnswer held{.cause = Cause::kNoData, .step_ns = answer.step_ns};
    held.evidence.push_back(std::move(why));
    held.excess_ns = std::move(answer.excess_ns);
    answer = std::move(held);
  }

  void Answer() {
    std::vector<int64_t> steady;
    for (const Rank& rank : job_.ranks) {
      steady.push_back(std::count_if(rank.times.steps.begin(), rank.times.steps.end(),
                                     [](const auto& step) { return step.second.steady; }));
    }
    job_.collectives = collectives_.Rows(skew_, *pairing_, steady);
    const JobTimes times = Times();
    job_.answer = FindCulprit(times);
    HoldBack();
    // Without an answer the length of the steps still says who is slow and who is fast.
    std::vector<double> cost = job_.answer.excess_ns;
    if (cost.size() != job_.ranks.size()) {
      cost.clear();
      for (const Rank& rank : job_.ranks) {
        std::vector<double> steps;
        for (const auto& [number, step] : rank.times.steps) {
          steps.push_back(static_cast<double>(step.gemm_ns + step.other_ns));
        }
        cost.push_back(LowerMedian(std::move(steps)));
      }
    }
    job_.by_cost.resize(job_.ranks.size());
    std::iota(job_.by_cost.begin(), job_.by_cost.end(), size_t{0});
    std::stable_sort(job_.by_cost.begin(), job_.by_cost.end(),
                     [&](size_t a, size_t b) { return cost[a] > cost[b]; });
  }

  Job job_;
  std::map<std::pair<size_t, std::string>, size_t> clocks_;
  std::set<std::tuple<std::string, std::optional<int64_t>, int64_t, int64_t, int64_t>> known_;
  std::set<int64_t> group_sizes_;
  // In steady steps, beside which nothing computed: while it starts, a rank waits seconds for
  // others.
  int64_t unpaired_ns_ = 0;
  std::optional<Pairing> pairing_;
  Skew skew_;
  JobCollectives collectives_;
  std::optional<JobPath> path_;
  std::vector<std::vector<bool>> waited_;  // By source: RunRanks::waited.
  std::vector<CollectiveEnd> ends_;
  uint64_t keep_one_in_ = 0;
};

}  // namespace

Result<Job> ReadJob(const std::vector<std::string>& run_dbs) { return JobReader().Run(run_dbs); }

bool SameTime(const Job& job, size_t a, size_t b) {
  return job.clocks.clocks[job.ranks[a].clock].set == job.clocks.clocks[job.ranks[b].clock].set;
}

}  // namespace xlatrace::fleet
