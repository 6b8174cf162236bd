// SPDX-License-Identifier: Apache-2.0

// The whole analysis on random runs: the invariants hold for each of them.

#include "analysis/analysis.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/check.h"
#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis {
namespace {

using model::ActivityKind;
using model::ModuleRole;
using model::OpKind;
using model::Phase;
using testing::IsEmpty;

const ModuleLoader kNoModules = [](model::Id) -> Result<const model::HloModule*> {
  return MakeError("no HLO");
};

void NameInstructions(RunBuilder& b) {
  static const std::vector<std::string> kNames = {
      "jit(train_step)/jvp(layer_0)/dot_general",
      "jit(train_step)/jvp(layer_1)/dot_general",
      "jit(train_step)/transpose(jvp(layer_1))/dot_general",
      "jit(train_step)/jvp(loss)/div",
      "jit(train_step)/transpose(jvp(layer_0))/checkpoint/rematted_computation/tanh",
      "jit(train_step)/mul",
      ""};
  for (size_t i = 0; i < b.attribution.instructions.size(); ++i) {
    b.attribution.instructions[i].op_name = kNames[i % kNames.size()];
  }
  for (size_t i = 0; i < b.attribution.shares.size(); ++i) {
    b.attribution.shares[i].op_name = kNames[i % kNames.size()];
  }
}

RunBuilder RandomRun(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  RunBuilder b;
  const auto main = b.AddModule();
  const auto helper = b.AddModule(ModuleRole::kHelper);
  std::vector<model::Id> instructions;
  for (int i = 0; i < 12; ++i) {
    const auto kind = static_cast<OpKind>(below(16));
    const auto id = b.AddInstruction(i < 10 ? main : helper, Phase::kUnknown, kind);
    instructions.push_back(id);
    int64_t left = 1'000'000;
    for (int64_t shares = below(4); shares > 0; --shares) {
      const int64_t ppm = shares == 1 ? left : below(left + 1);
      b.AddShare(id, Phase::kUnknown, ppm);
      left -= ppm;
    }
  }
  NameInstructions(b);
  for (int64_t d = 0; d < 1 + below(3); ++d) {
    const auto device = b.AddDevice();
    std::vector<model::Id> lanes;
    for (int64_t l = 0; l < 1 + below(3); ++l) lanes.push_back(b.AddLane(device));
    int64_t now = -below(1000);
    for (int64_t step = 0; step < below(6); ++step) {
      const int64_t start = now;
      std::vector<std::pair<int64_t, int64_t>> times;
      for (int64_t k = 0; k < below(12); ++k) {
        times.emplace_back(now, now + below(3000));
        now += below(3000);
      }
      const auto execution = b.AddExecution(main, device, start, now, below(10) > 0);
      for (const auto& [from, to] : times) {
        RunBuilder::Where where;
        where.execution = below(8) > 0 ? execution : 0;
        if (below(5) > 0) {
          where.instruction = instructions[static_cast<size_t>(below(12))];
        } else {
          where.kind = ActivityKind::kMemcpy;
          where.reason = static_cast<model::Reason>(below(10));
        }
        where.symbol = "k";
        where.symbol += std::to_string(below(3));
        b.AddActivity(lanes[static_cast<size_t>(below(static_cast<int64_t>(lanes.size())))], from,
                      to, where);
      }
      now += below(5000);
    }
  }
  return b;
}

TEST(Analyze, InvariantsHoldForRandomRuns) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    RunBuilder b = RandomRun(seed);
    const model::AnalysisTables tables = Analyze(b.run, b.attribution, kNoModules);
    ASSERT_THAT(CheckAnalysis(b.run, b.attribution, tables), IsEmpty()) << "seed " << seed;
  }
}

TEST(Analyze, OrderOfRecordingDoesNotChangeAnyFigure) {
  RunBuilder b = RandomRun(3);
  RunBuilder reversed = b;
  model::ActivityColumns& columns = reversed.run.activities;
  const auto reverse = [](auto& column) { std::reverse(column.begin(), column.end()); };
  reverse(columns.lane);
  reverse(columns.config);
  reverse(columns.start_ns);
  reverse(columns.duration_ns);
  reverse(columns.self_ns);
  reverse(reversed.attribution.label_of);
  reverse(reversed.attribution.execution_of);
  const auto one = Analyze(b.run, b.attribution, kNoModules);
  const auto two = Analyze(reversed.run, reversed.attribution, kNoModules);
  ASSERT_EQ(one.phase_times.size(), two.phase_times.size());
  for (size_t i = 0; i < one.phase_times.size(); ++i) {
    EXPECT_EQ(one.phase_times[i].self_ns, two.phase_times[i].self_ns);
  }
  ASSERT_EQ(one.op_times.size(), two.op_times.size());
  for (size_t i = 0; i < one.op_times.size(); ++i) {
    EXPECT_EQ(one.op_times[i].instruction_id, two.op_times[i].instruction_id);
    EXPECT_EQ(one.op_times[i].self_ns, two.op_times[i].self_ns);
  }
}

