// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis {
namespace {

using model::ModuleRole;
using model::Phase;
using testing::ElementsAre;

std::vector<int64_t> Starts(const Steps& steps, model::Id device = 1) {
  std::vector<int64_t> starts;
  for (const model::StepRow& row : steps.OfDevice(device)) starts.push_back(row.start_ns);
  return starts;
}

std::vector<bool> Steady(const Steps& steps, model::Id device = 1) {
  std::vector<bool> steady;
  for (const model::StepRow& row : steps.OfDevice(device)) steady.push_back(row.steady);
  return steady;
}

TEST(Steps, CountedFromTheExecutionsOfTheMainModule) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  const auto main = b.AddModule();
  const auto helper = b.AddModule(ModuleRole::kHelper);
  b.AddActivity(lane, 0, 5, {});  // Before the first step.
  for (int64_t start : {100, 200, 300}) {
    const auto execution = b.AddExecution(main, 1, start, start + 60);
    b.AddActivity(lane, start, start + 60, {.execution = execution});
    const auto other = b.AddExecution(helper, 1, start + 70, start + 80);
    b.AddActivity(lane, start + 70, start + 80, {.execution = other});
  }
  b.AddActivity(lane, 190, 195, {});  // Without an execution: by its start.
  const Steps steps = FindSteps(b.run, b.attribution, {});
  ASSERT_EQ(steps.rows.size(), 3u);
  EXPECT_EQ(steps.rows[0].how, model::StepHow::kExecution);
  EXPECT_THAT(Starts(steps), ElementsAre(100, 200, 300));
  EXPECT_EQ(steps.rows[0].end_ns, 200);
  EXPECT_EQ(steps.rows[2].end_ns, 360);  // The last one ends with its own work.
  EXPECT_THAT(steps.step_of,
              ElementsAre(std::nullopt, std::optional<int32_t>(0), std::optional<int32_t>(0),
                          std::optional<int32_t>(1), std::optional<int32_t>(1),
                          std::optional<int32_t>(2), std::nullopt, std::optional<int32_t>(0)));
}

TEST(Steps, AnActivityBelongsToItsExecutionsStepEvenWhenItRunsLate) {
  RunBuilder b;
  const auto device = b.AddDevice();
  const auto lane = b.AddLane(device);
  const auto other = b.AddLane(device);
  const auto main = b.AddModule();
  const auto first = b.AddExecution(main, 1, 0, 120);
  const auto second = b.AddExecution(main, 1, 100, 200);
  b.AddActivity(lane, 0, 90, {.execution = first});
  b.AddActivity(other, 110, 120, {.execution = first});
  b.AddActivity(lane, 100, 200, {.execution = second});
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_EQ(steps.step_of[1], 0);
  EXPECT_EQ(steps.step_of[2], 1);
}

TEST(Steps, AnUnsteadyStepOnOneDeviceIsUnsteadyOnAll) {
  RunBuilder b;
  const auto main = b.AddModule();
  for (model::Id device : {b.AddDevice(), b.AddDevice()}) {
    b.AddLane(device);
    for (int64_t k = 0; k < 5; ++k) {
      b.AddExecution(main, device, 100 * k, 100 * k + 90, !(device == 2 && k == 2));
    }
  }
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_THAT(Steady(steps, 1), ElementsAre(true, true, false, true, true));
  EXPECT_THAT(Steady(steps, 2), ElementsAre(true, true, false, true, true));
}

TEST(Steps, TwoStepsAreTooFewForASteadyOne) {
  RunBuilder b;
  b.AddLane(b.AddDevice());
  const auto main = b.AddModule();
  b.AddExecution(main, 1, 0, 90);
  b.AddExecution(main, 1, 100, 190);
  EXPECT_THAT(Steady(FindSteps(b.run, b.attribution, {})), ElementsAre(false, false));
}

