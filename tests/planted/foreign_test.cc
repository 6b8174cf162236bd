// SPDX-License-Identifier: Apache-2.0

// Runs without HLO and without steps (a server, an eager framework, a benchmark): nine with one
// planted cause each, three clean ones. The first or second finding has to be of the cause.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analysis.h"
#include "correlator/correlator.h"
#include "tests/analysis/finding_text.h"
#include "tests/golden_text/golden_text.h"
#include "tests/planted/table.h"

namespace xlatrace::planted {
namespace {

using model::Id;

// One GPU per device, one stream each; a host thread that calls and waits.
class Run {
 public:
  explicit Run(int devices = 1) {
    run_.processes.emplace_back();
    for (int d = 0; d < devices; ++d) {
      model::Device device;
      device.process_id = 1;
      device.ordinal = d;
      device.name = "NVIDIA H100 80GB HBM3";
      device.compute_capability = "9.0";
      run_.devices.push_back(device);
      for (int stream = 0; stream < 2; ++stream) {
        model::Lane lane;
        lane.device_id = d + 1;
        lane.stream_id = stream;
        run_.lanes.push_back(lane);
      }
    }
    free_.assign(static_cast<size_t>(devices), 0);
  }

  // A launch takes the host so long, and starts when the device is free.
  void Launch(const std::string& name, int64_t ns, int64_t call_ns = 5'000, int device = 0) {
    Add(model::ActivityKind::kKernel, name, ns, call_ns, device, -1, model::CopyKind::kUnknown);
  }
  // Like Launch, with this number of blocks.
  void LaunchOf(int64_t blocks, const std::string& name, int64_t ns) {
    blocks_ = blocks;
    Launch(name, ns);
    blocks_ = 0;
  }
  void Copy(bool to_device, int64_t bytes, int64_t ns, int device = 0) {
    Add(model::ActivityKind::kMemcpy, to_device ? "MemcpyH2D" : "MemcpyD2H", ns, 5'000, device,
        bytes, to_device ? model::CopyKind::kHostToDevice : model::CopyKind::kDeviceToHost);
  }
  // The host waits for everything, and then needs so long to go on.
  void Synchronise(int64_t after_ns, int device = 0) {
    const int64_t end = std::max(host_, free_[static_cast<size_t>(device)]) + 2'000;
    events_.push_back({.process_id = 1,
                       .thread_id = 1,
                       .name = "cudaStreamSynchronize",
                       .start_ns = host_,
                       .end_ns = end});
    host_ = end + after_ns;
  }
  // The work of the host until the next mark is the step.
  void Mark(int64_t number) {
    EndMark();
    run_.step_marks.push_back({1, number, host_, INT64_MAX});
  }
  void EndMark() {
    if (!run_.step_marks.empty()) run_.step_marks.back().end_ns = host_;
  }
  // `name` is kept as it is: a literal.
  void HostCalls(const char* name, int64_t ns) {
    events_.push_back(
        {.process_id = 1, .thread_id = 1, .name = name, .start_ns = host_, .end_ns = host_ + ns});
    host_ += ns;
  }
  void HostDoes(const char* name, int64_t ns) {
    events_.push_back({.process_id = 1,
                       .thread_id = 1,
                       .name = name,
                       .start_ns = host_,
                       .end_ns = host_ + ns,
                       .range_id = static_cast<Id>(events_.size() + 1)});
    host_ += ns;
  }

  model::AnalysisTables Analyse() {
    auto attribution = correlator::Attribute(
        run_, [](Id) -> Result<correlator::LoadedModule> { return correlator::LoadedModule(); });
    EXPECT_TRUE(attribution.has_value());
    analysis::AnalysisOptions options;
    options.host_events = [&](const analysis::Intervals&) { return events_; };
    options.call_of = [&](size_t i) -> std::optional<model::HostCall> { return calls_[i]; };
    return analysis::Analyze(
        run_, *attribution, [](Id) -> Result<const model::HloModule*> { return nullptr; }, options);
  }

