// SPDX-License-Identifier: Apache-2.0
#include "tools/merge_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/findings/catalogue.h"
#include "base/file.h"
#include "fleet/rank_sink.h"
#include "model/job_rows.h"
#include "store/run_builder.h"
#include "store/run_db.h"
#include "store/run_replay.h"
#include "store/run_saver.h"
#include "tools/version.h"
#include "tools/written_analysis.h"

namespace xlatrace::tools {
namespace {

using fleet::Job;
using fleet::Rank;

// The slowest, median and fastest rank, and the requested ones. All ranks of a small job.
Result<std::set<int64_t>> Choose(const Job& job, const std::vector<int64_t>& asked) {
  std::set<int64_t> known;
  for (const Rank& rank : job.ranks) known.insert(rank.number);
  for (const int64_t rank : asked) {
    if (!known.contains(rank)) {
      return MakeError(fmt::format("the job has no rank {}", rank),
                       fmt::format("it has ranks {} to {}", *known.begin(), *known.rbegin()),
                       ErrorCode::kUsage);
    }
  }
  if (known.size() <= kMaxWholeRanks) return known;
  std::set<int64_t> chosen;
  for (const size_t place : {size_t{0}, job.by_cost.size() / 2, job.by_cost.size() - 1}) {
    chosen.insert(job.ranks[job.by_cost[place]].number);
  }
  for (const size_t rank : job.answer.ranks) {
    if (chosen.size() < kMaxWholeRanks) chosen.insert(job.ranks[rank].number);
  }
  chosen.insert(asked.begin(), asked.end());
  return chosen;
}

class Merger {
 public:
  Merger(const Job& job, std::set<int64_t> chosen, store::RunBuilder& builder)
      : job_(job), chosen_(std::move(chosen)), builder_(builder) {
    start_unix_ns_ = job.sources[job.ranks.front().source].start_unix_ns;
  }

  Status PourRuns() {
    if (start_unix_ns_ != 0) builder_.SetStart(start_unix_ns_);
    // The first rank's recording first: its facts are the job's.
    std::vector<size_t> order;
    for (const Rank& rank : job_.ranks) {
      if (chosen_.contains(rank.number) &&
          std::find(order.begin(), order.end(), rank.source) == order.end()) {
        order.push_back(rank.source);
      }
    }
    int64_t number = 0;
    for (const size_t source : order) XLATRACE_TRY(Pour(source, number++));
    builder_.SetRunInfo("tool_version", kVersion);
    builder_.SetRunInfo("merged_ranks", std::to_string(job_.ranks.size()));
    builder_.SetRunInfo("job", fleet::Sentence(job_));
    builder_.SetRunInfo("job_heading", fleet::Heading(job_));
    builder_.SetRunInfo("job_headline", fleet::Headline(job_));
    if (const std::string why = fleet::Reason(job_); !why.empty()) {
      builder_.SetRunInfo("job_reason", why);
    }
    if (const std::string path = fleet::PathSentence(job_); !path.empty()) {
      builder_.SetRunInfo("job_path", path);
    }
    builder_.SetRunInfo("job_cause", fleet::Text(job_.answer.cause));
    builder_.SetRunInfo("job_cost_ns_per_step", std::to_string(std::llround(job_.answer.cost_ns)));
    std::string waited_for;
    for (const size_t rank : job_.answer.ranks) {
      waited_for += fmt::format("{}{}.{}", waited_for.empty() ? "" : ",", job_.ranks[rank].number,
                                job_.ranks[rank].times.ordinal);
    }
    if (!waited_for.empty()) builder_.SetRunInfo("job_waited_for", waited_for);
    for (const model::RunStat& stat : job_.said) builder_.AddRunStat(stat);
    for (const Error& error : job_.skipped) {
      builder_.AddRunStat({.name = "input_skipped",
                           .severity = model::Severity::kDataLoss,
                           .source = "merge",
                           .value = 1,
                           .advice = error.message});
    }
    return builder_.status();
  }

