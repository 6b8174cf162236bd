// SPDX-License-Identifier: Apache-2.0
#include "compare/gate.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::compare {
namespace {

using testing::HasSubstr;

RunRecord Record(double step_ns, double noise = 0, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> level(0, noise);
  RunRecord record;
  record.devices = "1 x Test";
  record.program = "train_step";
  record.steady = true;
  const double mean = step_ns * (1 + level(random));
  for (int i = 0; i < 20; ++i) record.steps.push_back(static_cast<int64_t>(mean) + i % 5);
  record.device_ns = record.steps[0];
  record.phases["backward"] = record.device_ns / 2;
  record.facts["launches"] = 100;
  record.facts["fusions"] = 40;
  return record;
}

std::vector<RunRecord> Records(size_t count, double step_ns, double noise, uint64_t seed) {
  std::vector<RunRecord> records;
  for (size_t i = 0; i < count; ++i) records.push_back(Record(step_ns, noise, seed + i));
  return records;
}

TEST(Gate, PlantedChangeAboveTheNoiseIsFound) {
  EXPECT_EQ(EvaluateGate(Records(5, 1e8, 0.001, 1), Records(5, 1.05e8, 0.001, 99), {}).outcome,
            Outcome::kRegression);
  EXPECT_EQ(EvaluateGate(Records(8, 1e8, 0.001, 1), Records(1, 1.05e8, 0.001, 99), {}).outcome,
            Outcome::kRegression);
}

TEST(Gate, NoiseIsNoRegression) {
  EXPECT_NE(EvaluateGate(Records(8, 1e8, 0.05, 1), Records(1, 1.06e8, 0, 99), {}).outcome,
            Outcome::kRegression);
}

// Calls of the main program are better than the sum of device time: one long call has no
// effect.
TEST(Gate, CallsAreCheckedIfThereAreNoSteps) {
  const auto records = [](size_t count, double ns, uint64_t seed) {
    std::vector<RunRecord> runs = Records(count, ns, 0.001, seed);
    for (RunRecord& run : runs) {
      run.steady = false;
      run.calls = std::move(run.steps);
      run.calls[0] *= 50;
      run.call_ns = run.calls[0];
      run.steps.clear();
    }
    return runs;
  };
  EXPECT_EQ(EvaluateGate(records(5, 1e8, 1), records(1, 1e8, 99), {}).outcome, Outcome::kPass);
  const GateResult result = EvaluateGate(records(5, 1e8, 1), records(1, 1.05e8, 99), {});
  EXPECT_EQ(result.outcome, Outcome::kRegression);
  EXPECT_GOLDEN_TEXT(result.sentence);
}

// One run of four has no steady steps. The wall time from call to call doubled, and the device time
// did not change.
TEST(Gate, RunWithoutStepsDoesNotHideWallTime) {
  const auto records = [](double wall_ns) {
    std::vector<RunRecord> runs = Records(2, wall_ns, 0, 1);
    for (RunRecord& run : runs) {
      run.call_walls = run.steps;
      run.calls.assign(20, 1'000'000);
      run.usual_variation = 0.01;
    }
    return runs;
  };
  std::vector<RunRecord> now = records(2.1e7);
  now[1].steady = false;
  now[1].steps.clear();
  const GateResult result = EvaluateGate(records(1e7), now, {});
  EXPECT_EQ(result.outcome, Outcome::kRegression);
  EXPECT_EQ(result.checks[0].name, "call");
  EXPECT_EQ(result.checks[0].base, 1e7 + 2);
  EXPECT_EQ(result.checks[0].now, 2.1e7 + 2);
}

TEST(Gate, MoreFlopsInLessTimeAreNoRegression) {
  std::vector<RunRecord> base = Records(1, 1e7, 0, 1);
  base[0].facts["flops"] = 1e9;
  std::vector<RunRecord> now = Records(1, 5e6, 0, 2);
  now[0].facts["flops"] = 2e9;
  EXPECT_NE(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
  EXPECT_EQ(EvaluateGate(now, base, {}).outcome, Outcome::kNotEstablished);
  now[0].steps.assign(20, 20'000'000);
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
}

// A pass needs enough data to find a regression of this size.
TEST(Gate, GatePassesOnlyIfTheLimitExceedsTheNoise) {
  GateOptions limit;
  limit.max_regress = 0.01;
  int passed = 0;
  constexpr int kTrials = 500;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    const auto base = Records(5, 1e8, 0.02, 1000 + trial * 100);
    const Outcome outcome =
        EvaluateGate(base, Records(1, 1.03e8, 0.02, 1000 + trial * 100 + 50), limit).outcome;
    EXPECT_TRUE(outcome == Outcome::kPass || outcome == Outcome::kNotEstablished ||
                outcome == Outcome::kRegression);
    passed += outcome == Outcome::kPass;
  }
  EXPECT_LE(passed, kTrials / 20);
  EXPECT_EQ(EvaluateGate(Records(5, 1e8, 0.0005, 1), Records(1, 1e8, 0.0005, 99), {}).outcome,
            Outcome::kPass);
}

TEST(Gate, FalseAlarmsAreRare) {
  int alarms = 0;
  constexpr int kTrials = 1000;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    const auto base = Records(8, 1e8, 0.05, 1000 + trial * 100);
    alarms += EvaluateGate(base, Records(1, 1e8, 0.05, 1000 + trial * 100 + 50), {}).outcome ==
              Outcome::kRegression;
  }
  EXPECT_LE(alarms, kTrials / 100);
}

