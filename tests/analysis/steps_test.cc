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
using testing::IsEmpty;

Steps Find(const RunBuilder& b, const HostCallOf& call_of = {}, Intervals compiling = {}) {
  const auto classes = ClassifyActivities(b.run, b.attribution);
  const auto by_device = ActivitiesByDevice(b.run);
  const std::vector<Intervals> compiles(b.run.processes.size(), compiling);
  return FindSteps(b.run, b.attribution, {classes, by_device, compiles, {}, call_of});
}

template <typename Field>
std::vector<Field> Column(const Steps& steps, Field model::StepRow::*field, model::Id device = 1) {
  std::vector<Field> values;
  for (const model::StepRow& row : steps.OfDevice(device)) values.push_back(row.*field);
  return values;
}

std::vector<int64_t> Starts(const Steps& steps, model::Id device = 1) {
  return Column(steps, &model::StepRow::start_ns, device);
}

std::vector<int64_t> Numbers(const Steps& steps, model::Id device = 1) {
  return Column(steps, &model::StepRow::step, device);
}

// A run whose programs are added by name.
struct Programs : RunBuilder {
  Programs() : lane(AddLane(AddDevice())) {}

  model::Id Program(const std::string& name, Phase phase,
                    model::OpKind kind = model::OpKind::kGemm) {
    const model::Id module = AddModule(ModuleRole::kHelper);
    attribution.modules.back().fingerprint = name;
    attribution.modules.back().framework_function = name;
    instructions.push_back(AddInstruction(module, phase, kind));
    return module;
  }
  void Execute(model::Id module, int64_t start, int64_t end) {
    const auto execution = AddExecution(module, 1, start, end);
    AddActivity(
        lane, start, end,
        {.instruction = instructions[static_cast<size_t>(module) - 1], .execution = execution});
  }
  // Programs by the letters of `order`, one after the other without a break.
  void ExecuteInOrder(std::string_view order, const std::string& letters,
                      const std::vector<int64_t>& takes) {
    int64_t now = 0;
    for (const char letter : order) {
      const size_t m = letters.find(letter);
      Execute(static_cast<model::Id>(m + 1), now, now + takes[m]);
      now += takes[m] + 1;
    }
  }

  model::Id lane;
  std::vector<model::Id> instructions;
};