// On a CPU other programs take time from single calls: of 24 decode steps a quarter takes longer,
// by up to twice; six of one function are no loop, and neither is what agrees in nothing.
TEST(Steps, ALoopOfCallsOnACpuHasStepsThoughSomeArePreempted) {
  const auto found = [](int calls, model::DeviceKind kind, int64_t more) {
    RunBuilder b;
    const auto lane = b.AddLane(b.AddDevice());
    b.run.devices[0].kind = kind;
    const auto main = b.AddModule();
    const auto instruction = b.AddInstruction(main, Phase::kForward);
    int64_t start = 0;
    for (int k = 0; k < calls; ++k) {
      const int64_t takes = 100 + (k % 4 == 2 ? more * (1 + k % 3) : k % 4);
      const auto execution = b.AddExecution(main, 1, start, start + takes);
      b.AddActivity(lane, start, start + takes,
                    {.instruction = instruction, .execution = execution});
      start += takes + 40;
    }
    return FindSteps(b.run, b.attribution, {}).rows.size();
  };
  EXPECT_EQ(found(24, model::DeviceKind::kCpu, 33), 24u);
  EXPECT_EQ(found(6, model::DeviceKind::kCpu, 60), 0u);
  EXPECT_EQ(found(24, model::DeviceKind::kGpu, 33), 0u);
  EXPECT_EQ(found(24, model::DeviceKind::kGpu, 0), 24u);
}

TEST(Steps, AnEvaluationBetweenStepsLeavesTheRest) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  const auto main = b.AddModule();
  const auto helper = b.AddModule(ModuleRole::kHelper);
  const auto train = b.AddInstruction(main, Phase::kBackward);
  const auto eval = b.AddInstruction(helper, Phase::kForward);
  int64_t start = 0;
  for (int k = 0; k < 6; ++k) {
    const auto execution = b.AddExecution(main, 1, start, start + 100);
    b.AddActivity(lane, start, start + 100, {.instruction = train, .execution = execution});
    start += 100;
    if (k == 3) {
      const auto other = b.AddExecution(helper, 1, start, start + 300);
      b.AddActivity(lane, start, start + 300, {.instruction = eval, .execution = other});
      start += 300;
    }
  }
  EXPECT_THAT(Steady(FindSteps(b.run, b.attribution, {})),
              ElementsAre(true, true, true, false, true, true));
}

TEST(Steps, MarksOfTheHostAreLedToWhatTheyLaunched) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  // The host is ahead: what it launched between 0 and 47 runs from 20 to 55, and so on.
  b.run.step_marks = {{1, 6, 0, 47}, {1, 7, 47, 94}};
  b.AddActivity(lane, 20, 35, {});
  b.AddActivity(lane, 36, 55, {});
  b.AddActivity(lane, 70, 104, {});
  const std::vector<int64_t> called = {10, 40, 60};
  const HostCallOf call_of = [&](size_t i) -> std::optional<model::HostCall> {
    return model::HostCall{static_cast<model::Id>(i + 1), called[i], called[i] + 1};
  };
  const Steps steps = FindSteps(b.run, b.attribution, {}, call_of);
  ASSERT_EQ(steps.rows.size(), 2u);
  EXPECT_EQ(steps.rows[0].step, 6);
  EXPECT_EQ(steps.rows[0].start_ns, 20);
  EXPECT_EQ(steps.rows[0].end_ns, 70);   // Where the next one begins.
  EXPECT_EQ(steps.rows[1].end_ns, 104);  // With its own work, not with its annotation.
  EXPECT_THAT(steps.step_of, ElementsAre(std::optional<int32_t>(6), std::optional<int32_t>(6),
                                         std::optional<int32_t>(7)));
}