 private:
  void Add(model::ActivityKind kind, const std::string& name, int64_t ns, int64_t call_ns,
           int device, int64_t bytes, model::CopyKind copy) {
    uint32_t& config = configs_[name];
    if (config == 0) {
      model::LaunchConfig row;
      row.kind = kind;
      row.symbol = row.name = name;
      row.copy_kind = copy;
      if (blocks_ > 0) row.grid[0] = blocks_;
      run_.configs.push_back(row);
      config = static_cast<uint32_t>(run_.configs.size());
    }
    calls_.push_back({static_cast<Id>(calls_.size() + 1), host_, host_ + call_ns});
    events_.push_back(
        {.process_id = 1,
         .thread_id = 1,
         .name = kind == model::ActivityKind::kKernel ? "cudaLaunchKernel" : "cudaMemcpyAsync",
         .start_ns = host_,
         .end_ns = host_ + call_ns});
    host_ += call_ns;
    int64_t& free = free_[static_cast<size_t>(device)];
    const int64_t start = std::max(free + 1'000, host_ + 2'000);
    free = start + ns;
    model::ActivityColumns& columns = run_.activities;
    columns.lane.push_back(static_cast<uint32_t>(2 * device + 1));
    columns.config.push_back(config);
    columns.hint.push_back(0);
    columns.run_key.push_back(0);
    columns.start_ns.push_back(start);
    columns.duration_ns.push_back(ns);
    columns.self_ns.push_back(ns);
    columns.bytes.push_back(bytes);
  }

