// SPDX-License-Identifier: Apache-2.0
#include "tests/fleet/rank_files.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <fmt/format.h>

#include "model/derived.h"
#include "store/run_builder.h"
#include "store/run_saver.h"

namespace xlatrace::fleet {
namespace {

constexpr int64_t kStart = 1'790'000'000'000'000'000;
constexpr int64_t kRankExchangeNs = 2'000'000;

struct Step {
  int64_t gemm = 0, other = 0, gap = 0, start = 0, arrival = 0, end = 0;  // True times.
  int64_t gathered = 0;  // Or received, from another stage. 0: there is nothing of the kind.
};

size_t StageOf(const RankFiles& wanted, size_t rank) {
  return rank / (wanted.ranks / wanted.stages);
}

class File {
 public:
  File(const std::string& path, const RankFiles& wanted, size_t rank, double offset, double drift)
      : path_(path), wanted_(wanted), rank_(rank), offset_(offset), drift_(drift) {}

  Status Write(const std::vector<Step>& steps) {
    XLATRACE_ASSIGN(store::RunSaver saver, store::RunSaver::Create(path_));
    store::RunBuilder run(saver.beside());
    run.SetStart(kStart);
    run.SetRunInfo("granularity", "kernel");
    const model::Id process = run.AddProcess({.host = fmt::format("host{}", rank_ / 2),
                                              .pid = 1000 + static_cast<int64_t>(rank_),
                                              .rank = static_cast<int64_t>(rank_)});
    model::Device device;
    device.process_id = process;
    device.name = "xlatrace fake GPU";
    const model::Id device_id = run.AddDevice(device);
    lane_ = run.AddLane({.device_id = device_id, .stream_id = 7});
    if (wanted_.beside) beside_ = run.AddLane({.device_id = device_id, .stream_id = 8});
    for (const char* name :
         {"gemm", "loop_fusion", "ncclDevKernel_AllReduce", "ncclDevKernel_AllGather"}) {
      configs_.push_back(run.AddLaunchConfig({.symbol = name, .name = name}));
    }
    configs_.push_back(run.AddLaunchConfig({.kind = model::ActivityKind::kMemcpy}));
    run.AddModule({.process_id = process, .name = "jit_step", .program_id = 1});
    Describe();
    const size_t first = static_cast<int64_t>(rank_) == wanted_.late ? 7 : 0;
    for (size_t s = first; s < steps.size(); ++s) {
      AddStep(static_cast<int64_t>(s - first), steps[s], run);
    }
    run.AddResults(attribution_);
    run.AddResults(analysis_);
    return saver.Save(run, &attribution_, &analysis_);
  }

 private:
  void Describe() {
    model::ModuleFacts facts;
    facts.fingerprint = wanted_.apart && rank_ % 2 == 1 ? "beef" : "f00d";
    if (wanted_.stages > 1) facts.fingerprint += std::to_string(StageOf(wanted_, rank_));
    facts.role = model::ModuleRole::kMain;
    attribution_.modules.push_back(facts);
    const std::pair<const char*, model::OpKind> kOps[] = {
        {"dot.1", model::OpKind::kGemm},
        {"fusion.2", model::OpKind::kElementwiseFusion},
        {"all-reduce.3", model::OpKind::kCollective},
        {wanted_.stages > 1 ? "collective-permute.4" : "all-gather.4", model::OpKind::kCollective}};
    for (const auto& [name, kind] : kOps) {
      model::InstructionRow row;
      row.module_id = 1;
      row.name = name;
      row.op_kind = kind;
      attribution_.instructions.push_back(row);
      attribution_.labels.push_back(
          {.module_id = 1,
           .instruction_id = static_cast<model::Id>(attribution_.instructions.size()),
           .evidence = model::Evidence::kRange,
           .confidence = model::Confidence::kExact,
           .origin = model::Origin::kXla});
    }
    model::DeviceFactsRow device;
    analysis_.devices.push_back(device);
  }

  int64_t Local(int64_t true_ns) const {
    return true_ns + std::llround(offset_ + drift_ * static_cast<double>(true_ns));
  }

