// SPDX-License-Identifier: Apache-2.0

// The physical facts of a whole run, with values computed by hand. They are bandwidth and waiting
// of collectives, occupancy of launches, rooflines of ops, and time without a roofline.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "analysis/analysis.h"
#include "analysis/check.h"
#include "hlo/text/text_reader.h"
#include "run_builder.h"

namespace xlatrace::analysis {
namespace {

constexpr char kModule[] = R"(HloModule m
add {
  x = bf16[] parameter(0)
  y = bf16[] parameter(1)
  ROOT z = bf16[] add(x, y)
}
ENTRY e {
  a = bf16[1024,1024]{1,0} parameter(0)
  b = bf16[1024,1024]{1,0} parameter(1)
  dot = bf16[1024,1024]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sum = bf16[1024,1024]{1,0} all-reduce(dot), replica_groups={{0,1}}, to_apply=add
  own = bf16[1024,1024]{1,0} custom-call(sum), custom_call_target="somebodys_kernel"
  ROOT back = bf16[1024,1024]{1,0} copy(own)
})";

// Two devices that ran the module once each.
class PhysicsTest : public testing::Test {
 protected:
  PhysicsTest() {
    for (int i = 0; i < 2; ++i) {
      const model::Id device = b_.AddDevice();
      lanes_[i] = b_.AddLane(device);
      b_.run.devices.back().name = "NVIDIA H100 80GB HBM3";
      b_.run.devices.back().compute_capability = "9.0";
    }
    b_.AddModule();
    auto read = hlo::ReadText(std::make_shared<const std::string>(kModule));
    EXPECT_TRUE(read.has_value());
    if (read) module_ = std::move(*read);
  }

  // An instruction of the module.
  model::Id Add(std::string_view name, model::OpKind kind = model::OpKind::kOther) {
    const model::Id id = b_.AddInstruction(1, model::Phase::kForward, kind);
    model::InstructionRow& row = b_.attribution.instructions.back();
    row.name = name;
    row.opcode = name == "sum" ? "all-reduce" : "";
    return id;
  }

  model::AnalysisTables Run() {
    model::AnalysisTables tables =
        Analyze(b_.run, b_.attribution,
                [&](model::Id) -> Result<const model::HloModule*> { return &module_; });
    EXPECT_TRUE(CheckAnalysis(b_.run, b_.attribution, tables).empty());
    return tables;
  }

  static const model::OpTimeRow& Of(const model::AnalysisTables& tables, model::Id instruction) {
    const auto found =
        std::find_if(tables.op_times.begin(), tables.op_times.end(),
                     [&](const auto& row) { return row.instruction_id == instruction; });
    EXPECT_NE(found, tables.op_times.end());
    return *found;
  }

  static int64_t Stat(const model::AnalysisTables& tables, std::string_view name) {
    for (const model::RunStat& stat : tables.stats) {
      if (stat.name == name) return stat.value;
    }
    return 0;
  }

