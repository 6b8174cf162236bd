// SPDX-License-Identifier: Apache-2.0

// A run made by hand: two threads that launch at the same times, nested ranges, and calls outside
// of them.

#include "report/launched_in.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/show/show.h"
#include "store/run_db.h"
#include "store/run_saver.h"
#include "temporary_folder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using model::Id;
using testing::HasSubstr;

class LaunchedInTest : public testing::Test {
 protected:
  LaunchedInTest() : saver_(*store::RunSaver::Create(path_)), builder_(saver_.beside()) {
    builder_.SetStart(1'790'000'000'000'000'000);
    builder_.SetRunInfo("granularity", "kernel");
    process_ = builder_.AddProcess({.pid = 42});
    const Id device = builder_.AddDevice(
        {.process_id = process_, .kind = model::DeviceKind::kGpu, .ordinal = 0, .name = "GPU"});
    lane_ = builder_.AddLane({.device_id = device, .stream_id = 7});
    // Reasons of labels: 1 is none, 2 an instruction.
    attribution_.labels.push_back({.reason = model::Reason::kNotXla});
    const Id module = builder_.AddModule(
        {.process_id = process_, .name = "jit_f", .program_id = 1, .bytes = "HLO"});
    attribution_.modules.push_back({.fingerprint = "f00d"});
    model::InstructionRow row;
    row.module_id = module;
    row.name = "fusion.1";
    attribution_.instructions.push_back(row);
    attribution_.labels.push_back({.module_id = module,
                                   .instruction_id = 1,
                                   .evidence = model::Evidence::kRange,
                                   .confidence = model::Confidence::kExact});
  }

  Id Kernel(const std::string& name) {
    model::LaunchConfig config;
    config.kind = model::ActivityKind::kKernel;
    config.name = name;
    config.symbol = name;
    return builder_.AddLaunchConfig(config);
  }
  Id Call(int64_t thread, int64_t start_ns) {
    return builder_.AddApiCall({.process_id = process_,
                                .thread_id = thread,
                                .name = "cudaLaunchKernel",
                                .start_ns = start_ns,
                                .end_ns = start_ns + 5});
  }
  void Launch(Id kernel, Id call, int64_t ns, uint32_t label = 1, int64_t graph = 0) {
    builder_.AddActivity({.lane_id = lane_,
                          .config_id = kernel,
                          .api_call_id = call,
                          .start_ns = now_,
                          .end_ns = now_ + ns,
                          .graph_id = graph,
                          .graph_node_id = graph > 0 ? now_ : 0});
    now_ += ns;
    attribution_.label_of.push_back(label);
    attribution_.execution_of.push_back(0);
    analysis_.step_of.push_back(std::nullopt);
  }
  void Range(int64_t thread, const std::string& text, int64_t start_ns, int64_t end_ns) {
    builder_.AddRange({.process_id = process_,
                       .thread_id = thread,
                       .text = text,
                       .start_ns = start_ns,
                       .end_ns = end_ns});
  }
  void Save() {
    builder_.AddResults(attribution_);
    builder_.AddResults(analysis_);
    ASSERT_TRUE(saver_.Save(builder_, &attribution_, &analysis_));
    auto db = store::RunDb::Open(path_);
    ASSERT_TRUE(db);
    db_.emplace(std::move(*db));
  }
  nlohmann::json Sheet(const std::string& kernel) {
    const auto text = Show(*db_, kernel, {.json = true});
    EXPECT_TRUE(text) << text.error().message;
    return text ? nlohmann::json::parse(*text) : nlohmann::json();
  }
  // "path: launches, ns" of each row.
  std::vector<std::string> Places(const std::string& kernel) {
    std::vector<std::string> rows;
    const nlohmann::json sheet = Sheet(kernel);
    for (const auto& row : sheet["launched_in"]) {
      std::string where = row["how"].get<std::string>();
      if (where == "path") where = row["path"].get<std::string>();
      if (where == "more") where += " " + std::to_string(row["paths"].get<int64_t>());
      rows.push_back(where + ": " + std::to_string(row["launches"].get<int64_t>()) + ", " +
                     std::to_string(row["self_ns"].get<int64_t>()));
    }
    return rows;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.File("run.db");
  store::RunSaver saver_;
  store::RunBuilder builder_;
  model::AttributionTables attribution_;
  model::AnalysisTables analysis_;
  std::optional<store::RunDb> db_;
  Id process_ = 0, lane_ = 0;
  int64_t now_ = 10'000;
};

TEST_F(LaunchedInTest, PlaceIsTheRangesAroundTheLaunchCall) {
  const Id gemm = Kernel("gemm");
  Range(1, "FSDP::forward (layer.3), op_id = 1", 100, 200);
  Range(1, "aten::linear, seq = 7", 110, 150);
  Range(1, "cudaLaunchKernel", 119, 126);
  Range(1, "aten::addmm, seq = 7, op_id = 3", 115, 140);
  Range(2, "Optimizer.step#Adam.step", 100, 200);
  Launch(gemm, Call(1, 120), 50);
  Launch(gemm, Call(1, 160), 30);  // aten::linear has ended.
  Launch(gemm, Call(2, 120), 20);  // At the same time, by another thread.
  Launch(gemm, Call(1, 300), 10);  // Outside.
  Launch(gemm, 0, 5);
  Save();
  EXPECT_THAT(
      Places("gemm"),
      testing::ElementsAre("FSDP::forward (layer.*) > aten::linear > aten::addmm: 1, 50",
                           "FSDP::forward (layer.*): 1, 30", "Optimizer.step#Adam.step: 1, 20",
                           "outside: 1, 10", "no_call: 1, 5"));
  const auto text = Show(*db_, "gemm", {});
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("FSDP::forward (layer.*) > aten::linear > aten::addmm: 1 launch, "
                               "50 ns"));
  EXPECT_THAT(*text, HasSubstr(": 1 launch, 10 ns"));
  EXPECT_THAT(*text, HasSubstr(": 1 launch, 5 ns"));
  EXPECT_GOLDEN_TEXT(*text);
}