  void Add(size_t op, int64_t step, int64_t start, int64_t end, store::RunBuilder& run) {
    const model::Id id = run.AddActivity({.lane_id = lane_,
                                          .config_id = configs_[op],
                                          .start_ns = Local(start),
                                          .end_ns = Local(end)});
    attribution_.label_of.push_back(static_cast<uint32_t>(op + 1));
    attribution_.execution_of.push_back(static_cast<uint32_t>(step + 1));
    analysis_.step_of.push_back(static_cast<int32_t>(step));
    if (op < 2) return;
    model::CollectiveRow collective;
    collective.activity_id = id;
    const char* other = wanted_.stages > 1 ? "collective-permute" : "all-gather";
    collective.op = op == 2 ? "all-reduce" : other;
    const size_t others =
        wanted_.shard > 0 ? wanted_.ranks / wanted_.shard : wanted_.ranks / wanted_.stages;
    collective.group_size =
        wanted_.group_size > 0
            ? wanted_.group_size
            : static_cast<int64_t>((op == 2) != wanted_.across ? others : wanted_.shard);
    collective.exposed_ns = end - start;
    analysis_.collectives.push_back(collective);
  }

  // A fusion, whose work a kernel does or a copy.
  void AddBeside(int64_t step, int64_t start, int64_t end, store::RunBuilder& run) {
    run.AddActivity({.lane_id = beside_,
                     .config_id = configs_[wanted_.copies ? 4 : 1],
                     .start_ns = Local(start),
                     .end_ns = Local(end)});
    attribution_.label_of.push_back(2);
    attribution_.execution_of.push_back(static_cast<uint32_t>(step + 1));
    analysis_.step_of.push_back(static_cast<int32_t>(step));
  }

