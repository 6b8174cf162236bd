// SPDX-License-Identifier: Apache-2.0
#include "correlator/execution_grouping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Entry a, while, b, c; the loop's body has x.
LoadedModule Looping(const std::string& name) {
  return {MakeModule(name, {{"body", {{"p", "parameter"}, {"x", "add", "", {"p", "p"}}}},
                            {"main",
                             {{"q", "parameter"},
                              {"a", "add", "", {"q", "q"}},
                              {"w", "while", "", {"a"}, {"body"}},
                              {"b", "add", "", {"w", "w"}},
                              {"c", "add", "", {"b", "b"}}}}}),
          {}};
}

class ExecutionGroupingTest : public ::testing::Test {
 protected:
  ExecutionGroupingTest() {
    run_.AddDevice();
    run_.AddLane();
    run_.AddModule("jit_f", 5, [] { return Looping("jit_f"); });
    run_.AddModule("jit_g", 6, [] { return Looping("jit_g"); });
    kernel_ = run_.Kernel("k");
  }
  // Activities of jit_f, or of jit_g for capital letters; 'h' is a library kernel of jit_f.
  void Launch(std::string_view instructions, uint32_t run_key = 0, uint32_t lane = 1) {
    for (const char c : instructions) {
      const bool g = c >= 'A' && c <= 'Z';
      const std::string name = c == 'h' ? "" : std::string(1, static_cast<char>(g ? c + 32 : c));
      run_.Activity(kernel_, run_.Annotation(g ? "jit_g" : "jit_f", g ? 6 : 5, name), run_key,
                    lane);
    }
  }
  // Grouped again, with the executions that thunk order is pretended to have found.
  model::AttributionTables Aligned(const std::vector<uint32_t>& aligned) {
    model::AttributionTables tables = run_.Attribute(), modules_only;
    SourceStacks stacks(model::UserCode(), &modules_only);
    const ModuleTable modules(run_.run(), run_.loader(), &stacks, &modules_only);
    tables.executions.clear();
    GroupExecutions(run_.run(), modules, aligned, &tables);
    return tables;
  }
  std::vector<int64_t> Sizes(const model::AttributionTables& tables) {
    std::vector<int64_t> sizes;
    for (const auto& execution : tables.executions) sizes.push_back(execution.activities);
    return sizes;
  }
  std::vector<bool> Complete(const model::AttributionTables& tables) {
    std::vector<bool> complete;
    for (const auto& execution : tables.executions) complete.push_back(execution.complete);
    return complete;
  }
  RunBuilder run_;
  uint32_t kernel_;
};

TEST_F(ExecutionGroupingTest, NewExecutionStartsWithTheFirstEntryInstruction) {
  Launch("axxxbc");
  Launch("axxxbc");
  Launch("axbc");
  const auto tables = run_.Attribute();
  EXPECT_THAT(Sizes(tables), ElementsAre(6, 6, 4));
  EXPECT_THAT(Complete(tables), Each(true));
  EXPECT_EQ(tables.executions[1].start_ns, 70);
  EXPECT_EQ(tables.executions[1].end_ns, 125);
}

TEST_F(ExecutionGroupingTest, CaptureThatCutsExecutionsMarksThemIncomplete) {
  Launch("bc");
  Launch("axbc");
  Launch("axbc");
  Launch("ax");
  const auto tables = run_.Attribute();
  EXPECT_THAT(Sizes(tables), ElementsAre(2, 4, 4, 2));
  EXPECT_THAT(Complete(tables), ElementsAre(false, true, true, false));
}

TEST_F(ExecutionGroupingTest, SeveralKernelsOfOneInstructionAreOneOccurrence) {
  Launch("aaxbbbch");
  Launch("aaxbbbch");
  EXPECT_THAT(Sizes(run_.Attribute()), ElementsAre(8, 8));
}

TEST_F(ExecutionGroupingTest, OneExecutionWithRepeatedKernelsStaysOne) {
  Launch("aabc");
  EXPECT_THAT(Sizes(run_.Attribute()), ElementsAre(4));
}

TEST_F(ExecutionGroupingTest, EachLaunchOfAOneFusionModuleIsAnExecution) {
  run_.AddModule("jit_add", 7, [] {
    return LoadedModule{MakeModule("jit_add", {{"main", {{"fusion", "fusion"}}}}), {}};
  });
  for (int i = 0; i < 3; ++i) run_.Activity(kernel_, run_.Annotation("jit_add", 7, "fusion"));
  EXPECT_THAT(Sizes(run_.Attribute()), ElementsAre(1, 1, 1));
}

TEST_F(ExecutionGroupingTest, AnotherModuleInBetweenEndsAnExecution) {
  Launch("axbc");
  Launch("AXBC");
  Launch("axbc");
  const auto tables = run_.Attribute();
  EXPECT_THAT(Sizes(tables), ElementsAre(4, 4, 4));
  EXPECT_EQ(tables.executions[1].module_id, 2);
  EXPECT_EQ(tables.executions[2].module_id, 1);
}

TEST_F(ExecutionGroupingTest, LaunchesOnOtherStreamsJoinTheOpenExecution) {
  const auto side = run_.AddLane(1, 20);
  for (int i = 0; i < 3; ++i) {
    Launch("ax");
    Launch("h", 0, side);
    Launch("bc");
  }
  EXPECT_THAT(Sizes(run_.Attribute()), ElementsAre(5, 5, 5));
}