TEST(Steps, AMarkHoldsItsBeginningAndNotItsEnd) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.run.step_marks = {{1, 1, 0, 40}, {1, 2, 50, 90}};
  for (const int64_t start : {100, 200, 300, 400}) b.AddActivity(lane, start, start + 50, {});
  // Launched as the first mark begins, as it ends (between the two), and so for the second.
  const std::vector<int64_t> called = {0, 40, 50, 90};
  const HostCallOf call_of = [&](size_t i) -> std::optional<model::HostCall> {
    return model::HostCall{static_cast<model::Id>(i + 1), called[i], called[i] + 1};
  };
  const Steps steps = FindSteps(b.run, b.attribution, {}, call_of);
  ASSERT_EQ(steps.rows.size(), 2u);
  EXPECT_EQ(steps.rows[0].start_ns, 100);
  EXPECT_EQ(steps.rows[1].start_ns, 300);
  EXPECT_EQ(steps.rows[1].end_ns, 350);
}

TEST(Steps, ExecutionsCountByTheirStartWhateverTheirRows) {
  RunBuilder b;
  b.AddLane(b.AddDevice());
  const auto main = b.AddModule();
  for (const int64_t start : {300, 100, 400, 200}) b.AddExecution(main, 1, start, start + 60);
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_THAT(Starts(steps), ElementsAre(100, 200, 300, 400));
  ASSERT_EQ(steps.rows.size(), 4u);
  EXPECT_EQ(steps.rows[0].end_ns, 200);
  EXPECT_EQ(steps.rows[3].end_ns, 460);
}

TEST(Steps, ProgramsOfEqualWeightThatTrainInTurnAreOneStep) {
  const auto promoted = [](bool in_turn, Phase phase) {
    RunBuilder b;
    const auto lane = b.AddLane(b.AddDevice());
    model::Id modules[2], instructions[2];
    for (int m = 0; m < 2; ++m) {
      modules[m] = b.AddModule(ModuleRole::kHelper);
      b.attribution.modules.back().beside_others = true;
      b.attribution.modules.back().framework_function = m == 0 ? "grads" : "update";
      instructions[m] = b.AddInstruction(modules[m], m == 1 ? phase : Phase::kForward);
    }
    for (int k = 0; k < 10; ++k) {
      const int m = in_turn ? k % 2 : k / 5;
      const int64_t start = 100 * k;
      const auto execution = b.AddExecution(modules[m], 1, start, start + 99);
      b.AddActivity(lane, start, start + 99,
                    {.instruction = instructions[m], .execution = execution});
    }
    PromoteTurns(b.run, b.attribution);
    return FindSteps(b.run, b.attribution, {}).rows.size();
  };
  EXPECT_EQ(promoted(true, Phase::kOptimizer), 5u);
  EXPECT_EQ(promoted(false, Phase::kOptimizer), 0u);  // One after the other is no step,
  EXPECT_EQ(promoted(true, Phase::kForward), 0u);     // and neither are solvers side by side.
}

// `every` calls of a program that trains for 10 us, then one that takes `evaluation_us`.
std::string MainFunctions(int every, int64_t evaluation_us, ModuleRole heavy, model::OpKind kind,
                          int batches = 1) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  model::Id modules[2], instructions[2];
  for (int m = 0; m < 2; ++m) {
    modules[m] = b.AddModule(m == 1 ? heavy : ModuleRole::kHelper);
    b.attribution.modules.back().beside_others = heavy == ModuleRole::kHelper;
    b.attribution.modules.back().framework_function = m == 0 ? "fit" : "accuracy";
    instructions[m] =
        b.AddInstruction(modules[m], m == 0 ? Phase::kBackward : Phase::kForward, kind);
  }
  int64_t at = 0;
  for (int k = 0; k < 40; ++k) {
    for (int call = 0; call < (k % every == every - 1 ? 1 + batches : 1); ++call) {
      const int m = call == 0 ? 0 : 1;
      const int64_t end = at + 1000 * (m == 0 ? 10 : evaluation_us);
      const auto execution = b.AddExecution(modules[m], 1, at, end);
      b.AddActivity(lane, at, end, {.instruction = instructions[m], .execution = execution});
      at = end + 1;
    }
  }
  PromoteTurns(b.run, b.attribution);
  std::string mains;
  for (const model::ModuleFacts& facts : b.attribution.modules) {
    if (facts.role == ModuleRole::kMain) mains += facts.framework_function + " ";
  }
  return mains;
}