  model::JobTables Rows() const {
    model::JobTables tables;
    for (size_t r = 0; r < job_.ranks.size(); ++r) AddRank(r, tables);
    for (const fleet::JobCollective& collective : job_.collectives) {
      model::JobCollectiveRow& row = tables.collectives.emplace_back();
      row.program = collective.program;
      row.instruction = collective.instruction;
      row.op = collective.op;
      row.group_size = collective.group_size;
      row.bytes = collective.bytes;
      row.ranks = collective.ranks;
      row.groups = collective.groups;
      row.paired = collective.paired;
      row.transfer_ns = collective.transfer_ns;
      row.arrival_skew_ns = collective.arrival_skew_ns;
      row.most_skew_ns = collective.most_skew_ns;
      row.bus_bandwidth = collective.bus_bandwidth;
      row.exposed_ns_per_step = collective.exposed_ns_per_step;
      row.wait_ns_per_step = collective.wait_ns_per_step;
      if (collective.last_rank)
        row.last_rank_id = static_cast<model::Id>(*collective.last_rank + 1);
      row.last_times = collective.last_times;
    }
    for (const fleet::PathSegment& segment : job_.path.segments) {
      model::JobPathRow& row = tables.path.emplace_back();
      row.step = segment.step;
      row.rank_id = static_cast<model::Id>(segment.rank + 1);
      const auto name = [&](const std::optional<uint32_t>& end, std::string& program,
                            std::string& instruction) {
        const auto known = end ? job_.on_path.find(*end) : job_.on_path.end();
        if (known != job_.on_path.end()) std::tie(program, instruction) = known->second;
      };
      name(segment.from, row.from_program, row.from_instruction);
      name(segment.to, row.to_program, row.to_instruction);
      row.own_ns = segment.own_ns;
      row.exchange_ns = segment.exchange_ns;
      row.lead_ns = segment.lead_ns;
      row.collectives = segment.collectives;
    }
    return tables;
  }

 private:
  const fleet::ClockFit& FitOf(const Rank& rank) const { return job_.clocks.clocks[rank.clock]; }
  bool Aligned(const Rank& rank) const { return FitOf(rank).set == 0; }
  // Since the job's start, on the common clock.
  int64_t Common(const Rank& rank, int64_t local_ns) const {
    const int64_t at = job_.sources[rank.source].start_unix_ns + local_ns;
    return (Aligned(rank) ? fleet::ToCommon(FitOf(rank), at) : at) - start_unix_ns_;
  }

  Status Pour(size_t source, int64_t number) {
    std::map<model::Id, fleet::RankPlace> places;
    const Rank* any = nullptr;
    for (const Rank& rank : job_.ranks) {
      if (rank.source != source || !chosen_.contains(rank.number)) continue;
      fleet::RankPlace& place = places[rank.times.process_id];
      place.rank = rank.number;
      if (Aligned(rank) && job_.clocks.clocks.size() > 1) {
        place.clock_offset_ns = FitOf(rank).offset_ns;
        place.clock_error_ns = FitOf(rank).error_ns;
      }
      // One recording of several hosts: its clocks were made one when it was folded.
      if (any == nullptr) any = &rank;
    }
    fleet::RankSink sink(
        builder_, places, [this, any](int64_t local) { return Common(*any, local); }, number);
    XLATRACE_ASSIGN(store::RunDb run, store::RunDb::Open(job_.sources[source].path));
    XLATRACE_TRY(store::Replay(run, sink));
    for (const auto& [own, id] : sink.processes()) processes_[{source, own}] = id;
    for (const auto& [own, id] : sink.devices()) devices_[{source, own}] = id;
    return builder_.status();
  }

  void AddRank(size_t index, model::JobTables& tables) const {
    const Rank& rank = job_.ranks[index];
    const auto id_in = [&](const auto& ids, model::Id own) {
      const auto at = ids.find(std::pair(rank.source, own));
      return at == ids.end() ? model::Id{0} : at->second;
    };
    model::RankRow& row = tables.ranks.emplace_back();
    row.rank = rank.number;
    row.ordinal = rank.times.ordinal;
    row.host = rank.times.host;
    row.source = job_.sources[rank.source].path;
    row.source_process_id = rank.times.process_id;
    row.source_device_id = rank.times.device_id;
    row.process_id = id_in(processes_, rank.times.process_id);
    row.device_id = id_in(devices_, rank.times.device_id);
    row.program = rank.times.program;
    row.clock_set = static_cast<int64_t>(FitOf(rank).set);
    if (Aligned(rank)) {
      row.clock_offset_ns = FitOf(rank).offset_ns;
      row.clock_drift_ppb = FitOf(rank).drift_ppb;
      row.clock_error_ns = FitOf(rank).error_ns;
    }
    row.activities = rank.times.activities;
    row.device_ns = rank.times.device_ns;
    if (index < job_.answer.excess_ns.size()) {
      row.excess_ns_per_step = std::llround(job_.answer.excess_ns[index]);
    }
    for (const auto& [number, step] : rank.times.steps) {
      model::RankStepRow& times = tables.steps.emplace_back();
      times.rank_id = static_cast<model::Id>(tables.ranks.size());
      times.step = number;
      if (Aligned(rank)) times.start_ns = Common(rank, step.start_ns);
      times.step_ns = step.step_ns;
      if (const auto waited = rank.waited.find(number);
          waited != rank.waited.end() && waited->second.told) {
        times.wait_ns = waited->second.wait_ns;
        times.transfer_ns = waited->second.transfer_ns;
      }
      times.gemm_ns = step.gemm_ns;
      times.other_ns = step.other_ns;
      times.idle_ns = step.idle_ns;
      times.steady = step.steady;
    }
  }

