// SPDX-License-Identifier: Apache-2.0
#include "compare/verdict.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/change_order.h"
#include "tests/compare/run_case.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::compare {
namespace {

using testing::HasSubstr;
using RunRows = Run;  // Test::Run hides it.

TEST(Verdict, SlowerStepNamesTheLossFirst) {
  // A certain gain of 400 (half as many executions) beside a measured loss of 600.
  RunRows base = ThreeOps(1000, 1000, 1000, "x");
  RunRows now = ThreeOps(600, 1600, 1000, "y");
  now.ops[0].calls = 5;
  const Comparison comparison = Compare(base, now);
  const auto changes = FindChanges(base, now, comparison);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].delta_ns, 600);
  EXPECT_EQ(changes[1].delta_ns, -400);
  const std::string slower = SentenceOf(base, now);
  EXPECT_LT(slower.find("+600 ns"), slower.find("-400 ns")) << slower;
  // The sentence has the certain change too: the number of executions.
  EXPECT_GOLDEN_TEXT(slower);
  // The comparison the other way round has the opposite signs.
  const auto turned = FindChanges(now, base, Compare(now, base));
  EXPECT_EQ(turned[0].delta_ns, -600);
  EXPECT_EQ(turned[1].delta_ns, 400);
}

// Two pauses are not part of the steady steps, and they are the largest change.
TEST(Verdict, TimeBetweenSteadyStepsComesFirstIfItChangedMost) {
  RunRows base = ThreeOps(1'000'000, 1'000'000, 1'000'000, "x");
  RunRows now = ThreeOps(1'000'000, 1'100'000, 1'000'000, "y");
  base.amid_ns = base.step_ns;
  now.amid_ns = now.step_ns + 3'000'000;
  now.unsteady_amid = 2;
  base.compilations = 1;
  now.compilations = 3;
  Module module;
  module.role = "main";
  module.function = "train_step";
  now.modules.push_back(module);
  const std::string sentence = SentenceOf(base, now);
  // All steps: 3.00 to 6.10 ms, +103.3 %; steady steps: 3.00 to 3.10 ms, +3.3 %.
  EXPECT_GOLDEN_TEXT(sentence);
  // The time between steps changed less than the time of the steady steps, or almost not.
  RunRows slower = ThreeOps(1'000'000, 1'400'000, 1'000'000, "z");
  slower.amid_ns = slower.step_ns + 200'000;
  EXPECT_TRUE(SentenceOf(base, slower).starts_with("Same program")) << SentenceOf(base, slower);
  now.amid_ns = now.step_ns + 90'000;
  EXPECT_TRUE(SentenceOf(base, now).starts_with("Same program")) << SentenceOf(base, now);
  now.amid_ns = 0;
  EXPECT_TRUE(SentenceOf(base, now).starts_with("Same program")) << SentenceOf(base, now);
}