TEST(Gate, FactsAreComparedWithoutStatistics) {
  auto base = Records(1, 1e8, 0, 1);
  auto now = Records(1, 1e8, 0, 2);
  now[0].facts["launches"] = 130;
  GateResult result = EvaluateGate(base, now, {});
  EXPECT_EQ(result.outcome, Outcome::kRegression);
  EXPECT_THAT(result.sentence, HasSubstr("100 -> 130"));
  EXPECT_GOLDEN_TEXT(result.sentence);
  GateOptions ignore;
  ignore.ignored = {"launches"};
  EXPECT_EQ(EvaluateGate(base, now, ignore).outcome, Outcome::kNotEstablished);
  now[0].facts["launches"] = 100;
  now[0].facts["fusions"] = 39;
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
  now[0].facts["fusions"] = 41;
  EXPECT_NE(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
}

TEST(Gate, MergedFusionsAreNotLost) {
  auto base = Records(1, 1e8, 0, 1);
  auto now = Records(1, 1e8, 0, 2);
  base[0].facts["main_ops"] = 50;
  now[0].facts["fusions"] = 39;
  now[0].facts["main_ops"] = 49;
  EXPECT_NE(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
  now[0].facts["main_ops"] = 50;  // An op that was in a fusion runs alone.
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
}

// One value is of steady steps, the other of a whole run with startup: two quantities of one name.
TEST(Gate, FactsOfStepsAndWholeRunsAreNotCompared) {
  auto base = Records(1, 1e8, 0, 1);
  auto now = Records(1, 1e8, 0, 2);
  base[0].facts["attributed"] = 1;
  now[0].facts["attributed"] = 0.9;
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
  now[0].steady = false;
  now[0].steps.clear();
  now[0].facts["launches"] = 5000;
  now[0].facts["bytes"] = 5e9;
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kNotEstablished);
  base[0].facts["call_launches"] = 40;
  now[0].facts["call_launches"] = 44;
  const GateResult result = EvaluateGate(base, now, {});
  EXPECT_EQ(result.outcome, Outcome::kRegression);
  EXPECT_THAT(result.sentence, HasSubstr("40 -> 44"));
  EXPECT_GOLDEN_TEXT(result.sentence);
  now[0].facts["call_launches"] = 40;
  base[0].steady = false;
  base[0].steps.clear();
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
}

// Too short to identify its main program: its coverage is that of another program.
TEST(Gate, CoverageOfAnUnknownProgramIsNotCompared) {
  auto base = Records(1, 1e8, 0, 1);
  auto now = Records(1, 1e8, 0, 2);
  base[0].facts["attributed"] = 1;
  now[0].facts["attributed"] = 0.8;
  now[0].program.clear();
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kNotEstablished);
}

TEST(Gate, FirstExposedCollectiveIsARegression) {
  auto base = Records(1, 1e8, 0, 1);
  auto now = Records(1, 1e8, 0, 2);
  base[0].facts["exposed_collective_bytes"] = 0;
  now[0].facts["exposed_collective_bytes"] = 4096;
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
}

