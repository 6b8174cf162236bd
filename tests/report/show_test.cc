// SPDX-License-Identifier: Apache-2.0

// Sheets of one thing of a run, as JSON, from run.db files whose figures are known.

#include "report/show/show.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analysis/gpu_table.h"
#include "sample_run.h"
#include "store/run_db.h"
#include "temporary_folder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using testing::HasSubstr;

std::string Shown(const SampleRun& run, const std::string& what, const ShowOptions& options) {
  const TemporaryFolder folder;
  const std::string path = folder.File("run.db");
  const Status written = WriteSampleRun(run, path);
  EXPECT_TRUE(written) << written.error().message;
  auto db = store::RunDb::Open(path);
  EXPECT_TRUE(db);
  const auto text = Show(*db, what, options);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

nlohmann::json ShownSheet(const SampleRun& run, const std::string& what,
                          const analysis::Gpu* gpu = nullptr) {
  return nlohmann::json::parse(Shown(run, what, {.json = true, .gpu = gpu}), nullptr, false);
}

int64_t Sum(const nlohmann::json& rows, const char* key) {
  int64_t sum = 0;
  for (const nlohmann::json& row : rows) sum += row[key].get<int64_t>();
  return sum;
}

// Three ops that run alone or in graphs of which only the whole was recorded, on 2 devices in 5
// steps. The last op runs only in graphs of the second device.
SampleRun GraphRun() {
  SampleRun run;
  run.devices = 2;
  run.ops = {{.instruction = "fusion.1", .ns = 3'000},
             {.instruction = "fusion.2", .ns = 1'000},
             {.instruction = "fusion.3", .ns = 0, .calls = 0}};
  // 1,001 ns are divided into 500.5 and 500.5 ns. If remainders are equal, the first part is
  // rounded up.
  run.graphs = {{.parts = {{0, 500'000, 501}, {1, 500'000, 500}}},
                // 7 ns are 4.2 and 2.8.
                {.parts = {{1, 600'000, 4}, {2, 400'000, 3}}, .on_device = 1}};
  return run;
}

TEST(ShowTest, QueueTimeStartsAtTheEndOfTheCall) {
  SampleRun run;
  // Called 50 us before it starts, by a call of 8 us: the other 42 us it waits.
  run.ops = {{.instruction = "late.1",
              .ns = 100'000,
              .calls = 3,
              .called_ahead_ns = 50'000,
              .call_ns = 8'000},
             // Starts while its call has not returned yet.
             {.instruction = "early.1", .ns = 100'000, .called_ahead_ns = 5'000, .call_ns = 9'000}};
  const nlohmann::json late = ShownSheet(run, "late.1")["host"];
  EXPECT_EQ(late["launches"], 15);  // 3 in each of 5 steps.
  EXPECT_EQ(late["call_p50_ns"], 8'000);
  EXPECT_EQ(late["latency_p50_ns"], 50'000);
  EXPECT_EQ(late["queued_p50_ns"], 42'000);
  const nlohmann::json early = ShownSheet(run, "early.1")["host"];
  EXPECT_EQ(early["call_p50_ns"], 9'000);
  EXPECT_EQ(early["latency_p50_ns"], 5'000);
  EXPECT_EQ(early["queued_p50_ns"], 0);
}

TEST(ShowTest, TimePerStepIsOfOneDevice) {
  SampleRun run;
  run.devices = 4;
  run.ops = {{.instruction = "fusion.1", .ns = 100'000, .calls = 3},
             {.instruction = "fusion.2", .ns = 50'000}};
  const nlohmann::json steps = ShownSheet(run, "fusion.1")["steps"];
  ASSERT_EQ(steps.size(), 5u);
  for (const nlohmann::json& step : steps) {
    EXPECT_EQ(step["launches"], 12);
    EXPECT_EQ(step["self_ns"], 1'200'000);  // 4 devices, 3 launches each.
    EXPECT_EQ(step["ns_per_device"], 300'000);
  }
}

TEST(ShowTest, LayerExcludesLayersThatShareItsNamePrefix) {
  SampleRun run;
  run.ops = {{.instruction = "fusion.1", .layer = "decoder/layer_1", .ns = 10'000},
             {.instruction = "fusion.2", .layer = "decoder/layer_1/mlp", .ns = 20'000},
             {.instruction = "fusion.3", .layer = "decoder/layer_10", .ns = 400'000},
             {.instruction = "fusion.4", .layer = "decoder/layer_10/mlp", .ns = 5'000'000}};
  const nlohmann::json sheet = ShownSheet(run, "decoder/layer_1");
  EXPECT_EQ(sheet["kind"], "layer");
  EXPECT_EQ(sheet["per_step"]["ns"], 30'000);
  EXPECT_EQ(sheet["per_step"]["device_ns"], 5'430'000);
  EXPECT_EQ(sheet["self_ns"], 150'000);  // In 5 steps.
  EXPECT_EQ(sheet["layers"].size(), 2u);
}

TEST(ShowTest, SheetOfAnOpIncludesItsSharesOfGraphs) {
  const SampleRun run = GraphRun();
  // By hand, of all devices in one step: launches and time.
  const std::map<std::string, std::pair<int64_t, int64_t>> truth = {
      {"fusion.1", {2 + 2, 2 * 3'000 + 2 * 501}},
      {"fusion.2", {2 + 2 + 1, 2 * 1'000 + 2 * 500 + 4}},
      {"fusion.3", {1, 3}}};
  for (const auto& [name, of_step] : truth) {
    SCOPED_TRACE(name);
    const auto [launches, ns] = of_step;
    const nlohmann::json sheet = ShownSheet(run, name);
    EXPECT_EQ(sheet["op"]["self_ns"], 5 * ns);
    EXPECT_EQ(sheet["op"]["occurrences"], 5 * launches);
    ASSERT_EQ(sheet["steps"].size(), 5u);
    for (const nlohmann::json& step : sheet["steps"]) {
      EXPECT_EQ(step["launches"], launches);
      EXPECT_EQ(step["self_ns"], ns);
    }
    EXPECT_EQ(Sum(sheet["launches"], "launches"), 5 * launches);
    EXPECT_EQ(Sum(sheet["launches"], "self_ns"), 5 * ns);
    EXPECT_EQ(Sum(sheet["evidence"], "activities"), 5 * launches);
    EXPECT_EQ(Sum(sheet["evidence"], "self_ns"), 5 * ns);
  }
}

TEST(ShowTest, OpOfAGraphRanOnTheGraphsDevice) {
  const nlohmann::json sheet = ShownSheet(GraphRun(), "fusion.3");
  EXPECT_EQ(sheet["op"]["steady_devices"], 2);
  EXPECT_EQ(sheet["op"]["ran_on_devices"], 1);
  EXPECT_EQ(sheet["op"]["ran_on"], nlohmann::json({"device 1"}));
  EXPECT_EQ(sheet["op"]["steady_ns_per_step_there"], 3);
  ASSERT_EQ(sheet["launches"].size(), 1u);
  EXPECT_EQ(sheet["launches"][0]["kind"], "graph");
  EXPECT_EQ(sheet["launches"][0]["device_id"], 2);
  EXPECT_EQ(sheet["launches"][0]["estimated"], true);
  ASSERT_EQ(sheet["evidence"].size(), 1u);
  EXPECT_EQ(sheet["evidence"][0]["confidence"], "inferred");
}

TEST(ShowTest, EstimateForAnotherGpuCountsAllLaunches) {
  SampleRun run;
  // 90 launches with 45 configurations in each of 5 steps. Each moves 8 MB in 4.4 us. A GPU of
  // 7.672 TB/s instead of 3.352 would need 1.92 us, but the shortest kernel takes 2 us.
  run.ops = {
      {.instruction = "fusion.1", .ns = 4'400, .calls = 90, .bytes = 8'000'000, .grids = 45}};
  const nlohmann::json sheet = ShownSheet(run, "fusion.1", analysis::FindGpuByName("B200"));
  EXPECT_EQ(sheet["other_gpu"]["estimated_ns"], 5 * 90 * 2'000);
  EXPECT_EQ(sheet["launches"].size(), 40u);
  EXPECT_EQ(sheet["launch_configurations"], 45);
  // Six are listed, 39 are not.
  EXPECT_THAT(Shown(run, "fusion.1", {}), HasSubstr("... 39 more "));
}

TEST(ShowTest, CountsOfOneAreInTheSingular) {
  SampleRun run;
  run.steps = 3;  // One of them is steady.
  run.ops = {{.instruction = "fusion.1", .ns = 3'000}};
  const std::string kernel = Shown(run, "k1", {});
  EXPECT_THAT(kernel, HasSubstr(" 3 launches"));
  EXPECT_THAT(kernel, HasSubstr(" 1 launch,"));
  EXPECT_GOLDEN_TEXT(kernel);
  EXPECT_GOLDEN_TEXT(Shown(run, "fusion.1", {}));
  run.steps = 1;
  EXPECT_GOLDEN_TEXT(Shown(run, "fusion.1", {}));
  EXPECT_GOLDEN_TEXT(Shown(run, "k1", {}));
}

TEST(ShowTest, StatisticOverFirstStepsStatesTheTotalNumber) {
  SampleRun run;
  run.steps = 203;
  run.ops = {{.instruction = "fusion.1", .ns = 3'000}};
  EXPECT_THAT(Shown(run, "fusion.1", {}), HasSubstr(" 200 of 203 steps"));
  run.steps = 200;
  EXPECT_THAT(Shown(run, "fusion.1", {}), HasSubstr(" 200 steps"));
}

TEST(ShowTest, PhasesOfAModuleSumTheSharesOfItsOps) {
  SampleRun run;
  run.ops = {{.instruction = "fusion.1",
              .phase = model::Phase::kLoss,
              .ns = 1'000,
              .other_ppm = 250'000,
              .other_phase = model::Phase::kBackward},
             {.instruction = "fusion.2", .phase = model::Phase::kBackward, .ns = 100}};
  const nlohmann::json phases = ShownSheet(run, "m1")["phases"];
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0], nlohmann::json({{"phase", "loss"}, {"self_ns", 5 * 750}}));
  EXPECT_EQ(phases[1], nlohmann::json({{"phase", "backward"}, {"self_ns", 5 * (250 + 100)}}));
}

TEST(ShowTest, OpIsListedInEveryLayerOfItsParts) {
  SampleRun run;
  run.ops = {{.instruction = "fusion.1",
              .layer = "decoder/layer_1",
              .ns = 1'000,
              .other_ppm = 250'000,
              .other_layer = "decoder/layer_2"},
             {.instruction = "fusion.2", .layer = "decoder/layer_2", .ns = 600}};
  const nlohmann::json sheet = ShownSheet(run, "decoder/layer_2");
  EXPECT_EQ(sheet["self_ns"], 5 * (250 + 600));
  ASSERT_EQ(sheet["ops"].size(), 2u);
  EXPECT_EQ(sheet["ops"][0]["instruction"], "fusion.2");
  EXPECT_EQ(sheet["ops"][0]["here_ns"], 5 * 600);
  EXPECT_EQ(sheet["ops"][1]["instruction"], "fusion.1");
  EXPECT_EQ(sheet["ops"][1]["here_ns"], 5 * 250);
  EXPECT_EQ(sheet["ops"][1]["self_ns"], 5 * 1'000);
}

// "maker via what passes it on, and on" of each operand.
std::vector<std::string> MadeBy(const nlohmann::json& sheet) {
  std::vector<std::string> rows;
  for (const nlohmann::json& operand : sheet["operands"]) {
    std::string row = operand["instruction"];
    for (const nlohmann::json& passed : operand["through"]) row += " " + passed.get<std::string>();
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST(ShowTest, OperandIsFoundThroughTheTupleElement) {
  SampleRun run;
  run.hlo = R"(HloModule jit_train_step, is_scheduled=true
ENTRY e {
  p = f32[256]{0} parameter(0)
  left = f32[256]{0} reverse(p), dimensions={0}
  middle = f32[512]{0} concatenate(p, p), dimensions={0}
  right = f32[256]{0} cosine(p)
  both = (f32[256]{0}, f32[512]{0}, f32[256]{0}) tuple(left, middle, right)
  third = f32[256]{0} get-tuple-element(both), index=2
  first = f32[256]{0} get-tuple-element(both), index=0
  ROOT sum = f32[256]{0} subtract(third, first)
})";
  for (const char* name : {"left", "middle", "right", "sum"}) {
    run.ops.push_back({.instruction = name, .ns = 10'000});
  }
  EXPECT_THAT(MadeBy(ShownSheet(run, "sum")),
              testing::ElementsAre("right third both", "left first both"));
}

}  // namespace
}  // namespace xlatrace::report