TEST(Steps, StepLastsUntilTheFirstWorkOfTheNextPeriod) {
  Programs b;
  const auto train = b.Program("train", Phase::kOptimizer);
  const auto metrics = b.Program("metrics", Phase::kOther);
  for (const int64_t start : {100, 200, 300, 400}) {
    b.Execute(train, start, start + 60);
    b.Execute(metrics, start + 70, start + 80);
  }
  b.AddActivity(b.lane, 290, 295, {});  // Only in one period, so that its step ends before it.
  const Steps steps = Find(b);
  EXPECT_THAT(Starts(steps), ElementsAre(100, 200, 300, 400));
  EXPECT_THAT(Column(steps, &model::StepRow::end_ns), ElementsAre(200, 280, 400, 480));
  EXPECT_THAT(Column(steps, &model::StepRow::has_duration), ElementsAre(true, false, true, false));
  EXPECT_THAT(Column(steps, &model::StepRow::steady), ElementsAre(true, false, true, false));
  EXPECT_THAT(Numbers(steps), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(steps.rows[0].how, model::StepHow::kExecution);
  EXPECT_EQ(steps.step_of[2], 2);
  EXPECT_EQ(steps.step_of[8], std::nullopt);
}

TEST(Steps, ActivityBelongsToTheStepOfItsExecution) {
  RunBuilder b;
  const auto device = b.AddDevice();
  const auto lane = b.AddLane(device);
  const auto other = b.AddLane(device);
  const auto main = b.AddModule();
  for (int64_t s = 0; s < 3; ++s) {
    const auto execution = b.AddExecution(main, 1, 100 * s, 100 * s + 120);
    b.AddActivity(lane, 100 * s, 100 * s + 90, {.execution = execution});
    b.AddActivity(other, 100 * s + 110, 100 * s + 120, {.execution = execution});
  }
  const Steps steps = Find(b);
  EXPECT_EQ(steps.step_of[1], 1);  // It starts after the second step has begun.
  EXPECT_EQ(steps.step_of[2], 2);
}

TEST(Steps, StepUnsteadyOnOneDeviceIsUnsteadyOnAll) {
  RunBuilder b;
  const auto main = b.AddModule();
  for (const model::Id device : {b.AddDevice(), b.AddDevice()}) {
    const auto lane = b.AddLane(device);
    for (int64_t s = 0; s < 5; ++s) {
      const auto execution = b.AddExecution(main, device, 100 * s, 100 * s + 60);
      b.AddActivity(lane, 100 * s, 100 * s + 60, {.execution = execution});
      // Other work after the third step of the second device.
      if (device == 2 && s == 2) b.AddActivity(lane, 270, 280, {});
    }
  }
  const Steps steps = Find(b);
  const auto steady = ElementsAre(true, true, false, true, false);
  EXPECT_THAT(Column(steps, &model::StepRow::steady, 1), steady);
  EXPECT_THAT(Column(steps, &model::StepRow::steady, 2), steady);
}

TEST(Steps, CompilationMakesAStepUnsteady) {
  Programs b;
  const auto train = b.Program("train", Phase::kOptimizer);
  for (int64_t s = 0; s < 5; ++s) b.Execute(train, 100 * s, 100 * s + 60);
  const Steps steps = Find(b, {}, {{170, 180}});
  EXPECT_THAT(Column(steps, &model::StepRow::steady), ElementsAre(true, false, true, true, false));
}

// The two shortest and the two longest of eight steady steps do not count.
TEST(Steps, TypicalStepsAreTheMiddleHalfOfTheSteadySteps) {
  Programs b;
  const auto train = b.Program("train", Phase::kOptimizer);
  int64_t now = 0;
  for (const int64_t takes : {100, 101, 300, 102, 90, 103, 91, 400, 100}) {
    b.Execute(train, now, now + 60);
    now += takes;
  }
  EXPECT_THAT(Column(Find(b), &model::StepRow::typical),
              ElementsAre(true, true, false, true, false, true, false, false, false));
}

TEST(Steps, SingleSteadyStepIsNotTypical) {
  Programs b;
  const auto train = b.Program("train", Phase::kOptimizer);
  for (int64_t s = 0; s < 3; ++s) b.Execute(train, 100 * s, 100 * s + 60);
  const Steps two = Find(b);
  EXPECT_THAT(Column(two, &model::StepRow::typical), ElementsAre(true, true, false));
  const Steps one = Find(b, {}, {{170, 180}});
  EXPECT_THAT(Column(one, &model::StepRow::steady), ElementsAre(true, false, false));
  EXPECT_THAT(Column(one, &model::StepRow::typical), ElementsAre(false, false, false));
}

TEST(Steps, VariationOfStepsDoesNotMatter) {
  Programs b;
  const auto train = b.Program("train", Phase::kForward);
  int64_t now = 0;
  for (const int64_t takes : {39, 200, 457, 80}) {
    b.Execute(train, now, now + takes);
    now += 3 * takes;
  }
  EXPECT_THAT(Column(Find(b), &model::StepRow::steady), ElementsAre(true, true, true, false));
}

// The host is ahead: work that it launched between 0 and 47 runs from 20 to 55.
TEST(Steps, MarkOfTheHostHoldsTheWorkLaunchedInIt) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.run.step_marks = {{1, 6, 0, 47}, {1, 7, 47, 94}};
  b.AddActivity(lane, 20, 35, {});
  b.AddActivity(lane, 36, 55, {});
  b.AddActivity(lane, 70, 104, {});
  const std::vector<int64_t> called = {10, 40, 60};
  const Steps steps = Find(b, [&](size_t i) -> std::optional<model::HostCall> {
    return model::HostCall{static_cast<model::Id>(i + 1), called[i], called[i] + 1};
  });
  EXPECT_THAT(Numbers(steps), ElementsAre(6, 7));
  EXPECT_THAT(Starts(steps), ElementsAre(20, 70));
  EXPECT_THAT(Column(steps, &model::StepRow::end_ns), ElementsAre(70, 104));
  EXPECT_EQ(steps.rows[0].how, model::StepHow::kMarked);
  EXPECT_THAT(steps.step_of, ElementsAre(std::optional<int32_t>(6), std::optional<int32_t>(6),
                                         std::optional<int32_t>(7)));
}