TEST(Gate, IncomparableRunsAreRejected) {
  const auto base = Records(5, 1e8, 0, 1);
  auto now = Records(5, 1e8, 0, 9);
  now[2].devices = "1 x Other";
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kNotComparable);
  now[0].devices.clear();
  EXPECT_THAT(EvaluateGate(base, now, {}).sentence, HasSubstr("1 x Test"));
  EXPECT_GOLDEN_TEXT(EvaluateGate(base, now, {}).sentence);
  now = Records(5, 1e8, 0, 9);
  now[0].damaged = true;
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kNotComparable);
  now = Records(5, 1e8, 0, 9);
  auto ours = Records(1, 1e8, 0, 1);
  now = Records(1, 1e8, 0, 9);
  ours[0].inputs = "3 aaaa";
  now[0].inputs = "3 bbbb";
  EXPECT_EQ(EvaluateGate(ours, now, {}).outcome, Outcome::kNotComparable);
  now[0].inputs = "4 bbbb";  // Another model: more parameters.
  EXPECT_NE(EvaluateGate(ours, now, {}).outcome, Outcome::kNotComparable);
  EXPECT_EQ(EvaluateGate(base, {}, {}).outcome, Outcome::kNotComparable);
}

TEST(Gate, CallsAreCheckedIfOneRunHasNoSteps) {
  auto base = Records(6, 1e8, 0.0005, 1);
  auto now = Records(4, 1e8, 0.0005, 99);
  now[0].steady = false;
  now[0].steps.clear();
  now[0].device_ns *= 30;  // Time of the whole run.
  // Nothing that both know: never a failed build.
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kNotEstablished);
  for (RunRecord& run : base) run.call_ns = 90'000'000;
  for (RunRecord& run : now) run.call_ns = 90'000'000;
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kPass);
  for (RunRecord& run : now) run.call_ns = 99'000'000;
  const GateResult result = EvaluateGate(base, now, {});
  EXPECT_EQ(result.outcome, Outcome::kRegression);
  EXPECT_THAT(result.sentence, HasSubstr("90.0 ms -> 99.0 ms"));
  EXPECT_GOLDEN_TEXT(result.sentence);
}

// One run of a baseline has no steps; the others are enough without it.
TEST(Gate, BaselineRunsWithoutStepsAreLeftOut) {
  auto base = Records(6, 1e8, 0.0005, 1);
  base.push_back(base[0]);
  base.back().steady = false;
  base.back().steps.clear();
  const GateResult result = EvaluateGate(base, Records(1, 1.1e8, 0, 99), {});
  EXPECT_EQ(result.outcome, Outcome::kRegression);
  ASSERT_FALSE(result.checks.empty());
  EXPECT_EQ(result.checks[0].name, "step");
  EXPECT_GOLDEN_TEXT(result.sentence);
}

TEST(Gate, DeviceTimeIsCheckedIfTheHostVaries) {
  auto base = Records(8, 1e8, 0.0005, 1);
  auto now = Records(1, 1e8, 0, 99);
  for (size_t i = 0; i < base.size(); ++i) {
    base[i].steps.assign(20, 100'000'000 + static_cast<int64_t>(i % 4) * 20'000'000);
  }
  now[0].device_ns = now[0].device_ns * 105 / 100;
  const GateResult result = EvaluateGate(base, now, {});
  ASSERT_EQ(result.outcome, Outcome::kRegression);
  EXPECT_EQ(result.checks[0].name, "device time");
}

TEST(Gate, FewStepsDelayedByTheHostAreNoRegression) {
  const auto base = Records(8, 1e8, 0.0005, 1);
  auto now = Records(1, 1e8, 0, 99);
  for (size_t i = 0; i < 4; ++i) now[0].steps[i] *= 4;
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kNotEstablished);
  for (size_t i = 4; i < 18; ++i) now[0].steps[i] *= 4;
  EXPECT_EQ(EvaluateGate(base, now, {}).outcome, Outcome::kRegression);
}