TEST(Verdict, SmallCertainChangeIsNotTheReason) {
  const RunRows base = ThreeOps(1'000'000, 1'000'000, 1'000'000, "x");
  RunRows now = ThreeOps(999'000, 1'600'000, 1'000'000, "y");
  now.ops[0].calls = 5;  // Half as many executions: 1 us of 599.
  const std::string sentence = SentenceOf(base, now);
  EXPECT_NE(sentence.find("+600 us"), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find("dot.1"), std::string::npos) << sentence;
  EXPECT_GOLDEN_TEXT(sentence);
}

TEST(Verdict, RemovedRecomputationIsNamedAlthoughTheStepIsSlower) {
  RunRows base = ThreeOps(1'000'000, 1'000'000, 1'000'000, "x");
  RunRows now = ThreeOps(1'000'000, 1'000'000, 1'000'000, "y");
  // NEW reads a result instead of recomputing it, and has a new fusion and a new sort.
  Op again = MakeOp("dot.9", "jit(f)/transpose(jvp(a))/rematted_computation/dot_general", 300'000);
  again.phase = model::Phase::kRecompute;
  base.ops.push_back(again);
  now.ops.push_back(MakeOp("sort.1", "jit(f)/d/sort", 900'000, "sort"));
  now.ops.push_back(MakeOp("reduce.1", "jit(f)/e/reduce_sum", 500'000, "reduction"));
  for (RunRows* run : {&base, &now}) {
    run->device_ns = 0;
    for (const Op& op : run->ops) run->device_ns += op.ns;
    run->step_ns = run->device_ns;
    run->steps.assign(10, run->step_ns);
    run->modules[0].ns = run->device_ns;
  }
  const Comparison comparison = Compare(base, now);
  const auto changes = FindChanges(base, now, comparison);
  const std::string sentence =
      ComputeVerdict(base, now, comparison, changes, {&base}, {&now}).sentence;
  EXPECT_GOLDEN_TEXT(sentence);
  const size_t sort = sentence.find("sort");
  const size_t remat = sentence.find("remat");
  ASSERT_NE(sort, std::string::npos) << sentence;
  ASSERT_NE(remat, std::string::npos) << sentence;
  EXPECT_LT(sort, remat);
}

// NEW is a recording twice as long of a program that takes a tenth more in every call.
TEST(Verdict, WithoutStepsCallsAreCompared) {
  const auto run = [](int64_t calls, int64_t ns, std::string id) {
    RunRows rows = WithoutSteps(MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", calls * ns),
                                         MakeOp("dot.2", "jit(f)/b/dot_general", calls * 500'000)},
                                        std::move(id)),
                                calls);
    rows.modules[0].executions = calls;
    rows.modules[0].run_ns = rows.device_ns;
    return rows;
  };
  const RunRows base = run(100, 500'000, "a");
  const RunRows now = run(200, 600'000, "b");
  const Comparison comparison = Compare(base, now);
  const Verdict verdict =
      ComputeVerdict(base, now, comparison, FindChanges(base, now, comparison), {&base}, {&now});
  EXPECT_THAT(verdict.sentence, HasSubstr("1.00 ms -> 1.10 ms, +10.0%"));
  EXPECT_GOLDEN_TEXT(verdict.sentence + "\n" + verdict.noise);  // 100 and 200 calls.
  EXPECT_FALSE(verdict.established());
}

// NEW has half as many calls, so half of the device time; changes are weighed per call instead.
TEST(Verdict, OtherNumberOfCallsDoesNotHideChangesPerCall) {
  const auto run = [](int64_t calls, const std::string& other, int64_t other_ns, std::string id) {
    std::vector<Op> ops;
    for (int i = 0; i < 9; ++i) {
      const std::string number = std::to_string(i);
      ops.push_back(
          MakeOp("dot." + number, "jit(f)/part_" + number + "/dot_general", calls * 1'000'000));
    }
    ops.push_back(MakeOp(other, "jit(f)/" + other, calls * other_ns, other));
    RunRows rows = WithoutSteps(MakeRun(std::move(ops), std::move(id)), calls);
    rows.modules[0].executions = calls;
    rows.modules[0].run_ns = rows.device_ns;
    return rows;
  };
  const std::string sentence =
      SentenceOf(run(100, "sort", 200'000, "a"), run(50, "gather", 250'000, "b"));
  EXPECT_NE(sentence.find("sort"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("gather"), std::string::npos) << sentence;
}

// Five runs on each side whose steps scatter by 1 %, around equal and around different times.
TEST(Verdict, DifferenceIsEstablishedIfItsIntervalExcludesZero) {
  const auto runs = [](int64_t step_ns, int64_t first) {
    std::vector<RunRows> made;
    for (int64_t k = 0; k < 5; ++k) {
      RunRows run =
          MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", step_ns)}, std::to_string(first + k));
      for (size_t i = 0; i < run.steps.size(); ++i) {
        run.steps[i] = step_ns + (k - 2) * step_ns / 100 + static_cast<int64_t>(i);
      }
      made.push_back(std::move(run));
    }
    return made;
  };
  const auto judged = [](const std::vector<RunRows>& base, const std::vector<RunRows>& now) {
    std::vector<const RunRows*> ours, theirs;
    for (const RunRows& run : base) ours.push_back(&run);
    for (const RunRows& run : now) theirs.push_back(&run);
    const Comparison comparison = Compare(base[0], now[0]);
    return ComputeVerdict(base[0], now[0], comparison, FindChanges(base[0], now[0], comparison),
                          ours, theirs);
  };
  const auto base = runs(1'000'000, 10);
  const Verdict same = judged(base, runs(1'001'000, 20));
  EXPECT_FALSE(same.established()) << same.noise;
  EXPECT_GOLDEN_TEXT(same.noise);
  const Verdict slower = judged(base, runs(1'200'000, 30));
  EXPECT_TRUE(slower.established()) << slower.noise;
  EXPECT_GT(slower.time.interval.low, 0.1);
  EXPECT_LT(slower.time.interval.high, 0.3);
}

TEST(Verdict, EqualStepIsCalledAboutTheSame) {
  const RunRows base = ThreeOps(100'000, 100'000, 100'000, "x");
  RunRows now = ThreeOps(90'000, 110'100, 100'000, "y");
  now.ops[0].calls = 5;
  const std::string sentence = SentenceOf(base, now);
  EXPECT_THAT(sentence, HasSubstr("<0.1%"));
  EXPECT_GOLDEN_TEXT(sentence);
  // The certain change comes first.
  EXPECT_LT(sentence.find("-10.0 us"), sentence.find("+10.1 us")) << sentence;
}

// A wait of 400 us is the reason; 10 us of an op are noise, 100 us may be the cause of the wait.
TEST(Verdict, SmallChangesAreOmittedIfAWaitIsTheReason) {
  const auto sentence = [](int64_t op) {
    RunRows base = ThreeOps(100'000, 100'000, 100'000, "x");
    RunRows now = ThreeOps(100'000, op, 100'000, "y");
    constexpr auto kIdle = static_cast<size_t>(model::StepPart::kIdle);
    base.has_parts = now.has_parts = true;
    base.parts[kIdle] = 100'000;
    now.parts[kIdle] = 500'000;
    for (RunRows* run : {&base, &now}) {
      run->step_ns += run->parts[kIdle];
      run->steps.assign(10, run->step_ns);
    }
    return SentenceOf(base, now);
  };
  EXPECT_GOLDEN_TEXT(sentence(110'000));
  EXPECT_EQ(sentence(110'000).find("+10.0 us"), std::string::npos) << sentence(110'000);
  EXPECT_NE(sentence(200'000).find("+100 us"), std::string::npos) << sentence(200'000);
}

TEST(Verdict, SlowerStepWithoutASlowerOpIsUnexplained) {
  // The step became longer, and the only changed op became shorter.
  const RunRows base = ThreeOps(1000, 1000, 1000, "x");
  RunRows now = ThreeOps(600, 1000, 1000, "y");
  now.step_ns = 5000;
  now.steps.assign(10, now.step_ns);
  const std::string sentence = SentenceOf(base, now);
  EXPECT_GOLDEN_TEXT(sentence);
}

}  // namespace
}  // namespace xlatrace::compare
