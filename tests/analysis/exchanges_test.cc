// SPDX-License-Identifier: Apache-2.0

// Which runs of a collective are one exchange, and who waited in it.

#include "analysis/exchanges.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "run_builder.h"

namespace xlatrace::analysis {
namespace {

using model::Id;

constexpr char kProgram[] = R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
ENTRY e {
  a = f32[64]{0} parameter(0)
  sum = f32[64]{0} all-reduce(a), replica_groups={{0,1}}, to_apply=add
  ROOT sent = f32[64]{0} collective-permute(sum), source_target_pairs={{0,1},{1,0}}
})";

// Processes with one module each of the same program.
class ExchangesTest : public testing::Test {
 protected:
  ExchangesTest() {
    auto read = hlo::ReadText(std::make_shared<const std::string>(kProgram));
    EXPECT_TRUE(read.has_value());
    if (read) module_ = std::move(*read);
  }

  Id AddProcessModule() {
    const Id id = b_.AddModule();
    b_.attribution.modules.back().fingerprint = "one and the same";
    return id;
  }

  Id AddCollective(Id module_id, const std::string& name = "sum",
                   const std::string& opcode = "all-reduce") {
    const Id id = b_.AddInstruction(module_id, model::Phase::kForward, model::OpKind::kCollective);
    b_.attribution.instructions.back().name = name;
    b_.attribution.instructions.back().opcode = opcode;
    return id;
  }

  size_t Ran(Id lane, Id instruction, int64_t start, int64_t end, std::optional<int32_t> step = 1) {
    step_of_.push_back(step);
    return b_.AddActivity(lane, start, end, {.instruction = instruction});
  }

  Exchange Of(size_t activity) {
    RunFacts facts(b_.run, b_.attribution);
    for (size_t m = 1; m <= b_.run.modules.size(); ++m) {
      facts.Visit(static_cast<Id>(m), module_, b_.attribution);
    }
    const std::vector<ActivityClass> classes(b_.run.activities.size(), ActivityClass::kCollective);
    return FindExchanges(b_.run, b_.attribution, classes, facts, step_of_).at(activity);
  }

  RunBuilder b_;
  model::HloModule module_;
  std::vector<std::optional<int32_t>> step_of_;
};

// Clocks of processes need not agree: only durations are compared.
TEST_F(ExchangesTest, ProcessesWithDifferentClocksArePairedByStep) {
  const Id here = b_.AddLane(b_.AddDevice(1)), there = b_.AddLane(b_.AddDevice(2));
  const Id ours = AddCollective(AddProcessModule()), theirs = AddCollective(AddProcessModule());
  Ran(here, ours, 0, 500, 1);
  const size_t waited = Ran(here, ours, 1'000, 1'700, 2);
  const size_t last = Ran(there, theirs, 90'000, 90'300, 2);
  EXPECT_EQ(Of(waited).wait_ns, 400);
  EXPECT_EQ(Of(waited).arrival_skew_ns, std::nullopt);
  EXPECT_EQ(Of(last).wait_ns, 0);
  EXPECT_EQ(Of(last).group_id, static_cast<Id>(waited) + 1);
  EXPECT_EQ(Of(0).group_id, 0);  // The other one has no such step.
  EXPECT_EQ(Of(0).devices, 2);
}

TEST_F(ExchangesTest, OutsideOfStepsProcessesAreNotPaired) {
  const Id here = b_.AddLane(b_.AddDevice(1)), there = b_.AddLane(b_.AddDevice(2));
  const Id ours = AddCollective(AddProcessModule()), theirs = AddCollective(AddProcessModule());
  const size_t one = Ran(here, ours, 0, 500, std::nullopt);
  Ran(there, theirs, 0, 300, std::nullopt);
  EXPECT_EQ(Of(one).group_id, 0);
  EXPECT_EQ(Of(one).wait_ns, std::nullopt);
}

TEST_F(ExchangesTest, ProcessWithAllDevicesOfItsGroupIsPairedInternally) {
  const Id a = b_.AddLane(b_.AddDevice(1)), b = b_.AddLane(b_.AddDevice(1));
  const Id c = b_.AddLane(b_.AddDevice(2)), d = b_.AddLane(b_.AddDevice(2));
  const Id one = AddCollective(AddProcessModule()), two = AddCollective(AddProcessModule());
  const size_t first = Ran(a, one, 0, 100);
  Ran(b, one, 40, 100);
  Ran(c, two, 0, 30);
  const size_t other = Ran(d, two, 10, 30);
  EXPECT_EQ(Of(first).wait_ns, 40);
  EXPECT_EQ(Of(first).devices, 2);
  EXPECT_EQ(Of(other).wait_ns, 0);
  EXPECT_EQ(Of(other).group_id, 3);
}

// Counted through from the first step, the second would be paired with the wrong run.
TEST_F(ExchangesTest, OnlyStepsWithDifferentNumbersOfRunsAreLeftUnpaired) {
  const Id a = b_.AddLane(b_.AddDevice()), b = b_.AddLane(b_.AddDevice());
  const Id sum = AddCollective(AddProcessModule());
  const size_t lonely = Ran(a, sum, 0, 100, 1);
  const size_t waited = Ran(a, sum, 1'000, 1'100, 2);
  Ran(b, sum, 1'070, 1'100, 2);
  EXPECT_EQ(Of(lonely).group_id, 0);
  EXPECT_EQ(Of(waited).wait_ns, 70);
  EXPECT_EQ(Of(waited).arrival_skew_ns, 70);
}

TEST_F(ExchangesTest, CollectivesWithoutOverlapOnOneClockAreNotPaired) {
  const Id a = b_.AddLane(b_.AddDevice()), b = b_.AddLane(b_.AddDevice());
  const Id sum = AddCollective(AddProcessModule());
  const size_t before = Ran(a, sum, 0, 100);
  Ran(b, sum, 101, 200);
  EXPECT_EQ(Of(before).group_id, 0);
}

TEST_F(ExchangesTest, CollectivePermuteHasNoWaitTime) {
  const Id a = b_.AddLane(b_.AddDevice()), b = b_.AddLane(b_.AddDevice());
  const Id sent = AddCollective(AddProcessModule(), "sent", "collective-permute");
  const size_t one = Ran(a, sent, 0, 100);
  Ran(b, sent, 60, 100);
  EXPECT_EQ(Of(one).wait_ns, std::nullopt);
}

TEST_F(ExchangesTest, IncompleteGroupHasNoWaitTime) {
  const Id a = b_.AddLane(b_.AddDevice()), b = b_.AddLane(b_.AddDevice());
  const Id c = b_.AddLane(b_.AddDevice());
  const Id sum = AddCollective(AddProcessModule());
  const size_t one = Ran(a, sum, 0, 100);
  Ran(b, sum, 10, 100);
  Ran(c, sum, 20, 100);  // Three devices in groups of two: who is with whom is not known.
  EXPECT_EQ(Of(one).group_id, 0);
  EXPECT_EQ(Of(one).devices, 3);
}

}  // namespace
}  // namespace xlatrace::analysis