  model::RunTables run_;
  std::vector<model::HostEvent> events_;
  std::vector<model::HostCall> calls_;
  std::map<std::string, uint32_t> configs_;
  std::vector<int64_t> free_;
  int64_t host_ = 0;
  int64_t blocks_ = 0;  // Blocks of the next launches; 0: not recorded.
};

constexpr const char* kGemm = "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN";

// A block of a served model whose queue the host keeps filled.
void Block(Run& run, int64_t call_ns = 5'000, int device = 0) {
  run.Launch("flash_fwd_kernel", 400'000, call_ns, device);
  for (int k = 0; k < 6; ++k) {
    run.Launch(kGemm, 90'000, call_ns, device);
    run.Launch("vectorized_elementwise_kernel", 30'000, call_ns, device);
  }
}

// Two devices that exchange after each block, for 40 us at least: `late_of` names the device that
// computes longer before the k-th exchange, and by how much; the other one waits so long for it.
template <typename LateOf>
Run ExchangingRun(const LateOf& late_of) {
  Run run(2);
  for (int k = 0; k < 20; ++k) {
    const auto [waits, ns] = late_of(k);
    for (int device = 0; device < 2; ++device) {
      Block(run, 2'000, device);
      const bool late = device != waits;
      run.Launch("layer_norm_kernel", late ? 30'000 + ns : 30'000, 2'000, device);
      run.Launch("ncclDevKernel_SendRecv", late ? 40'000 : 40'000 + ns, 2'000, device);
    }
  }
  return run;
}

struct Case {
  std::string finding;  // Rule; empty: clean.
  std::function<model::AnalysisTables()> make;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"launch_bound",
       [] {
         Run run;
         for (int k = 0; k < 400; ++k) run.Launch("vectorized_elementwise_kernel", 5'000, 60'000);
         return run.Analyse();
       }},
      {"sync_each_step",
       [] {
         Run run;
         for (int k = 0; k < 20; ++k) {
           Block(run);
           run.Copy(true, 8, 1'000);
           run.Synchronise(700'000);
         }
         return run.Analyse();
       }},
      {"copy_bound",
       [] {
         Run run;
         for (int k = 0; k < 30; ++k) {
           run.Copy(true, 200'000'000, 7'000'000);
           Block(run);
         }
         return run.Analyse();
       }},
      {"exposed_collective",
       [] {
         Run run;
         for (int k = 0; k < 20; ++k) {
           Block(run);
           run.Launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 900'000);
         }
         return run.Analyse();
       }},
      {"pauses",
       [] {
         Run run;
         Block(run);
         run.HostDoes("aten::cudnn_convolution", 3'000'000'000);
         for (int k = 0; k < 20; ++k) Block(run);
         return run.Analyse();
       }},
      {"no_tensor_core",
       [] {
         Run run;
         for (int k = 0; k < 20; ++k) {
           Block(run);
           run.Launch("ampere_sgemm_128x64_nn", 800'000);
         }
         return run.Analyse();
       }},
      {"input_bound",
       [] {
         Run run;
         for (int k = 0; k < 20; ++k) {
           run.Synchronise(0);
           run.HostDoes("DataLoader.__next__", 2'000'000);
           Block(run);
         }
         return run.Analyse();
       }},
      {"arrival_skew",
       [] { return ExchangingRun([](int) { return std::pair(0, 460'000); }).Analyse(); }},
      {"gemm_split_k",
       [] {
         Run run;
         for (int k = 0; k < 20; ++k) {
           Block(run);
           run.LaunchOf(8, "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4",
                        900'000);
         }
         return run.Analyse();
       }},
      // The host is ahead, with and without kernels of its own naming; two devices alike.
      {"",
       [] {
         Run run;
         for (int k = 0; k < 50; ++k) Block(run);
         return run.Analyse();
       }},
      {"",
       [] {
         Run run(2);
         for (int k = 0; k < 50; ++k) {
           Block(run, 2'000, 0);
           Block(run, 2'000, 1);
         }
         return run.Analyse();
       }},
      {"",
       [] {
         Run run;
         for (int k = 0; k < 500; ++k) run.Launch("fused_step_kernel", 200'000);
         return run.Analyse();
       }},
  };
  return cases;
}

std::string Listing(const model::AnalysisTables& tables) {
  std::string text;
  for (const model::FindingRow& row : tables.findings) {
    text += "\n  " + row.id + " | " + row.title + " | " + row.sentence;
  }
  for (const model::RuledOutRow& row : tables.ruled_out) {
    text += std::string("\n  ") + (row.withheld ? "withheld " : "fine ") + row.text;
  }
  return text;
}

TEST(PlantedForeign, FirstOrSecondFindingNamesTheCause) {
  for (const Case& planted : Cases()) {
    if (planted.finding.empty()) continue;
    const model::AnalysisTables tables = planted.make();
    int rank = 0;
    for (size_t k = 0; k < std::min<size_t>(2, tables.findings.size()); ++k) {
      if (rank == 0 && tables.findings[k].id == planted.finding) rank = static_cast<int>(k) + 1;
    }
    AddRow("(no HLO)", planted.finding, rank, tables.findings);
    EXPECT_GT(rank, 0) << planted.finding << Listing(tables);
  }
}

// Steps without executions of programs, as in an eager framework. In steps selected by `stalls`,
// the host works for half of the step.
template <typename Stalls>
model::AnalysisTables SteppedRun(int steps, const Stalls& stalls, int64_t stall_ns = 20'000'000,
                                 int64_t else_ns = 0) {
  Run run;
  for (int k = 0; k < steps; ++k) {
    run.Mark(k);
    for (int kernel = 0; kernel < 50; ++kernel) run.Launch("step_kernel", 400'000);
    run.Synchronise(0);
    const int64_t ns = stalls(k) ? stall_ns : else_ns;
    if (ns > 0) run.HostDoes("save", ns);
  }
  run.EndMark();
  return run.Analyse();
}

int64_t CountOf(const model::AnalysisTables& tables, const std::string& id) {
  return std::count_if(tables.findings.begin(), tables.findings.end(),
                       [&](const model::FindingRow& row) { return row.id == id; });
}

TEST(PlantedForeign, PauseOfEveryStepIsNoStall) {
  const model::AnalysisTables tables = SteppedRun(40, [](int) { return true; });
  ASSERT_GE(tables.steps.size(), 38u);
  EXPECT_EQ(CountOf(tables, "long_stall"), 0) << Listing(tables);
  ASSERT_FALSE(tables.findings.empty());
  EXPECT_LE(tables.findings.size(), 4u) << Listing(tables);
}

TEST(PlantedForeign, StallsOfFewStepsAreOneFinding) {
  const auto text = [](const model::AnalysisTables& tables) {
    return tables.findings.size() == 1 && tables.findings[0].id == "pauses"
               ? analysis::TextOf(tables.findings[0])
               : Listing(tables);
  };
  EXPECT_GOLDEN_TEXT(text(SteppedRun(200, [](int k) { return k % 40 == 20; })));
  EXPECT_GOLDEN_TEXT(text(SteppedRun(60, [](int k) { return k == 20 || k == 40; })));
}

// Between steps of 20 ms the host takes 1.5 ms, and 4 ms in every fifth: no event, but how it is.
TEST(PlantedForeign, SlightlyLongerHostTimeIsNoPause) {
  const auto stalls = [](int k) { return k % 5 == 2; };
  const auto now = SteppedRun(60, stalls, 4'000'000, 1'500'000);
  EXPECT_EQ(CountOf(now, "pauses"), 0) << Listing(now);
  const auto longer = SteppedRun(60, stalls, 6'000'000, 1'500'000);
  EXPECT_EQ(CountOf(longer, "pauses"), 1) << Listing(longer);
}

TEST(PlantedForeign, StallsAreFoundAmongNineSteps) {
  const model::AnalysisTables tables = SteppedRun(9, [](int k) { return k == 3 || k == 6; });
  EXPECT_EQ(CountOf(tables, "pauses"), 1) << Listing(tables);
}

const model::FindingRow* Find(const model::AnalysisTables& tables, const std::string& id) {
  const auto at = std::find_if(tables.findings.begin(), tables.findings.end(),
                               [&](const model::FindingRow& row) { return row.id == id; });
  return at == tables.findings.end() ? nullptr : &*at;
}

TEST(PlantedForeign, AdviceNamesTheFrameworkOfTheKernels) {
  const auto action = [](const std::string& kernel) {
    planted::Run run;
    for (int k = 0; k < 400; ++k) run.Launch(kernel, 5'000, 60'000);
    const model::AnalysisTables tables = run.Analyse();
    const model::FindingRow* found = Find(tables, "launch_bound");
    return found == nullptr ? Listing(tables) : found->action;
  };
  EXPECT_THAT(action("vectorized_elementwise_kernel"), testing::HasSubstr("`jax.jit`"));
  for (const char* kernel : {"void at::native::vectorized_elementwise_kernel<4>",
                             "_ZN2at6native29vectorized_elementwise_kernelILi8EEvv"}) {
    EXPECT_THAT(action(kernel), testing::HasSubstr("`torch.compile"));
    EXPECT_THAT(action(kernel), testing::Not(testing::HasSubstr("jax")));
  }
}

// Device 0 waits 460 us ten times, device 1 waits 200 us ten times; both exchange 20 x 40 us.
TEST(PlantedForeign, OverlapSavesTheExchangeAndNotTheWaiting) {
  const model::AnalysisTables tables =
      ExchangingRun([](int k) {
        return k % 2 == 0 ? std::pair(0, 460'000) : std::pair(1, 200'000);
      }).Analyse();
  const model::FindingRow* overlap = Find(tables, "exposed_collective");
  ASSERT_NE(overlap, nullptr) << Listing(tables);
  EXPECT_GOLDEN_TEXT(analysis::TextOf(*overlap));
  EXPECT_EQ(overlap->saves_high_ns_per_step, 40'000);
  const model::FindingRow* skew = Find(tables, "arrival_skew");
  ASSERT_NE(skew, nullptr) << Listing(tables);
  // Each device comes last in half of the collectives, so no device is slower. But two thirds of
  // the waiting time are for device 1.
  EXPECT_THAT(skew->title, testing::HasSubstr("GPU 1"));
  EXPECT_GOLDEN_TEXT(analysis::TextOf(*skew));
  // The middle half of 20 steps without an end: six of one kind and five of the other.
  EXPECT_EQ(skew->saves_high_ns_per_step, (6 * 460'000 + 5 * 200'000) / 22);
}

TEST(PlantedForeign, IfWaitingIsSharedNoDeviceIsNamed) {
  const model::AnalysisTables tables =
      ExchangingRun([](int k) { return std::pair(k % 2, 330'000); }).Analyse();
  const model::FindingRow* skew = Find(tables, "arrival_skew");
  ASSERT_NE(skew, nullptr) << Listing(tables);
  EXPECT_THAT(skew->title, testing::Not(testing::HasSubstr("GPU ")));
  EXPECT_GOLDEN_TEXT(analysis::TextOf(*skew));
}

TEST(PlantedForeign, DeviceThatComesLastMostOftenIsNamed) {
  const model::AnalysisTables tables =
      ExchangingRun([](int k) {
        return k % 4 == 0 ? std::pair(1, 200'000) : std::pair(0, 460'000);
      }).Analyse();
  const model::FindingRow* skew = Find(tables, "arrival_skew");
  ASSERT_NE(skew, nullptr) << Listing(tables);
  EXPECT_THAT(skew->title, testing::HasSubstr("GPU 1"));
  EXPECT_THAT(
      analysis::EvidenceFigures(skew->evidence_json),
      testing::Contains("10 count"));  // GPU 1 is last: 14 long and 5 short steps, middle half.
  EXPECT_GOLDEN_TEXT(analysis::TextOf(*skew));
}

// Calls that create a context or allocate memory are not Python code between launches.
TEST(PlantedForeign, HostThatAllocatesMemoryIsNamedByItsCalls) {
  const auto run_of = [](const char* call) {
    planted::Run run;
    for (int k = 0; k < 20; ++k) {
      run.HostCalls(call, 2'000'000);
      Block(run);
    }
    return run.Analyse();
  };
  const model::AnalysisTables memory = run_of("cudaMalloc_v3020");
  const model::FindingRow* finding = Find(memory, "host_gap");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->title, testing::HasSubstr("cudaMalloc"));
  EXPECT_GOLDEN_TEXT(analysis::TextOf(*finding));
  EXPECT_THAT(finding->action, testing::HasSubstr("pool"));
  const model::AnalysisTables python = run_of("cudaGetLastError");
  finding = Find(python, "host_gap");
  ASSERT_NE(finding, nullptr);
  EXPECT_GOLDEN_TEXT(analysis::TextOf(*finding));
}

TEST(PlantedForeign, CopyOfWeightsBeforeTheFirstKernelIsFine) {
  planted::Run run;
  for (int k = 0; k < 30; ++k) run.Copy(true, 200'000'000, 7'000'000);
  // Each kernel runs once, so that there are no steps.
  for (const char* kernel : {"embedding_kernel", "flash_fwd_kernel", "softmax_kernel"}) {
    run.Launch(kernel, 400'000);
  }
  const model::AnalysisTables tables = run.Analyse();
  EXPECT_EQ(Find(tables, "copy_bound"), nullptr);
  const auto fine = std::find_if(tables.ruled_out.begin(), tables.ruled_out.end(),
                                 [](const auto& row) { return row.id == "copy_bound"; });
  ASSERT_NE(fine, tables.ruled_out.end());
  EXPECT_FALSE(fine->withheld);
  EXPECT_GOLDEN_TEXT(analysis::TextOf(*fine));  // 210 of 210 ms.
}

// Ten times the host waits for 40 kernels of 100 us, and needs 500 us to go on.
TEST(PlantedForeign, HostWaitIsNamedWithCallAndTime) {
  planted::Run run;
  for (int k = 0; k < 10; ++k) {
    for (int i = 0; i < 39; ++i) run.Launch("vectorized_elementwise_kernel", 100'000);
    run.Launch("reduce_kernel", 100'000);
    run.Synchronise(500'000);
  }
  run.Launch("vectorized_elementwise_kernel", 100'000);
  const model::AnalysisTables tables = run.Analyse();
  const model::FindingRow* found = Find(tables, "sync_each_step");
  ASSERT_NE(found, nullptr) << Listing(tables);
  EXPECT_THAT(found->evidence_json, testing::HasSubstr("cudaStreamSynchronize"));
  EXPECT_THAT(analysis::EvidenceFigures(found->evidence_json), testing::Contains("1 count"));
  EXPECT_GOLDEN_TEXT(analysis::TextOf(*found));
}

TEST(PlantedForeign, AKernelOfAnAnonymousNamespaceHasAName) {
  planted::Run run;
  for (int k = 0; k < 400; ++k) {
    run.Launch("void (anonymous namespace)::multimem_all_reduce_kernel<float>(float*)", 50'000,
               60'000);
  }
  const model::AnalysisTables tables = run.Analyse();
  const model::FindingRow* found = Find(tables, "exposed_collective");
  ASSERT_NE(found, nullptr) << Listing(tables);
  EXPECT_THAT(found->evidence_json, testing::HasSubstr(" multimem_all_reduce_kernel,"));
}

// After a wait the host launches one short kernel, does other work, and only then fills the queue.
// Only the time to fill the queue is attributed to the wait.
TEST(PlantedForeign, SlowQueueFillingIsNotAttributedToTheWait) {
  const auto synchronised_ns = [](int64_t elsewhere_ns) {
    planted::Run run;
    for (int k = 0; k < 10; ++k) {
      for (int block = 0; block < 6; ++block) Block(run);
      run.Synchronise(0);
      run.Launch("vectorized_elementwise_kernel", 20'000);
      run.HostDoes("aten::native_layer_norm", elsewhere_ns);
      run.Launch("vectorized_elementwise_kernel", 20'000);
    }
    for (int block = 0; block < 6; ++block) Block(run);
    int64_t ns = 0;
    for (const model::GapRow& gap : run.Analyse().gaps) {
      if (gap.cause == model::GapCause::kSynchronisation) ns += gap.end_ns - gap.start_ns;
    }
    return ns;
  };
  const int64_t filling = synchronised_ns(500'000);
  EXPECT_GT(filling, 10 * 450'000);
  EXPECT_LT(synchronised_ns(3'000'000), filling);
}

// Another number of launches, or launches at other times: not the same exchanges.
TEST(PlantedForeign, CollectivesWithoutCounterpartsHaveNoWaiting) {
  for (const bool other_number : {true, false}) {
    planted::Run run(2);
    if (!other_number) run.Launch("prologue", 100'000'000, 2'000, 1);
    for (int k = 0; k < 20; ++k) {
      for (int device = 0; device < 2; ++device) {
        Block(run, 2'000, device);
        run.Launch("ncclDevKernel_SendRecv", device == 0 ? 500'000 : 40'000, 2'000, device);
        if (other_number && device == 1) run.Launch("ncclDevKernel_SendRecv", 40'000, 2'000, 1);
      }
    }
    const model::AnalysisTables tables = run.Analyse();
    EXPECT_EQ(CountOf(tables, "arrival_skew"), 0) << Listing(tables);
    const model::FindingRow* overlap = Find(tables, "exposed_collective");
    ASSERT_NE(overlap, nullptr) << Listing(tables);
    // The mean of both devices.
    EXPECT_EQ(overlap->saves_high_ns_per_step, other_number ? 290'000 : 270'000);
  }
}

TEST(PlantedForeign, CleanRunsHaveNoFinding) {
  for (const Case& clean : Cases()) {
    if (!clean.finding.empty()) continue;
    const model::AnalysisTables tables = clean.make();
    AddRow("(no HLO)", "", static_cast<int>(tables.findings.size()), tables.findings);
    EXPECT_TRUE(tables.findings.empty()) << Listing(tables);
  }
}

}  // namespace
}  // namespace xlatrace::planted
