// SPDX-License-Identifier: Apache-2.0

// Rules about collectives and about devices that wait for each other. Each rule has an example with
// the problem and a similar one without it.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/finding_case.h"
#include "tests/analysis/finding_programs.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

TEST(CollectiveRules, CollectiveIsExposedUnlessComputationRunsInParallel) {
  FindingCase with(kPlain);
  with.Steps(8, {{"a", 500}, {"g", 300}, {"b", 500}});
  ASSERT_NE(with.Find("exposed_collective"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("exposed_collective")->saves_high_ns_per_step, 300'000);
  EXPECT_EQ(with.Find("exposed_collective")->where_source, "a.py:6");
  // With one device, waiting and transfer cannot be separated.
  ASSERT_NE(with.FindRuledOut("arrival_skew"), nullptr);
  EXPECT_TRUE(with.FindRuledOut("arrival_skew")->withheld);
  FindingCase without(kPlain);
  without.Steps(8, {{"a", 500}, {"+g", 300}, {"b", 500}});
  EXPECT_EQ(without.Find("exposed_collective"), nullptr) << without.Ids();
}

// One of seven steady steps is even. It is the shortest, so that no typical step is.
TEST(CollectiveRules, BalancedDevicesSaveHalfOfTheWaitOfTypicalSteps) {
  FindingCase with(kPlain, 2);
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    const int64_t late_us = step == 3 ? 0 : 300;
    with.Step(at, {{"a", 500}, {"g", 20 + late_us}, {"b", 500}}, 1);
    at = with.Step(at, {{"a", 500 + late_us}, {"g", 20}, {"b", 500}}, 2);
  }
  with.Run();
  ASSERT_NE(with.Find("arrival_skew"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("arrival_skew")->saves_high_ns_per_step, 300'000 / 2);
}

TEST(CollectiveRules, ArrivalSkewIsWithheldIfNoCollectiveHasACounterpart) {
  // The recording of device 2 lacks the collective of `missing` steps: the others have theirs.
  const auto make = [](int missing) {
    FindingCase made(kPlain, 2);
    int64_t at = 0;
    for (int step = 0; step < 8; ++step) {
      made.Step(at, {{"a", 500}, {"g", 320}, {"b", 500}}, 1);
      FindingCase::Work work = {{"a", 800}, {"g", 20}, {"b", 500}};
      if (step < missing) work[1].first = "~";
      at = made.Step(at, work, 2);
    }
    made.Run();
    return made;
  };
  const FindingCase with = make(1);
  ASSERT_NE(with.Find("arrival_skew"), nullptr) << with.Ids();
  // 300 us on one of two devices in a step with a counterpart, as in the median step. With balanced
  // work, both devices would take the mean of 1,020 and 1,320 us.
  EXPECT_EQ(with.Find("arrival_skew")->saves_high_ns_per_step, 300'000 / 2);
  // Devices of one CPU leave each other the cores while they wait.
  FindingCase shared(kPlain, 2);
  for (model::Device& device : shared.b.run.devices) device.kind = model::DeviceKind::kCpu;
  int64_t now = 0;
  for (int step = 0; step < 8; ++step) {
    shared.Step(now, {{"a", 500}, {"g", 320}, {"b", 500}}, 1);
    now = shared.Step(now, {{"a", 800}, {"g", 20}, {"b", 500}}, 2);
  }
  shared.Run();
  EXPECT_EQ(shared.Find("arrival_skew"), nullptr) << shared.Ids();
  EXPECT_EQ(shared.Find("exposed_collective"), nullptr) << shared.Ids();
  ASSERT_NE(shared.FindRuledOut("arrival_skew"), nullptr);
  EXPECT_GOLDEN_TEXT(shared.TextOfRuledOut("arrival_skew"));
  const FindingCase none = make(8);
  EXPECT_EQ(none.Find("arrival_skew"), nullptr) << none.Ids();
  ASSERT_NE(none.FindRuledOut("arrival_skew"), nullptr);
  EXPECT_TRUE(none.FindRuledOut("arrival_skew")->withheld);
}

TEST(CollectiveRules, ArrivalSkewIsWithheldIfHalfTheGroupIsMissing) {
  const auto make = [](const std::string& groups) {
    std::string text = kPlain;
    text.insert(text.find(", to_apply=sum, metadata"), groups);
    FindingCase made(text, 2);
    int64_t at = 0;
    for (int step = 0; step < 8; ++step) {
      made.Step(at, {{"a", 500}, {"g", 300}, {"b", 500}}, 1);
      at = made.Step(at, {{"a", 500}, {"g", 300}, {"b", 500}}, 2);
    }
    made.Run();
    return made;
  };
  const FindingCase whole = make(", replica_groups={{0,1}}");
  ASSERT_NE(whole.FindRuledOut("arrival_skew"), nullptr) << whole.Ids();
  EXPECT_FALSE(whole.FindRuledOut("arrival_skew")->withheld);
  const FindingCase half = make(", replica_groups={{0,1,2,3}}");
  ASSERT_NE(half.FindRuledOut("arrival_skew"), nullptr) << half.Ids();
  EXPECT_TRUE(half.FindRuledOut("arrival_skew")->withheld);
  EXPECT_GOLDEN_TEXT(half.TextOfRuledOut("arrival_skew"));  // 2 of 4 devices.
}

TEST(CollectiveRules, WaitingForTheSlowerDeviceIsSkewAndNotTransfer) {
  FindingCase with(kPlain, 2);
  // Device 2 computes 300 us longer, so device 1 waits for that long in the collective.
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    with.Step(at, {{"a", 500}, {"g", 320}, {"b", 500}}, 1);
    at = with.Step(at, {{"a", 800}, {"g", 20}, {"b", 500}}, 2);
  }
  with.Run();
  ASSERT_NE(with.Find("arrival_skew"), nullptr) << with.Ids();
  // 300 us on one of two devices.
  EXPECT_EQ(with.Find("arrival_skew")->saves_high_ns_per_step, 150'000);
  EXPECT_EQ(with.Find("exposed_collective"), nullptr) << with.Ids();
  // Title and action name the op that takes longer on the last device (a). The evidence has two
  // figures. One is the time above the median device (device_lag.h), 300 us per step. The other is
  // the number of typical steps in which the device comes last: five of seven.
  EXPECT_THAT(EvidenceFigures(with.Find("arrival_skew")->evidence_json),
              testing::IsSupersetOf({"300000 ns", "5 count"}));
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("arrival_skew"));
  EXPECT_EQ(with.Find("arrival_skew")->where_source, "a.py:3");
  // A device comes last because its host is late: the title names the device and no op.
  FindingCase late(kPlain, 2);
  at = 0;
  for (int step = 0; step < 8; ++step) {
    late.Step(at, {{"a", 500}, {"g", 320}, {"b", 500}}, 1);
    at = late.Step(at, {{"a", 500}, {"~", 300}, {"g", 20}, {"b", 500}}, 2);
  }
  late.Run();
  ASSERT_NE(late.Find("arrival_skew"), nullptr) << late.Ids();
  EXPECT_GOLDEN_TEXT(late.TextOfFinding("arrival_skew"));
  // Another device comes last in every step: the title names the op and no device.
  FindingCase turns(kPlain, 3);
  at = 0;
  for (int step = 0; step < 9; ++step) {
    const int slow = 1 + step % 3;
    for (const int other : {1 + (step + 1) % 3, 1 + (step + 2) % 3}) {
      turns.Step(at, {{"a", 500}, {"g", 320}, {"b", 500}}, other);
    }
    at = turns.Step(at, {{"a", 800}, {"g", 20}, {"b", 500}}, slow);
  }
  turns.Run();
  ASSERT_NE(turns.Find("arrival_skew"), nullptr) << turns.Ids();
  EXPECT_THAT(turns.Find("arrival_skew")->title, testing::Not(testing::HasSubstr("GPU ")));
  EXPECT_GOLDEN_TEXT(turns.TextOfFinding("arrival_skew"));
  FindingCase without(kPlain, 2);
  at = 0;
  for (int step = 0; step < 8; ++step) {
    without.Step(at, {{"a", 500}, {"g", 320}, {"b", 500}}, 1);
    at = without.Step(at, {{"a", 500}, {"g", 320}, {"b", 500}}, 2);
  }
  without.Run();
  EXPECT_EQ(without.Find("arrival_skew"), nullptr) << without.Ids();
  EXPECT_NE(without.Find("exposed_collective"), nullptr) << without.Ids();
}

}  // namespace
}  // namespace xlatrace::analysis