  RunBuilder b_;
  model::Id lanes_[2] = {};
  model::HloModule module_;
};

TEST_F(PhysicsTest, AnOpIsMeasuredAgainstThePeakOfItsType) {
  const model::Id dot = Add("dot", model::OpKind::kGemm);
  // 2 x 1024^3 = 2.147 GFLOP in 5 us: 429 of 989 TFLOP/s; 6.29 MB: 1.26 of 3.35 TB/s.
  b_.AddActivity(lanes_[0], 0, 5'000, {.instruction = dot});
  const model::AnalysisTables tables = Run();
  const model::OpTimeRow& row = Of(tables, dot);
  EXPECT_EQ(row.flops, 2'147'483'648);
  EXPECT_EQ(row.bytes, 3 * 2 * 1024 * 1024);
  EXPECT_EQ(row.bound_by, "compute");
  EXPECT_EQ(row.compute_type, "bf16");
  EXPECT_NEAR(static_cast<double>(*row.compute_utilisation_milli_pct), 43'427, 2);
  EXPECT_NEAR(static_cast<double>(*row.memory_utilisation_milli_pct), 37'538, 2);
  EXPECT_NEAR(static_cast<double>(*row.wasted_ns), 5'000 * (1 - 0.43427), 1);
  EXPECT_NEAR(static_cast<double>(*row.expected_ns), 3'016, 2);  // 2.1714 us / 0.72
  ASSERT_EQ(tables.devices.size(), 2U);
  EXPECT_EQ(tables.devices[0].gpu, "H100 SXM");
  EXPECT_EQ(tables.devices[0].peaks_source, "table");
}

TEST_F(PhysicsTest, TimeWithoutARooflineIsCounted) {
  const model::Id own = Add("own", model::OpKind::kCustomCall);
  b_.AddActivity(lanes_[0], 0, 700, {.instruction = own});
  b_.AddActivity(lanes_[0], 700, 900, {.reason = model::Reason::kNotXla});
  const model::AnalysisTables tables = Run();
  EXPECT_EQ(Of(tables, own).flops, std::nullopt);
  EXPECT_EQ(Of(tables, own).wasted_ns, std::nullopt);
  EXPECT_EQ(Of(tables, own).bound_by, "unknown");
  EXPECT_EQ(Stat(tables, "cost_unknown_ns"), 700);  // Work without an op is counted elsewhere.
  EXPECT_EQ(Stat(tables, "peaks_unknown_ns"), 0);
}

// The end of a long op that the profiler lost; a short one may well take no time that is seen.
TEST_F(PhysicsTest, RunsWithoutLengthAreCountedWhereTheOpHasOne) {
  const model::Id dot = Add("dot", model::OpKind::kGemm), own = Add("own");
  b_.AddActivity(lanes_[0], 0, 30'000, {.instruction = dot});
  b_.AddActivity(lanes_[0], 30'000, 30'000, {.instruction = dot});
  b_.AddActivity(lanes_[0], 40'000, 41'000, {.instruction = own});
  b_.AddActivity(lanes_[0], 42'000, 42'000, {.instruction = own});
  EXPECT_EQ(Stat(Run(), "runs_without_length"), 1);
}

TEST_F(PhysicsTest, ADeviceWithoutPeaksHasNoRoofline) {
  b_.run.devices[0].name = "xlatrace fake GPU";
  const model::Id dot = Add("dot", model::OpKind::kGemm);
  b_.AddActivity(lanes_[0], 0, 5'000, {.instruction = dot});
  const model::AnalysisTables tables = Run();
  EXPECT_EQ(Of(tables, dot).bound_by, "unknown");
  EXPECT_EQ(Of(tables, dot).flops, 2'147'483'648);  // The work is known all the same.
  EXPECT_EQ(Of(tables, dot).compute_type, "bf16");
  EXPECT_EQ(Stat(tables, "peaks_unknown_ns"), 5'000);
  EXPECT_EQ(tables.devices[0].peak_flops, "");
}

TEST_F(PhysicsTest, ImpossiblyShortTimesAreReported) {
  const model::Id copy = Add("back", model::OpKind::kCopy);
  b_.AddActivity(lanes_[0], 0, 1'000, {.instruction = copy});  // 4.19 MB in 1 us: 4.2 TB/s.
  const model::AnalysisTables tables = Run();
  EXPECT_EQ(Of(tables, copy).memory_utilisation_milli_pct, 100'000);
  EXPECT_EQ(Of(tables, copy).wasted_ns, 0);
  EXPECT_EQ(Stat(tables, "above_peak_ns"), 1'000);
}

TEST_F(PhysicsTest, CollectivesWaitForTheLastToArrive) {
  const model::Id sum = Add("sum", model::OpKind::kCollective);
  b_.AddActivity(lanes_[0], 0, 10'000, {.instruction = sum});
  b_.AddActivity(lanes_[1], 4'000, 10'000, {.instruction = sum});
  const model::AnalysisTables tables = Run();
  ASSERT_EQ(tables.collectives.size(), 2U);
  EXPECT_EQ(tables.collectives[0].arrival_skew_ns, 4'000);
  EXPECT_EQ(tables.collectives[1].arrival_skew_ns, 0);
  EXPECT_EQ(tables.collectives[0].wait_ns, 4'000);
  EXPECT_EQ(tables.collectives[1].wait_ns, 0);
  EXPECT_EQ(tables.collectives[1].group_id, tables.collectives[0].activity_id);
  for (const model::CollectiveRow& row : tables.collectives) {
    EXPECT_EQ(row.op, "all-reduce");
    EXPECT_EQ(row.bytes, 2 * 1024 * 1024);
    EXPECT_EQ(row.group_size, 2);
    // 2 MiB in the 6 us that both transferred; 2(n-1)/n = 1 for two.
    EXPECT_EQ(row.algorithm_bandwidth_bytes_per_s, 349'525'333'333);
    EXPECT_EQ(row.bus_bandwidth_bytes_per_s, row.algorithm_bandwidth_bytes_per_s);
  }
  EXPECT_EQ(Of(tables, sum).bound_by, "network");
  EXPECT_EQ(Of(tables, sum).wasted_ns, std::nullopt);
}

TEST_F(PhysicsTest, WithoutAllOfTheGroupWaitingIsNotKnown) {
  const model::Id sum = Add("sum", model::OpKind::kCollective);
  b_.AddActivity(lanes_[0], 0, 10'000, {.instruction = sum});
  const model::AnalysisTables tables = Run();
  ASSERT_EQ(tables.collectives.size(), 1U);
  EXPECT_EQ(tables.collectives[0].arrival_skew_ns, std::nullopt);
  EXPECT_EQ(tables.collectives[0].wait_ns, std::nullopt);
  EXPECT_EQ(tables.collectives[0].group_id, std::nullopt);
  EXPECT_EQ(tables.collectives[0].group_size, 2);
  EXPECT_EQ(tables.collectives[0].bus_bandwidth_bytes_per_s, 209'715'200'000);  // Over all 10 us.
}

TEST_F(PhysicsTest, ACollectiveThatMostlyWaitsIsBoundByWaiting) {
  const model::Id sum = Add("sum", model::OpKind::kCollective);
  b_.AddActivity(lanes_[0], 0, 10'000, {.instruction = sum});
  b_.AddActivity(lanes_[1], 9'500, 10'200, {.instruction = sum});  // 700 of 10,700 exchange.
  const model::AnalysisTables tables = Run();
  EXPECT_EQ(tables.collectives[0].wait_ns, 9'300);
  EXPECT_EQ(tables.collectives[0].arrival_skew_ns, 9'500);
  EXPECT_EQ(Of(tables, sum).bound_by, "waiting");
}

// Exactly half of 20,000 ns is waiting. Waiting must be more than half to be the bound.
TEST_F(PhysicsTest, WaitingForHalfOfTheTimeIsNotTheBound) {
  const model::Id sum = Add("sum", model::OpKind::kCollective);
  b_.AddActivity(lanes_[0], 0, 15'000, {.instruction = sum});
  b_.AddActivity(lanes_[1], 10'000, 15'000, {.instruction = sum});
  EXPECT_EQ(Of(Run(), sum).bound_by, "network");
}

TEST_F(PhysicsTest, LaunchesHaveTheOccupancyOfTheirConfiguration) {
  const model::Id dot = Add("dot", model::OpKind::kGemm);
  b_.AddActivity(lanes_[0], 0, 3'000, {.instruction = dot, .symbol = "small"});
  b_.AddActivity(lanes_[0], 3'000, 4'000, {.instruction = dot, .symbol = "large"});
  b_.AddActivity(lanes_[0], 4'000, 5'000, {.instruction = dot, .symbol = "wrong"});
  for (model::LaunchConfig& config : b_.run.configs) {
    for (int i = 0; i < 3; ++i) config.grid[i] = config.block[i] = 1;
    config.grid[0] = 264;
    config.block[0] = 256;
    config.registers_per_thread = config.symbol == "small" ? 32 : 128;
    if (config.symbol == "wrong") config.shared_memory_dynamic_bytes = 1'000'000;
  }
  const model::AnalysisTables tables = Run();
  ASSERT_EQ(tables.occupancies.size(), 2U);
  EXPECT_EQ(tables.occupancies[0].theoretical_milli_pct, 100'000);
  EXPECT_EQ(tables.occupancies[0].blocks_per_sm, 8);
  EXPECT_EQ(tables.occupancies[0].waves_milli, 250);               // 264 of 8 x 132 blocks.
  EXPECT_EQ(tables.occupancies[1].theoretical_milli_pct, 25'000);  // 2 blocks of 8 warps.
  EXPECT_EQ(tables.occupancies[1].limiter, "registers");
  // Weighted by time: (3 x 100 + 1 x 25) / 4. Impossible launches are left out and counted.
  EXPECT_EQ(Of(tables, dot).theoretical_occupancy_milli_pct, 81'250);
  EXPECT_EQ(Of(tables, dot).occupancy_limiter, "warps, registers");
  EXPECT_EQ(Stat(tables, "occupancy_impossible"), 1);
}

}  // namespace
}  // namespace xlatrace::analysis