TEST(Steps, WhatEvaluatesNowAndThenIsNoPartOfAStepHoweverHeavy) {
  using enum model::OpKind;
  EXPECT_EQ(MainFunctions(5, 100, ModuleRole::kHelper, kGemm), "fit ");  // Three times as heavy.
  EXPECT_EQ(MainFunctions(5, 900, ModuleRole::kMain, kGemm), "fit ");
  EXPECT_EQ(MainFunctions(5, 20, ModuleRole::kHelper, kGemm, 8), "fit ");  // More calls than fit.
  // What is called as often as the other belongs to each step, and what has no products may be
  // the update after several.
  EXPECT_EQ(MainFunctions(1, 20, ModuleRole::kHelper, kGemm), "fit accuracy ");
  EXPECT_EQ(MainFunctions(5, 100, ModuleRole::kHelper, kElementwiseFusion), "fit accuracy ");
  EXPECT_EQ(MainFunctions(5, 900, ModuleRole::kMain, kElementwiseFusion), "accuracy ");
}

// Programs in the order of `order`, a letter each: `f` fits (10 us), `a` computes an accuracy and
// `g` generates without products (100 us each), both of them main ones.
std::string MainsOf(std::string_view order) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  std::string letters;
  std::vector<model::Id> instructions;
  for (const char letter : std::string_view("fag")) {
    if (order.find(letter) == order.npos) continue;
    letters += letter;
    const auto module = b.AddModule(letter == 'f' ? ModuleRole::kHelper : ModuleRole::kMain);
    b.attribution.modules.back().framework_function = letter;
    instructions.push_back(
        b.AddInstruction(module, letter == 'f' ? Phase::kBackward : Phase::kForward,
                         letter == 'g' ? model::OpKind::kElementwiseFusion : model::OpKind::kGemm));
  }
  int64_t at = 0;
  for (const char letter : order) {
    const size_t m = letters.find(letter);
    const int64_t end = at + (letter == 'f' ? 10'000 : 100'000);
    const auto execution = b.AddExecution(static_cast<model::Id>(m + 1), 1, at, end);
    b.AddActivity(lane, at, end, {.instruction = instructions[m], .execution = execution});
    at = end + 1;
  }
  PromoteTurns(b.run, b.attribution);
  std::string mains;
  for (const model::ModuleFacts& facts : b.attribution.modules) {
    if (facts.role == ModuleRole::kMain) mains += facts.framework_function;
  }
  return mains;
}

TEST(Steps, OnlyWhatRunsBetweenCallsOfTrainingEvaluates) {
  EXPECT_EQ(MainsOf("ffffaffffaffff"), "f");
  // Most of it runs before and after: a program of its own phase.
  EXPECT_EQ(MainsOf("aaaaaffffaffffaaaa"), "a");
  // Where another heavy program runs too, and nobody knows what it is, nothing is left out.
  EXPECT_EQ(MainsOf("gfgfgfgfagfgfgfgfagfgfgfgf"), "ag");
}

TEST(Steps, SeveralExecutionsInOneMarkAreOneStep) {
  RunBuilder b;
  b.AddLane(b.AddDevice());
  const auto main = b.AddModule();
  b.run.step_marks = {{1, 0, 0, 100}, {1, 1, 100, 200}};
  for (int64_t start : {5, 50, 105, 150}) b.AddExecution(main, 1, start, start + 20);
  EXPECT_THAT(Starts(FindSteps(b.run, b.attribution, {})), ElementsAre(5, 105));
}

TEST(Steps, MarksWithoutExecutionsAreTheSteps) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.run.step_marks = {{1, 7, 0, 100}, {1, 8, 100, 200}};
  b.AddActivity(lane, 120, 130, {});
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_THAT(Starts(steps), ElementsAre(0, 100));
  EXPECT_EQ(steps.step_of[0], 8);
}