TEST(Analyze, AnEmptyRunGivesEmptyTables) {
  RunBuilder b;
  b.AddDevice();
  const auto tables = Analyze(b.run, b.attribution, kNoModules);
  EXPECT_THAT(CheckAnalysis(b.run, b.attribution, tables), IsEmpty());
  EXPECT_TRUE(tables.busy_times.empty());
  EXPECT_TRUE(tables.op_times.empty());
}

TEST(Analyze, OpTimeCountsRunsInsteadOfKernels) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  const auto gemm = b.AddInstruction(b.AddModule(), Phase::kForward, OpKind::kGemm);
  b.attribution.instructions[0].flops = 100;
  for (int64_t k = 0; k < 3; ++k) {  // A library call of two kernels, three times.
    b.AddActivity(lane, 100 * k, 100 * k + 10, {.instruction = gemm, .symbol = "split"});
    b.AddActivity(lane, 100 * k + 10, 100 * k + 15, {.instruction = gemm, .symbol = "reduce"});
  }
  b.AddActivity(lane, 1000, 1007, {.reason = model::Reason::kNotXla});
  const auto tables = Analyze(b.run, b.attribution, kNoModules);
  ASSERT_EQ(tables.op_times.size(), 2u);
  EXPECT_EQ(tables.op_times[0].instruction_id, gemm);
  EXPECT_EQ(tables.op_times[0].occurrences, 3);
  EXPECT_EQ(tables.op_times[0].self_ns, 45);
  EXPECT_EQ(tables.op_times[0].flops, 300);
  EXPECT_EQ(tables.op_times[0].min_ns, 15);
  EXPECT_EQ(tables.op_times[0].max_ns, 15);
  EXPECT_EQ(tables.op_times[1].instruction_id, 0);
  EXPECT_EQ(tables.op_times[1].module_id, 0);
  EXPECT_EQ(tables.op_times[1].self_ns, 7);
  EXPECT_EQ(tables.op_times[1].confidence, model::Confidence::kNone);
}

TEST(Analyze, ActivityNestedInTheSameInstructionCountsAsOneRun) {
  // Twice, a slicing thunk with the product of the same name in it. Between the two runs lies one
  // single activity. Another lies on another lane, at the time of the first but not within it.
  RunBuilder b;
  const auto device = b.AddDevice();
  const auto lane = b.AddLane(device);
  const auto other_lane = b.AddLane(device);
  const auto module = b.AddModule();
  const auto gemm = b.AddInstruction(module, Phase::kForward, OpKind::kGemm);
  const auto loop = b.AddInstruction(module, Phase::kForward, OpKind::kOther);
  b.attribution.instructions[0].flops = 100;
  for (const int64_t at : {0, 1000}) {
    b.AddActivity(lane, at, at + 120, {.instruction = loop, .self_ns = 20});
    // The inner one as long as the outer: none of the time is the outer's own.
    b.AddActivity(lane, at + 10, at + 110, {.instruction = gemm, .self_ns = 0});
    b.AddActivity(lane, at + 10, at + 110, {.instruction = gemm});
  }
  b.AddActivity(lane, 500, 590, {.instruction = gemm});
  b.AddActivity(other_lane, 20, 60, {.instruction = gemm});
  const auto tables = Analyze(b.run, b.attribution, kNoModules);
  EXPECT_THAT(CheckAnalysis(b.run, b.attribution, tables), IsEmpty());
  ASSERT_EQ(tables.op_times.size(), 2u);
  const model::OpTimeRow& row = tables.op_times[0];
  EXPECT_EQ(row.instruction_id, gemm);
  EXPECT_EQ(row.occurrences, 4);
  EXPECT_EQ(row.total_ns, 330);
  EXPECT_EQ(row.self_ns, 330);
  EXPECT_EQ(row.flops, 400);
  EXPECT_EQ(row.min_ns, 40);
  EXPECT_EQ(row.max_ns, 100);
  EXPECT_EQ(tables.op_times[1].occurrences, 2);
  EXPECT_EQ(tables.op_times[1].self_ns, 40);
}