// The host is far ahead: the first three steps were launched before the recording began, and the
// others are launched while these run.
TEST(Steps, WorkLaunchedBeforeTheRecordingComesFirst) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  std::vector<int64_t> starts;
  for (int64_t s = 0; s < 8; ++s) {
    starts.push_back(100 * s);
    b.AddActivity(lane, 100 * s, 100 * s + 60, {.symbol = "a"});
    b.AddActivity(lane, 100 * s + 60, 100 * s + 80, {.symbol = "b"});
  }
  const Steps steps = Find(b, [&](size_t i) -> std::optional<model::HostCall> {
    if (i < 6) return std::nullopt;
    const auto called = static_cast<int64_t>(i % 2 == 0 ? 5 * i : 5 * i - 4);
    return model::HostCall{static_cast<model::Id>(i + 1), called, called + 1};
  });
  EXPECT_EQ(Starts(steps), starts);
}

// The recording begins with `b`, before the anchor `c`. Steps begin with `a`, because the host
// takes longest before it.
TEST(Steps, StepThatTheBeginningCutsHasNoDuration) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  for (int64_t s = 0; s < 6; ++s) {
    if (s > 0) b.AddActivity(lane, 200 * s, 200 * s + 20, {.symbol = "a"});
    b.AddActivity(lane, 200 * s + 21, 200 * s + 40, {.symbol = "b"});
    b.AddActivity(lane, 200 * s + 41, 200 * s + 100, {.symbol = "c"});
  }
  const Steps steps = Find(b);
  EXPECT_THAT(Starts(steps), ElementsAre(21, 200, 400, 600, 800, 1000));
  EXPECT_THAT(Column(steps, &model::StepRow::steady),
              ElementsAre(false, true, true, true, true, false));
}

TEST(Steps, MarkHoldsItsBeginningAndNotItsEnd) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.run.step_marks = {{1, 1, 0, 40}, {1, 2, 50, 90}};
  for (const int64_t start : {100, 200, 300, 400}) b.AddActivity(lane, start, start + 50, {});
  // Launched as the first mark begins, as it ends (between the two), and so for the second.
  const std::vector<int64_t> called = {0, 40, 50, 90};
  const Steps steps = Find(b, [&](size_t i) -> std::optional<model::HostCall> {
    return model::HostCall{static_cast<model::Id>(i + 1), called[i], called[i] + 1};
  });
  EXPECT_THAT(Starts(steps), ElementsAre(100, 300));
}

TEST(Steps, SeveralExecutionsInOneMarkAreOneStep) {
  Programs b;
  const auto main = b.Program("train", Phase::kOptimizer);
  b.run.step_marks = {{1, 0, 0, 100}, {1, 1, 100, 200}};
  for (const int64_t start : {5, 50, 105, 150}) b.Execute(main, start, start + 20);
  EXPECT_THAT(Starts(Find(b)), ElementsAre(5, 105));
}

// The numbers of steps whose marks have these numbers, one after the other.
Steps OfMarks(const std::vector<int64_t>& numbers) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  for (size_t k = 0; k < numbers.size(); ++k) {
    const auto start = static_cast<int64_t>(100 * k);
    // By a nanosecond into the next one, as rounding makes it.
    b.run.step_marks.push_back({1, numbers[k], start, start + 101});
    b.AddActivity(lane, start + 20, start + 40, {});
  }
  return Find(b);
}