// Two epochs that each count from 0: a number is one step all the same.
TEST(Steps, NumbersThatComeAgainAreCountedOn) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  const std::vector<int64_t> numbers = {0, 1, 2, 0, 1, 9, 2};
  for (size_t k = 0; k < numbers.size(); ++k) {
    const auto start = static_cast<int64_t>(100 * k);
    // By a nanosecond into the next one, as rounding makes it.
    b.run.step_marks.push_back({1, numbers[k], start, start + 101});
    b.AddActivity(lane, start + 20, start + 40, {});
  }
  const Steps steps = FindSteps(b.run, b.attribution, {});
  std::vector<int64_t> told;
  for (const model::StepRow& row : steps.rows) told.push_back(row.step);
  EXPECT_THAT(told, ElementsAre(0, 1, 2, 3, 4, 9, 10));
  EXPECT_EQ(steps.step_of[4], 4);
  EXPECT_EQ(steps.step_of[6], 10);
  ASSERT_EQ(steps.stats.size(), 1u);
  EXPECT_EQ(steps.stats[0].name, "step_numbers_again");
  EXPECT_EQ(steps.stats[0].value, 3);
}

TEST(Steps, EpochsOfTwoStepsAreCountedOnDespiteRounding) {
  RunBuilder b;
  b.AddLane(b.AddDevice());
  for (const int64_t k : {0, 1, 2, 3}) {
    b.run.step_marks.push_back({1, k % 2, 100 * k, 100 * k + 101});
  }
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_THAT(Starts(steps), ElementsAre(0, 100, 200, 300));
  EXPECT_EQ(steps.rows[3].step, 3);
}

TEST(Steps, NumbersThatOnlyFallStayAsTheyAre) {
  RunBuilder b;
  b.AddLane(b.AddDevice());
  b.run.step_marks = {{1, 9, 0, 100}, {1, 4, 100, 200}, {1, 5, 200, 300}};
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_EQ(steps.rows[1].step, 4);
  EXPECT_TRUE(steps.stats.empty());
}

// One thread per device tells of the same steps; the second is more than a step behind.
TEST(Steps, MarksOfTwoThreadsAreTheSameSteps) {
  RunBuilder b;
  b.AddLane(b.AddDevice());
  for (const int64_t number : {3, 4, 5}) {
    const int64_t start = 100 * (number - 3);
    b.run.step_marks.push_back({1, number, start, start + 100});
    b.run.step_marks.push_back({1, number, start + 110, start + 210});
  }
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_TRUE(steps.stats.empty());
  EXPECT_THAT(Starts(steps), ElementsAre(0, 100, 200));
  EXPECT_EQ(steps.rows[2].step, 5);
}

TEST(Steps, NumbersBeyondARangeAreTheOrder) {
  RunBuilder b;
  b.AddLane(b.AddDevice());
  b.run.step_marks = {
      {1, INT32_MAX, 0, 100}, {1, 7, 100, 200}, {1, 7, 300, 400}, {1, INT32_MAX, 400, 500}};
  const Steps steps = FindSteps(b.run, b.attribution, {});
  for (const model::StepRow& row : steps.rows) {
    EXPECT_GE(row.step, 0);
    EXPECT_LT(row.step, 4);
  }
}

TEST(Steps, NumbersThatAreIdsAreReplaced) {
  RunBuilder b;
  b.AddLane(b.AddDevice());
  b.run.step_marks = {{1, 8'000'000'000, 0, 100}, {1, 9'000'000'000, 100, 200}};
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_EQ(steps.rows[1].step, 1);
}

TEST(Steps, WithoutAMainModuleThereAreNone) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddExecution(b.AddModule(ModuleRole::kHelper), 1, 0, 10);
  b.AddActivity(lane, 0, 10, {.execution = 1});
  const Steps steps = FindSteps(b.run, b.attribution, {});
  EXPECT_TRUE(steps.rows.empty());
  EXPECT_EQ(steps.step_of[0], std::nullopt);
}

}  // namespace
}  // namespace xlatrace::analysis