  const Job& job_;
  std::set<int64_t> chosen_;
  store::RunBuilder& builder_;
  int64_t start_unix_ns_ = 0;
  std::map<std::pair<size_t, model::Id>, model::Id> processes_, devices_;
};

// The kept launches may have no steps although the ranks' own recordings have some. Then advice
// about marking steps is useless.
void ReportRanksWithSteps(const Job& job, model::AnalysisTables& analysis) {
  const bool known = std::any_of(job.ranks.begin(), job.ranks.end(), [](const Rank& rank) {
    return std::any_of(rank.times.steps.begin(), rank.times.steps.end(),
                       [](const auto& step) { return step.second.steady; });
  });
  if (!known) return;
  for (model::RuledOutRow& row : analysis.ruled_out) {
    if (row.id != "steady_steps") continue;
    row.text =
        "parts of a step: the launches of this file have no steady step of their own; the job's "
        "steps are those of the ranks' own recordings";
  }
}

// The answer as the first finding, so that every view of the run has it.
void AddFinding(const Job& job, model::AnalysisTables& analysis) {
  using fleet::Cause;
  const fleet::CulpritAnswer& answer = job.answer;
  if (answer.cause == Cause::kNone || answer.cause == Cause::kNoData || answer.cost_ns <= 0) return;
  model::FindingRow row;
  row.id = "job_" + std::string(fleet::Text(answer.cause));
  const analysis::findings::FindingTexts texts = analysis::findings::TextsOf(row.id, "");
  row.title = texts.title;
  // The sentence is run_info.job, which is printed above all others. The ranks have steps even if
  // the kept launches have none.
  row.saves_low_ns_per_step = 0;
  row.saves_high_ns_per_step = std::llround(answer.cost_ns);
  row.basis = "measured";
  row.confidence = answer.cause == Cause::kUnknown ? "low" : "high";
  nlohmann::json evidence = nlohmann::json::array();
  for (const std::string& sentence : answer.evidence) {
    evidence.push_back({{"text", sentence}, {"value", nullptr}, {"unit", ""}, {"handle", nullptr}});
  }
  row.evidence_json = evidence.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  row.action = texts.action;
  row.how_to_check = texts.check;
  analysis.findings.insert(analysis.findings.begin(), std::move(row));
}

}  // namespace

Result<MergeOutcome> MergeJob(const MergeRequest& request) {
  MergeOutcome outcome;
  XLATRACE_ASSIGN(outcome.job, fleet::ReadJob(request.run_dbs));
  XLATRACE_ASSIGN(std::set<int64_t> chosen, Choose(outcome.job, request.asked));
  outcome.kept.assign(chosen.begin(), chosen.end());
  XLATRACE_ASSIGN(store::RunSaver saver, store::RunSaver::Create(request.output, request.replace));
  store::RunBuilder builder(saver.beside());
  Merger merger(outcome.job, std::move(chosen), builder);
  XLATRACE_TRY(merger.PourRuns());
  XLATRACE_ASSIGN(Derived derived, Derive(builder));
  // Waiting between ranks is reported over all ranks, or the reason is reported why it is unknown.
  // A finding from the kept ranks alone could differ.
  std::erase_if(derived.analysis.findings,
                [](const auto& row) { return row.id == "arrival_skew"; });
  AddFinding(outcome.job, derived.analysis);
  ReportRanksWithSteps(outcome.job, derived.analysis);
  outcome.activities = builder.tables().activities.size();
  const model::JobTables rows = merger.Rows();
  XLATRACE_TRY(saver.Save(builder, &derived.attribution, &derived.analysis, &rows));
  return outcome;
}

}  // namespace xlatrace::tools