  void AddStep(int64_t number, const Step& step, store::RunBuilder& run) {
    Add(0, number, step.start, step.start + step.gemm, run);
    const auto kernels = static_cast<int64_t>(wanted_.kernels);
    int64_t first = step.start + step.gemm;
    if (step.gathered > 0) {
      Add(3, number, first, step.gathered, run);
      first = step.gathered;
    }
    for (int64_t k = 0; k < kernels; ++k) {
      Add(1, number, first + step.other * k / kernels, first + step.other * (k + 1) / kernels, run);
    }
    Add(2, number, step.arrival, step.end, run);
    if (wanted_.beside) AddBeside(number, step.arrival + 10'000, step.end, run);
    model::Execution execution;
    execution.module_id = 1;
    execution.device_id = 1;
    execution.start_ns = Local(step.start);
    execution.end_ns = Local(step.end);
    execution.activities = kernels + (step.gathered > 0 ? 3 : 2);
    execution.complete = true;
    attribution_.executions.push_back(execution);
    model::StepRow row;
    row.step = number;
    row.process_id = 1;
    row.device_id = 1;
    row.start_ns = Local(step.start);
    row.end_ns = Local(step.end);
    row.device_ns = step.gemm + step.other + step.end - step.arrival;
    if (step.gathered > 0) row.device_ns += step.gathered - step.start - step.gemm;
    row.busy_ns = row.device_ns;
    row.steady = number > 0;
    analysis_.steps.push_back(row);
    analysis_.step_parts.push_back(
        {.device_id = 1, .step = number, .part = model::StepPart::kIdle, .wall_ns = step.gap});
  }

  std::string path_;
  const RankFiles& wanted_;
  size_t rank_;
  double offset_, drift_;
  model::Id lane_ = 0, beside_ = 0;
  std::vector<model::Id> configs_;
  model::AttributionTables attribution_;
  model::AnalysisTables analysis_;
};

// Everybody in a group leaves when its last one has come and the exchange is over. `neighbours`:
// groups of `shard` ranks in a row; else those at the same place of each.
template <typename Arrival, typename Leave>
void Meet(const RankFiles& wanted, bool neighbours, std::mt19937_64& random, const Arrival& arrival,
          const Leave& leave) {
  std::map<size_t, std::vector<size_t>> groups;
  for (size_t r = 0; r < wanted.ranks; ++r) {
    groups[neighbours ? r / wanted.shard : r % wanted.shard].push_back(r);
  }
  for (const auto& [number, ranks] : groups) {
    int64_t last = 0;
    bool slow = false;
    for (const size_t r : ranks) {
      last = std::max(last, arrival(r));
      slow = slow || static_cast<int64_t>(r / 2) == wanted.slow_host;
    }
    for (const size_t r : ranks) {
      leave(r, last + (slow ? 5 : 1) * kRankExchangeNs + static_cast<int64_t>(random() % 3000));
    }
  }
}

// All stages end together; a stage with less work first waits in a permute.
int64_t Pipelined(const RankFiles& wanted, int64_t start, size_t s,
                  std::vector<std::vector<Step>>& steps) {
  int64_t last = 0;
  for (size_t r = 0; r < wanted.ranks; ++r) {
    Step& step = steps[r][s];
    if (StageOf(wanted, r) + 1 == wanted.stages) {
      step.gemm = std::llround(static_cast<double>(step.gemm) * wanted.long_stage);
    }
    last = std::max(last, start + step.gemm + step.other + step.gap);
  }
  for (size_t r = 0; r < wanted.ranks; ++r) {
    Step& step = steps[r][s];
    step.gathered = last - step.other - step.gap + 1000;
    step.arrival = last + 1000;
    step.end = last + 1000 + kRankExchangeNs;
  }
  return last + 1000 + kRankExchangeNs;
}

void Sharded(const RankFiles& wanted, std::mt19937_64& random,
             std::vector<std::vector<Step>>& steps) {
  std::vector<int64_t> at(wanted.ranks, 1'000'000);
  for (size_t s = 0; s < wanted.steps; ++s) {
    const auto gathers = [&](size_t r) {
      steps[r][s].start = at[r];
      return at[r] + steps[r][s].gemm;
    };
    Meet(wanted, !wanted.across, random, gathers,
         [&](size_t r, int64_t end) { steps[r][s].gathered = end; });
    const auto reduces = [&](size_t r) {
      Step& step = steps[r][s];
      return step.arrival = step.gathered + step.other + step.gap;
    };
    Meet(wanted, wanted.across, random, reduces,
         [&](size_t r, int64_t end) { steps[r][s].end = at[r] = end; });
  }
}

}  // namespace

Result<WrittenRanks> WriteRankFiles(const std::string& folder, const RankFiles& wanted) {
  std::mt19937_64 random(static_cast<uint64_t>(wanted.seed));
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  std::vector<std::vector<Step>> steps(wanted.ranks, std::vector<Step>(wanted.steps));
  int64_t at = 1'000'000 + wanted.start_wait_ns;
  for (size_t s = 0; s < wanted.steps; ++s) {
    int64_t last = 0;
    for (size_t r = 0; r < wanted.ranks; ++r) {
      Step& step = steps[r][s];
      const double slow = static_cast<int64_t>(r) == wanted.slow ? 1.5 : 1;
      step.gemm = static_cast<int64_t>(slow * 20e6 * between(0.998, 1.002));
      step.other = static_cast<int64_t>(25e6 * between(0.998, 1.002));
      step.gap = static_cast<int64_t>(between(0.5e6, 1.2e6));
      step.start = at - (r == 0 && s == 0 ? wanted.start_wait_ns : 0);
      step.arrival = step.start + step.gemm + step.other + step.gap;
      last = std::max(last, step.arrival);
    }
    if (wanted.stages > 1) {
      at = Pipelined(wanted, at, s, steps);
      continue;
    }
    if (wanted.shard > 0) continue;  // Sharded() defines when they meet.
    for (size_t r = 0; r < wanted.ranks; ++r) {
      steps[r][s].end = last + kRankExchangeNs + static_cast<int64_t>(between(0, 3000));
    }
    at = last + kRankExchangeNs + 3000;
  }
  if (wanted.shard > 0) Sharded(wanted, random, steps);
  WrittenRanks written;
  for (size_t r = 0; r < wanted.ranks; ++r) {
    written.offset_ns.push_back(wanted.clocks ? std::llround(between(-5e9, 5e9)) : 0);
    written.drift.push_back(wanted.clocks ? between(-2e-5, 2e-5) : 0);
    written.paths.push_back(fmt::format("{}/rank{:04}.db", folder, r));
    XLATRACE_TRY(File(written.paths[r], wanted, r, static_cast<double>(written.offset_ns[r]),
                      written.drift[r])
                     .Write(steps[r]));
  }
  return written;
}

}  // namespace xlatrace::fleet