TEST(Analyze, ActivitiesWithoutTimesDoNotChangeAnyFigure) {
  const auto make = [](bool with_untimed) {
    RunBuilder b;
    const auto lane = b.AddLane(b.AddDevice());
    const auto module = b.AddModule();
    const auto gemm = b.AddInstruction(module, Phase::kForward, OpKind::kGemm);
    b.attribution.instructions[0].flops = 100;
    const auto reduce = b.AddInstruction(module, Phase::kForward, OpKind::kCollective);
    for (int64_t k = 0; k < 3; ++k) {
      b.AddActivity(lane, 10000 * k, 10000 * k + 10, {.instruction = gemm});
      if (k == 1 && with_untimed) {
        // In the middle of what is a gap of one piece; one is all that its instruction has.
        for (const auto instruction : {gemm, reduce}) {
          const size_t i = b.AddActivity(lane, 15000, 15000, {.instruction = instruction});
          b.run.activities.timing.resize(i + 1, model::Timing::kKnown);
          b.run.activities.timing[i] = model::Timing::kUnknown;
        }
      }
    }
    return b;
  };
  RunBuilder with = make(true);
  RunBuilder without = make(false);
  const auto a = Analyze(with.run, with.attribution, kNoModules);
  const auto b = Analyze(without.run, without.attribution, kNoModules);
  EXPECT_THAT(CheckAnalysis(with.run, with.attribution, a), IsEmpty());
  ASSERT_EQ(a.op_times.size(), 1u);
  EXPECT_EQ(a.op_times[0].occurrences, 3);
  EXPECT_EQ(a.op_times[0].min_ns, 10);
  EXPECT_EQ(a.op_times[0].flops, 300);
  EXPECT_TRUE(a.collectives.empty());
  ASSERT_EQ(a.gaps.size(), 2u);
  EXPECT_EQ(a.gaps[1].start_ns, 10010);
  EXPECT_EQ(a.gaps[1].end_ns, 20000);
  ASSERT_EQ(a.busy_times.size(), 1u);
  EXPECT_EQ(a.busy_times[0].busy_ns, b.busy_times[0].busy_ns);
  EXPECT_EQ(a.busy_times[0].idle_ns, b.busy_times[0].idle_ns);
}

TEST(Analyze, UnattributedTimeHasUnknownPhaseExceptAutotuning) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 3, {.reason = model::Reason::kAutotuning});
  b.AddActivity(lane, 10, 15, {.reason = model::Reason::kNoModule});
  const auto tables = Analyze(b.run, b.attribution, kNoModules);
  ASSERT_EQ(tables.phase_times.size(), 2u);
  EXPECT_EQ(tables.phase_times[0].phase, Phase::kUnknown);
  EXPECT_EQ(tables.phase_times[0].self_ns, 5);
  EXPECT_EQ(tables.phase_times[1].phase, Phase::kOther);
  EXPECT_EQ(tables.phase_times[1].self_ns, 3);
}

TEST(Analyze, InstructionsOfUnreadableModulesGetPhasesFromTheirNames) {
  RunBuilder b;
  const auto module = b.AddModule();
  for (int i = 0; i < 7; ++i) b.AddInstruction(module, Phase::kUnknown);
  NameInstructions(b);
  const auto tables = Analyze(b.run, b.attribution, kNoModules);
  const auto& rows = b.attribution.instructions;
  EXPECT_EQ(rows[0].phase, Phase::kForward);
  EXPECT_EQ(rows[0].layer, "layer_0");
  EXPECT_EQ(rows[0].layer_group, "layer_*");
  EXPECT_EQ(rows[2].phase, Phase::kBackward);
  EXPECT_EQ(rows[3].phase, Phase::kLoss);
  EXPECT_EQ(rows[4].phase, Phase::kRecompute);
  EXPECT_EQ(rows[5].phase, Phase::kOptimizer);
  EXPECT_EQ(rows[6].phase, Phase::kUnknown);
  ASSERT_EQ(tables.stats.size(), 1u);
  EXPECT_EQ(tables.stats[0].name, "modules_labelled_by_name_only");
}

TEST(Check, InvalidTablesAreDetected) {
  // In some random runs the steps agree.
  RunBuilder b = RandomRun(1);
  auto sound = Analyze(b.run, b.attribution, kNoModules);
  const auto whole = [](const auto& t) {
    return !t.steps.empty() && !t.step_parts.empty() && !t.phase_times.empty() &&
           !t.op_times.empty() && !t.scope_times.empty() && !t.busy_times.empty();
  };
  for (uint32_t seed = 2; seed < 200 && !whole(sound); ++seed) {
    b = RandomRun(seed);
    sound = Analyze(b.run, b.attribution, kNoModules);
  }
  const auto broken = [&](auto change) {
    auto tables = sound;
    change(tables);
    return CheckAnalysis(b.run, b.attribution, tables).size();
  };
  ASSERT_TRUE(whole(sound));
  EXPECT_GT(broken([](auto& t) { t.op_times[0].self_ns += 1; }), 0u);
  EXPECT_GT(broken([](auto& t) { t.scope_times[0].self_ns -= 1; }), 0u);
  EXPECT_GT(broken([](auto& t) { t.phase_times[0].self_ns += 1; }), 0u);
  EXPECT_GT(broken([](auto& t) { t.step_parts[0].wall_ns += 1; }), 0u);
  EXPECT_GT(broken([](auto& t) { t.busy_times[0].idle_ns += 1; }), 0u);
  EXPECT_GT(broken([](auto& t) { t.steps[0].device_ns += 1; }), 0u);
}

}  // namespace
}  // namespace xlatrace::analysis
