// Sheets of one thing of a run, as JSON, from run.db files whose figures are known.

#include "report/show/show.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sample_run.h"
#include "store/run_db.h"
#include "temporary_folder.h"

namespace xlatrace::report {
namespace {

nlohmann::json ShownSheet(const SampleRun& run, const std::string& what) {
  const TemporaryFolder folder;
  const std::string path = folder.File("run.db");
  const Status written = WriteSampleRun(run, path);
  EXPECT_TRUE(written) << written.error().message;
  auto db = store::RunDb::Open(path);
  EXPECT_TRUE(db);
  const auto text = Show(*db, what, {.json = true});
  EXPECT_TRUE(text) << text.error().message;
  return text ? nlohmann::json::parse(*text) : nlohmann::json();
}

TEST(ShowTest, ALaunchWaitsInTheQueueFromTheEndOfItsCall) {
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

TEST(ShowTest, TheTimeOfAStepIsThatOfADevice) {
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

TEST(ShowTest, ALayerHoldsWhatIsInsideItAndNotThoseWhoseNamesBeginAlike) {
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

TEST(ShowTest, AnOperandComesFromTheElementOfTheTupleThatIsRead) {
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