TEST_F(ExecutionGroupingTest, CpuOpsOfOneExecutionMayRunInAnyOrder) {
  const auto device = run_.AddDevice(1, model::DeviceKind::kCpu);
  const uint32_t threads[] = {run_.AddLane(device, 1), run_.AddLane(device, 2)};
  kernel_ = run_.Config(model::ActivityKind::kOp, "op");
  // Data flow allows c before a; the order and the threads differ from time to time.
  for (const char* order : {"cab", "abc", "bca", "acb"}) {
    for (int i = 0; i < 3; ++i) Launch({order + i, 1}, 0, threads[(i + order[0]) % 2]);
  }
  EXPECT_THAT(Sizes(run_.Attribute()), ElementsAre(3, 3, 3, 3));
}

TEST_F(ExecutionGroupingTest, DevicesHaveTheirOwnExecutions) {
  const auto lane2 = run_.AddLane(run_.AddDevice());
  Launch("a", 0, 1);
  Launch("a", 0, lane2);
  Launch("bc", 0, 1);
  Launch("bc", 0, lane2);
  const auto tables = run_.Attribute();
  EXPECT_THAT(Sizes(tables), ElementsAre(3, 3));
  EXPECT_EQ(tables.executions[0].device_id, 1);
  EXPECT_EQ(tables.executions[1].device_id, 2);
}

TEST_F(ExecutionGroupingTest, ExecutionsOfTheSourceAreKept) {
  Launch("ab", 1);
  Launch("ab", 2);
  Launch("cc", 1);
  const size_t copy =
      run_.Activity(run_.Config(model::ActivityKind::kMemcpy, "Memcpy"), 0, /*run_key=*/2);
  const size_t outside = run_.Activity(run_.Config(model::ActivityKind::kMemcpy, "Memcpy"));
  const auto tables = run_.Attribute();
  EXPECT_THAT(Sizes(tables), ElementsAre(4, 3));
  EXPECT_EQ(tables.execution_of[copy], 2u);
  EXPECT_EQ(tables.execution_of[outside], 0u);
}

// Rows need not be in the order of time, and a number of the source's may come on every device.
TEST_F(ExecutionGroupingTest, RecordedExecutionsAreNumberedByTimePerDevice) {
  run_.AddDevice();
  const uint32_t second = run_.AddLane(2);
  const uint32_t hint = run_.Annotation("jit_f", 5, "a");
  const size_t late = run_.Activity(kernel_, hint, 1, 1, 300);
  const size_t early = run_.Activity(kernel_, hint, 2, 1, 100);
  const size_t beside = run_.Activity(kernel_, hint, 1, second, 200);
  const auto tables = run_.Attribute();
  ASSERT_EQ(tables.executions.size(), 3u);
  EXPECT_EQ(tables.execution_of[early], 1u);
  EXPECT_EQ(tables.execution_of[beside], 2u);
  EXPECT_EQ(tables.execution_of[late], 3u);
  EXPECT_EQ(tables.executions[0].start_ns, 100);
  EXPECT_EQ(tables.executions[1].device_id, 2);
  EXPECT_EQ(tables.executions[2].device_id, 1);
}

TEST_F(ExecutionGroupingTest, ActivitiesWithoutTimesDoNotStretchAnExecution) {
  const auto launch = [&](const char* name, int64_t start_ns, bool timed) {
    run_.Activity(kernel_, run_.Annotation("jit_f", 5, name), 1, 1, start_ns, timed ? 5 : 0);
    run_.SetTimed(timed);
  };
  launch("a", 20, false);
  launch("b", 100, true);
  launch("c", 200, true);
  launch("a", 900, false);
  const auto tables = run_.Attribute();
  ASSERT_THAT(Sizes(tables), ElementsAre(4));
  EXPECT_EQ(tables.executions[0].start_ns, 100);
  EXPECT_EQ(tables.executions[0].end_ns, 205);
}

TEST_F(ExecutionGroupingTest, GroupOfTwoModulesIsTwoExecutions) {
  Launch("aABbc", 1);
  const auto tables = run_.Attribute();
  EXPECT_THAT(Sizes(tables), ElementsAre(3, 2));
  EXPECT_EQ(tables.executions[1].module_id, 2);
}

// 'h' has a module and no instruction, as equal kernels of two branches have when only their order
// is known.
TEST_F(ExecutionGroupingTest, UnplacedLaunchJoinsTheExecutionAroundIt) {
  Launch("ahbahbh");
  const auto tables = Aligned({1, 0, 1, 2, 0, 2, 0});
  EXPECT_THAT(Sizes(tables), ElementsAre(3, 3));
  EXPECT_THAT(tables.execution_of, ElementsAre(1, 1, 1, 2, 2, 2, 0));
}

TEST_F(ExecutionGroupingTest, LaunchInTwoAlignedExecutionsIsInNeither) {
  Launch("aahbb");
  EXPECT_THAT(Aligned({1, 2, 0, 1, 2}).execution_of, ElementsAre(1, 2, 0, 1, 2));
}

TEST_F(ExecutionGroupingTest, ActivitiesOutOfTimeOrderAreSorted) {
  const auto launch = [&](const char* name, int64_t start_ns) {
    run_.Activity(kernel_, run_.Annotation("jit_f", 5, name), 0, 1, start_ns);
  };
  launch("c", 120);
  launch("a", 100);
  launch("a", 200);
  launch("b", 210);
  launch("b", 110);
  launch("c", 220);
  const auto tables = run_.Attribute();
  EXPECT_THAT(Sizes(tables), ElementsAre(3, 3));
  EXPECT_EQ(tables.executions[0].end_ns, 125);
}

}  // namespace
}  // namespace xlatrace::correlator