TEST_F(LaunchedInTest, KernelsOfAGraphHaveTheRangesOfItsLaunch) {
  const Id gemm = Kernel("gemm");
  const Id norm = Kernel("norm");
  Range(1, "replay 1", 100, 200);
  Range(1, "replay 2", 300, 400);
  const Id first = Call(1, 150);
  for (int i = 0; i < 3; ++i) {
    Launch(gemm, first, 10, 1, 5);
    Launch(norm, first, 1, 1, 5);
  }
  const Id second = Call(1, 250);  // Between the ranges.
  Launch(gemm, second, 7, 1, 5);
  Launch(norm, second, 2, 1, 5);
  Save();
  EXPECT_THAT(Places("gemm"), testing::ElementsAre("replay *: 3, 30", "outside: 1, 7"));
  EXPECT_THAT(Places("norm"), testing::ElementsAre("replay *: 3, 3", "outside: 1, 2"));
}

TEST_F(LaunchedInTest, LaunchesWithoutCallAreSortedByTime) {
  const Id gemm = Kernel("gemm");
  Range(1, "forward", 100, 200);
  Launch(gemm, Call(1, 120), 50);
  Launch(gemm, 0, 70);
  Launch(gemm, Call(1, 300), 10);
  Save();
  EXPECT_THAT(Places("gemm"),
              testing::ElementsAre("no_call: 1, 70", "forward: 1, 50", "outside: 1, 10"));
}

TEST_F(LaunchedInTest, KernelBeforeTheFirstCallWasLaunchedEarlier) {
  const Id gemm = Kernel("gemm");
  Range(1, "forward", 100, 200);
  Launch(gemm, 0, 70);
  Launch(gemm, 0, 8);
  Launch(gemm, Call(1, 120), 50);
  Launch(gemm, 0, 20);
  Save();
  EXPECT_THAT(Places("gemm"),
              testing::ElementsAre("earlier: 2, 78", "forward: 1, 50", "no_call: 1, 20"));
}

TEST_F(LaunchedInTest, LabelledLaunchesAreNotListed) {
  const Id gemm = Kernel("gemm");
  const Id fusion = Kernel("fusion_1");
  Range(1, "forward", 100, 200);
  Launch(gemm, Call(1, 120), 50, 2);
  Launch(gemm, Call(1, 130), 40, 1);
  Launch(fusion, Call(1, 140), 30, 2);
  Save();
  EXPECT_THAT(Places("gemm"), testing::ElementsAre("forward: 1, 40"));
  EXPECT_THAT(Places("fusion_1"), testing::IsEmpty());
}

TEST_F(LaunchedInTest, ManyPathsAreSummed) {
  const Id gemm = Kernel("gemm");
  const std::string names = "abcdefg";
  for (size_t i = 0; i < names.size(); ++i) {
    const auto at = static_cast<int64_t>(100 * i);
    Range(1, std::string(1, names[i]), at, at + 90);
    Launch(gemm, Call(1, at + 10), 10 + static_cast<int64_t>(i));
  }
  Save();
  EXPECT_THAT(Places("gemm"), testing::ElementsAre("g: 1, 16", "f: 1, 15", "e: 1, 14", "d: 1, 13",
                                                   "more 3: 3, 33"));
  const auto text = Show(*db_, "gemm", {});
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("and 3 more: 3 launches, 33 ns"));
}

TEST_F(LaunchedInTest, WithoutRangesNoPlaceIsPrinted) {
  const Id gemm = Kernel("gemm");
  Launch(gemm, Call(1, 120), 50);
  Save();
  EXPECT_THAT(Places("gemm"), testing::IsEmpty());
  const auto text = Show(*db_, "gemm", {});
  ASSERT_TRUE(text);
  EXPECT_GOLDEN_TEXT(*text);
}

TEST_F(LaunchedInTest, PageListsOnlyCallsOfItsBasis) {
  const Id gemm = Kernel("gemm");
  Range(1, "forward", 100, 200);
  Launch(gemm, Call(1, 120), 50);
  Launch(gemm, Call(1, 130), 70);
  Launch(gemm, 0, 9);
  Save();
  LaunchedIn launched_in;
  ASSERT_TRUE(launched_in.Open(*db_));
  ASSERT_TRUE(store::ScanLaunches(*db_, [&](const store::ScannedLaunch& launch) {
    return launched_in.Add(launch, /*in_basis=*/launch.activity_id == 2).has_value();
  }));
  ASSERT_TRUE(launched_in.Finish());
  const auto groups = launched_in.ByGroup([](int64_t) { return int64_t{0}; });
  ASSERT_EQ(groups.size(), 1U);
  const std::vector<LaunchPlace>& places = groups.at(0);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].path, "forward");
  EXPECT_EQ(places[0].launches, 2);
  EXPECT_EQ(places[0].self_ns, 120);
  EXPECT_EQ(places[0].calls, 1);
  EXPECT_EQ(places[0].ns, 70);
  EXPECT_EQ(places[1].calls, 0);
}

}  // namespace
}  // namespace xlatrace::report
