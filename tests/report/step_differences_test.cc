// SPDX-License-Identifier: Apache-2.0
#include "report/step_differences.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using model::StepPart;

constexpr int64_t kMs = 1'000'000;

StepOfDevice Step(int64_t number, int64_t device, double backward_ms, double exposed_ms,
                  double idle_ms = 0) {
  StepOfDevice step{.step = number, .device_id = device};
  const auto part = [&](StepPart of, double ms) {
    step.parts[static_cast<size_t>(of)] = static_cast<int64_t>(ms * kMs);
    step.wall_ns += static_cast<int64_t>(ms * kMs);
  };
  part(StepPart::kBackward, backward_ms);
  part(StepPart::kExposedCollective, exposed_ms);
  part(StepPart::kIdle, idle_ms);
  return step;
}

// Device 2 computes 10 ms longer in step 1, and the other waits that long: by the mean, collectives
// would be half of the difference.
TEST(StepDifferences, WaitingForADeviceIsNotTheReason) {
  const std::vector<StepOfDevice> steps = {Step(0, 1, 80, 10), Step(0, 2, 88, 2),
                                           Step(1, 1, 70, 30), Step(1, 2, 98.1, 1.9)};
  const auto differ = WhyStepsDiffer(steps, std::nullopt, 95 * kMs);
  ASSERT_TRUE(differ);
  EXPECT_GOLDEN_TEXT(differ->heading + "\n" + differ->range + "\n" + differ->text);
  EXPECT_EQ(differ->part, StepPart::kBackward);
  ASSERT_EQ(differ->bars.size(), 2u);
  EXPECT_EQ(differ->bars[1].wall_ns, 100.0 * kMs);
  EXPECT_EQ(differ->bars[1].part_ns, 98.1 * kMs);
}

// The device that waits least takes 4 ms longer, the mean of both 2 ms.
TEST(StepDifferences, PartIsComparedWithTheStepOfItsDevice) {
  const auto differ = WhyStepsDiffer(
      {Step(0, 1, 80, 10), Step(0, 2, 84, 2, 4), Step(1, 1, 80, 10), Step(1, 2, 84.5, 2, 7.5)},
      std::nullopt, 95 * kMs);
  EXPECT_GOLDEN_TEXT(differ->text);
}

TEST(StepDifferences, EachStepMayHaveAnotherSlowestDevice) {
  const auto differ =
      WhyStepsDiffer({Step(0, 1, 88, 2), Step(0, 2, 80, 10), Step(1, 1, 70, 30), Step(1, 2, 98, 2)},
                     std::nullopt, 95 * kMs);
  EXPECT_GOLDEN_TEXT(differ->text);
}

TEST(StepDifferences, DevicesThatDoNotWaitAreAveraged) {
  const auto differ = WhyStepsDiffer(
      {Step(0, 1, 80, 10.1), Step(0, 2, 80.1, 10), Step(1, 1, 80, 20), Step(1, 2, 80, 20.1)},
      std::nullopt, 95 * kMs);
  EXPECT_GOLDEN_TEXT(differ->text);
  EXPECT_EQ(differ->bars[0].part_ns, 10.05 * kMs);
}

TEST(StepDifferences, NoPartIsNamedIfStepsHardlyDiffer) {
  const auto differ =
      WhyStepsDiffer({Step(0, 1, 90, 0), Step(1, 1, 90, 0)}, std::nullopt, 90 * kMs);
  EXPECT_GOLDEN_TEXT(differ->text);
  // 3 ms more of one part, and 2.9 ms less of another.
  EXPECT_GOLDEN_TEXT(
      WhyStepsDiffer({Step(0, 1, 90, 0, 5), Step(1, 1, 93, 0, 2.1)}, std::nullopt, 95 * kMs)->text);
  EXPECT_FALSE(WhyStepsDiffer({Step(0, 1, 90, 0), Step(0, 2, 90, 0)}, std::nullopt, 90 * kMs));
}

// The last step ends with its work; the others end when the next one begins.
TEST(StepDifferences, LastStepWithoutItsEndIsLeftOut) {
  std::vector<StepOfDevice> steps = {Step(2, 1, 120, 0, 10), Step(3, 1, 120.1, 0, 10),
                                     Step(4, 1, 120, 0, 6)};
  EXPECT_GOLDEN_TEXT(WhyStepsDiffer(steps, 4, 128 * kMs)->text);
  EXPECT_EQ(WhyStepsDiffer(steps, 4, 128 * kMs)->bars.size(), 2u);
  // Marked steps end at their marks, and a step that is not the last ends like all others.
  for (const std::optional<int64_t> last : {std::optional<int64_t>(), std::optional<int64_t>(5)}) {
    EXPECT_GOLDEN_TEXT(WhyStepsDiffer(steps, last, 128 * kMs)->text);
  }
  // The last step is faster for another reason.
  steps[2] = Step(4, 1, 100, 0, 9.5);
  EXPECT_GOLDEN_TEXT(WhyStepsDiffer(steps, 4, 120 * kMs)->text);
  // There are only two steps.
  EXPECT_GOLDEN_TEXT(
      WhyStepsDiffer({Step(3, 1, 120, 0, 10), Step(4, 1, 120, 0, 6)}, 4, 128 * kMs)->text);
}

TEST(StepDifferences, SlowestMedianAndFastestOfManyStepsAreShown) {
  std::vector<StepOfDevice> steps;
  for (int64_t i = 0; i < 11; ++i) steps.push_back(Step(i, 1, 100 + static_cast<double>(i), 0));
  const auto differ = WhyStepsDiffer(steps, std::nullopt, 105 * kMs);
  std::vector<int64_t> shown;
  for (const StepDifferences::Bar& bar : differ->bars) shown.push_back(bar.step);
  EXPECT_EQ(shown, (std::vector<int64_t>{0, 1, 5, 7, 8, 9, 10}));
  EXPECT_GOLDEN_TEXT(differ->text);
}

TEST(StepDifferences, SecondPartIsNamedIfItExplainsMuch) {
  const auto text = [](double backward_ms, double idle_ms) {
    return WhyStepsDiffer({Step(0, 1, 80, 0, 10), Step(1, 1, backward_ms, 0, idle_ms)},
                          std::nullopt, 95 * kMs)
        ->text;
  };
  EXPECT_GOLDEN_TEXT(text(86, 14));
  EXPECT_GOLDEN_TEXT(text(84, 16));
  EXPECT_GOLDEN_TEXT(text(88.5, 11.5));
}

}  // namespace
}  // namespace xlatrace::report