TEST(Steps, RepeatedStepNumbersAreCountedOn) {
  const Steps steps = OfMarks({0, 1, 2, 0, 1, 9, 2});
  EXPECT_THAT(Numbers(steps), ElementsAre(0, 1, 2, 3, 4, 9, 10));
  EXPECT_EQ(steps.step_of[6], 10);
  ASSERT_EQ(steps.stats.size(), 1u);
  EXPECT_EQ(steps.stats[0].name, "step_numbers_again");
  EXPECT_EQ(steps.stats[0].value, 3);
}

TEST(Steps, EpochsOfTwoStepsAreCountedOnDespiteRounding) {
  EXPECT_THAT(Numbers(OfMarks({0, 1, 0, 1})), ElementsAre(0, 1, 2, 3));
}

TEST(Steps, FallingNumbersStayAsTheyAre) {
  const Steps steps = OfMarks({9, 4, 5});
  EXPECT_THAT(Numbers(steps), ElementsAre(9, 4, 5));
  EXPECT_THAT(steps.stats, IsEmpty());
}

TEST(Steps, NumbersThatAreIdsAreReplacedByTheirOrder) {
  EXPECT_THAT(Numbers(OfMarks({8'000'000'000, 9'000'000'000})), ElementsAre(0, 1));
}

TEST(Steps, NumbersBeyondTheRangeAreReplacedByTheirOrder) {
  EXPECT_THAT(Numbers(OfMarks({INT32_MAX, 7, 8, 7})), ElementsAre(0, 1, 2, 3));
}

// One thread per device marks the same steps; the second is more than a step behind.
TEST(Steps, MarksOfTwoThreadsAreTheSameSteps) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  for (const int64_t number : {3, 4, 5}) {
    const int64_t start = 100 * (number - 3);
    b.run.step_marks.push_back({1, number, start, start + 100});
    b.run.step_marks.push_back({1, number, start + 110, start + 210});
    b.AddActivity(lane, start + 10, start + 90, {});
  }
  const Steps steps = Find(b);
  EXPECT_THAT(steps.stats, IsEmpty());
  EXPECT_THAT(Numbers(steps), ElementsAre(3, 4, 5));
}

TEST(Steps, WorkThatDoesNotRecurHasNoSteps) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  const auto execution = b.AddExecution(b.AddModule(ModuleRole::kHelper), 1, 0, 10);
  b.AddActivity(lane, 0, 10, {.execution = execution});
  const Steps steps = Find(b);
  EXPECT_THAT(steps.rows, IsEmpty());
  EXPECT_EQ(steps.step_of[0], std::nullopt);
}

// Functions of the main modules after the steps were found.
std::string MainFunctions(Programs& b) {
  SetRoles(b.run, Find(b).rows, b.attribution);
  std::string mains;
  for (const model::ModuleFacts& facts : b.attribution.modules) {
    if (facts.role == ModuleRole::kMain) mains += facts.framework_function + " ";
  }
  return mains;
}

TEST(Roles, ProgramsOfOneStepAreMain) {
  Programs b;
  b.Program("gradients", Phase::kBackward);
  b.Program("update", Phase::kOptimizer);
  for (model::ModuleFacts& facts : b.attribution.modules) facts.beside_others = true;
  b.ExecuteInOrder("gugugugugu", "gu", {100, 100});
  EXPECT_EQ(MainFunctions(b), "gradients update ");
}

TEST(Roles, HeavyEvaluationBetweenStepsIsNotMain) {
  Programs b;
  b.Program("fit", Phase::kOptimizer);
  b.Program("accuracy", Phase::kForward);
  b.attribution.modules[1].role = ModuleRole::kMain;
  b.ExecuteInOrder("ffffaffffaffff", "fa", {10, 900});
  EXPECT_EQ(MainFunctions(b), "fit ");
}

TEST(Roles, ProgramOfEachStepStaysMain) {
  Programs b;
  b.Program("fit", Phase::kOptimizer);
  b.Program("generate", Phase::kForward);
  b.attribution.modules[1].role = ModuleRole::kMain;
  b.ExecuteInOrder("gfgfgfgfgf", "fg", {10, 100});
  EXPECT_EQ(MainFunctions(b), "generate ");
}

}  // namespace
}  // namespace xlatrace::analysis