TEST(Gate, PhasesAreCheckedSeparately) {
  auto base = Records(6, 1e8, 0.0005, 1);
  auto now = Records(6, 1e8, 0.0005, 99);
  for (RunRecord& run : now) run.phases["backward"] = run.phases["backward"] * 12 / 10;
  GateOptions by_phase;
  by_phase.by = GateBy::kPhase;
  const GateResult result = EvaluateGate(base, now, by_phase);
  ASSERT_EQ(result.outcome, Outcome::kRegression);
  EXPECT_EQ(result.checks[0].name, "phase backward");
}

const Check* CheckOf(const GateResult& result, std::string_view name) {
  for (const Check& check : result.checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

// A fact that varies among the runs of the baseline does so without a change.
TEST(Gate, FactsHaveTheRangeOfTheBaseline) {
  std::vector<RunRecord> base = Records(5, 1e8, 0, 1);
  base[2].facts["launches"] = 110;
  const auto outcome = [&](double launches) {
    std::vector<RunRecord> now = Records(1, 1e8, 0, 9);
    now[0].facts["launches"] = launches;
    return EvaluateGate(base, now, {}).outcome;
  };
  EXPECT_EQ(outcome(110), Outcome::kPass);
  EXPECT_EQ(outcome(112), Outcome::kRegression);  // 110 and a hundredth of 100.
}

GateOptions ByOp() {
  GateOptions options;
  options.by = GateBy::kOp;
  return options;
}

// A thousandth of the step, here 100 us: a smaller change does not fail the gate.
TEST(Gate, OpChangeBelowTheFloorIsIgnored) {
  std::vector<RunRecord> base = Records(5, 1e8, 0, 1), now = Records(1, 1e8, 0, 9);
  for (RunRecord& run : base) run.ops = {{"tiny", 50'000}, {"large", 5'000'000}};
  now[0].ops = {{"tiny", 140'000}, {"large", 5'300'000}};
  const GateResult result = EvaluateGate(base, now, ByOp());
  ASSERT_NE(CheckOf(result, "op tiny"), nullptr);
  EXPECT_EQ(CheckOf(result, "op tiny")->outcome, Outcome::kPass);
  ASSERT_NE(CheckOf(result, "op large"), nullptr);
  EXPECT_EQ(CheckOf(result, "op large")->outcome, Outcome::kRegression);
}

// Runs list their largest hundred ops; what some of them lack is compared with nothing.
TEST(Gate, OpThatSomeRunsDoNotListIsNotChecked) {
  std::vector<RunRecord> base = Records(5, 1e8, 0, 1), now = Records(1, 1e8, 0, 9);
  for (RunRecord& run : base) run.ops = {{"common", 5'000'000}};
  base[1].ops["rare"] = 5'000'000;
  now[0].ops = {{"common", 5'000'000}, {"rare", 9'000'000}};
  const GateResult result = EvaluateGate(base, now, ByOp());
  EXPECT_NE(CheckOf(result, "op common"), nullptr);
  EXPECT_EQ(CheckOf(result, "op rare"), nullptr);
  EXPECT_EQ(result.outcome, Outcome::kPass);
}

// One of a hundred ops is this bad by chance. For one op, t = 9 / (2.55 sqrt(6/5)) = 3.2 of 4
// degrees of freedom has a chance of 1.6 %.
TEST(Gate, OneNoisyOpOfAHundredIsNoRegression) {
  std::vector<RunRecord> base = Records(5, 1e8, 0, 1), now = Records(1, 1e8, 0, 9);
  const int64_t values[] = {9'700'000, 10'300'000, 10'000'000, 9'800'000, 10'200'000};
  for (size_t i = 0; i < base.size(); ++i) {
    for (int k = 0; k < 100; ++k)
      base[i].ops["op" + std::to_string(k)] = 1'000'000 + k + 10 * static_cast<int64_t>(i);
    base[i].ops["noisy"] = values[i];
  }
  now[0].ops = base[2].ops;
  now[0].ops["noisy"] = 10'900'000;
  const GateResult result = EvaluateGate(base, now, ByOp());
  ASSERT_NE(CheckOf(result, "op noisy"), nullptr);
  EXPECT_EQ(CheckOf(result, "op noisy")->outcome, Outcome::kNotEstablished);
  EXPECT_NE(result.outcome, Outcome::kRegression) << result.sentence;
}

}  // namespace
}  // namespace xlatrace::compare
