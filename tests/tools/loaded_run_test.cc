// SPDX-License-Identifier: Apache-2.0

// A run.db is loaded as it was written: graph nodes, calls and waits with their activities, and
// kernels under the handles of the view.

#include "tools/loaded_run.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/run_db.h"
#include "store/run_saver.h"
#include "tools/what_if_change.h"

namespace xlatrace::tools {
namespace {

using model::Id;

class LoadedRunTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("xlatrace_loaded_run_{}_{}.db", getpid(),
                        testing::UnitTest::GetInstance()->current_test_info()->name());
    auto saver = store::RunSaver::Create(path_);
    ASSERT_TRUE(saver);
    saver_.emplace(std::move(*saver));
    run_.emplace(saver_->beside());
    run_->AddProcess({.pid = 9});
    run_->AddDevice({.process_id = 1});
    run_->AddLane({.device_id = 1, .stream_id = 7});
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Id Kernel(const std::string& symbol) {
    return run_->AddLaunchConfig({.symbol = symbol, .name = symbol});
  }
  Id Call(const std::string& name, int64_t start_ns, int64_t end_ns) {
    return run_->AddApiCall(
        {.process_id = 1, .thread_id = 11, .name = name, .start_ns = start_ns, .end_ns = end_ns});
  }
  void Launch(Id config, int64_t start_ns, int64_t end_ns, Id call = 0) {
    run_->AddActivity({.lane_id = 1,
                       .config_id = config,
                       .api_call_id = call,
                       .start_ns = start_ns,
                       .end_ns = end_ns});
  }
  store::RunDb Saved() {
    model::AttributionTables attribution;
    attribution.labels.push_back({});
    attribution.label_of.assign(run_->tables().activities.size(), 1);
    attribution.execution_of.assign(run_->tables().activities.size(), 0);
    model::AnalysisTables analysis;
    analysis.step_of.assign(run_->tables().activities.size(), std::nullopt);
    run_->AddResults(attribution);
    run_->AddResults(analysis);
    EXPECT_TRUE(saver_->Save(*run_, &attribution, &analysis));
    auto db = store::RunDb::Open(path_);
    EXPECT_TRUE(db) << (db ? "" : db.error().message);
    return std::move(*db);
  }

  std::string path_;
  std::optional<store::RunSaver> saver_;
  std::optional<store::RunBuilder> run_;
};

TEST_F(LoadedRunTest, GraphNodesStayWithTheirActivitiesBesideUnknownTimes) {
  const Id kernel = Kernel("k");
  const auto node = [&](int64_t start_ns, int64_t number, model::Timing timing) {
    run_->AddActivity({.lane_id = 1,
                       .config_id = kernel,
                       .start_ns = start_ns,
                       .end_ns = timing == model::Timing::kKnown ? start_ns + 10 : start_ns,
                       .graph_id = number == 0 ? 0 : 3,
                       .graph_node_id = number == 0 ? 0 : (int64_t{3} << 32) + number,
                       .timing = timing});
  };
  node(0, 1, model::Timing::kKnown);
  node(20, 2, model::Timing::kUnknown);
  node(40, 0, model::Timing::kKnown);
  node(60, 4, model::Timing::kKnown);
  store::RunDb db = Saved();
  const auto loaded = LoadRun(db);
  ASSERT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  const model::ActivityColumns& activities = loaded->run.activities;
  ASSERT_EQ(activities.size(), 4u);
  EXPECT_EQ(activities.graph_node.size(), 4u);
  EXPECT_EQ(activities.graph_node_of(1), (int64_t{3} << 32) + 2);
  EXPECT_EQ(activities.graph_node_of(2), 0);
  EXPECT_EQ(activities.graph_node_of(3), (int64_t{3} << 32) + 4);
  EXPECT_TRUE(activities.timed(0));
  EXPECT_FALSE(activities.timed(1));
  EXPECT_TRUE(activities.timed(3));
}

TEST_F(LoadedRunTest, UnknownSizeIsNotZero) {
  const Id copy = run_->AddLaunchConfig({.kind = model::ActivityKind::kMemcpy, .name = "copy"});
  int64_t at_ns = 0;
  for (const int64_t bytes : {4096, -1, 0}) {
    run_->AddActivity(
        {.lane_id = 1, .config_id = copy, .start_ns = at_ns, .end_ns = at_ns + 10, .bytes = bytes});
    at_ns += 20;
  }
  store::RunDb db = Saved();
  const auto loaded = LoadRun(db);
  ASSERT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  const auto& bytes = loaded->run.activities.bytes;
  EXPECT_EQ(std::vector<int64_t>(bytes.begin(), bytes.end()), (std::vector<int64_t>{4096, -1, 0}));
}

TEST_F(LoadedRunTest, ActivitiesOfOneCallHaveThatCall) {
  const Id kernel = Kernel("k");
  const Id first = Call("cuLaunchKernel", 100, 105);
  const Id graph = Call("cudaGraphLaunch", 200, 230);
  for (const char* name : {"cudaStreamSynchronize", "cudaMalloc"}) {
    run_->AddUnreferredCall(
        {.process_id = 1, .thread_id = 11, .name = name, .start_ns = 300, .end_ns = 900});
  }
  Launch(kernel, 150, 160, first);
  Launch(kernel, 250, 260, graph);
  Launch(kernel, 270, 280, graph);
  Launch(kernel, 290, 299);
  store::RunDb db = Saved();
  const auto loaded = LoadRun(db);
  ASSERT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  const analysis::HostCallOf call_of = loaded->CallOf();
  ASSERT_TRUE(call_of(0) && call_of(1) && call_of(2));
  EXPECT_EQ(call_of(0)->start_ns, 100);
  EXPECT_EQ(call_of(1)->start_ns, 200);
  EXPECT_EQ(call_of(1)->end_ns, 230);
  EXPECT_EQ(call_of(2)->call_id, call_of(1)->call_id);
  EXPECT_FALSE(call_of(3));
  ASSERT_EQ(loaded->waits.size(), 1u);
  EXPECT_EQ(loaded->waits[0].start_ns, 300);
  EXPECT_EQ(loaded->waits[0].end_ns, 900);
  EXPECT_EQ(loaded->waits[0].thread_id, 11);
}

TEST_F(LoadedRunTest, KernelsHaveTheHandlesOfTheView) {
  // Two of one sum: by symbol. One of two configurations: their sum. One that was never launched.
  const Id tied_later = Kernel("b_tied"), tied = Kernel("a_tied");
  Kernel("never");
  const Id big = Kernel("big");
  const Id big_too =
      run_->AddLaunchConfig({.symbol = "big", .name = "big", .registers_per_thread = 8});
  const Id copy = run_->AddLaunchConfig({.kind = model::ActivityKind::kMemcpy, .name = "copy"});
  Launch(tied_later, 0, 50);
  Launch(tied, 100, 150);
  Launch(big, 200, 240);
  Launch(big_too, 300, 340);
  Launch(copy, 400, 900);
  store::RunDb db = Saved();
  const auto loaded = LoadRun(db);
  ASSERT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  auto view = db.Select("SELECT handle, kernel_symbol FROM kernel ORDER BY 1");
  ASSERT_TRUE(view);
  ASSERT_EQ(view->rows.size(), 3u);
  EXPECT_EQ(view->Text(0, "kernel_symbol"), "big");
  EXPECT_EQ(view->Text(1, "kernel_symbol"), "a_tied");
  for (size_t i = 0; i < view->rows.size(); ++i) {
    const auto change = ReadChange(db, *loaded, {.kernels = {view->Text(i, "handle") + "=0.5x"}});
    ASSERT_TRUE(change);
    ASSERT_EQ(change->change.kernels.size(), 1u);
    EXPECT_EQ(change->change.kernels.begin()->first, view->Text(i, "kernel_symbol"));
  }
  EXPECT_FALSE(ReadChange(db, *loaded, {.kernels = {"k4=0.5x"}}));
  EXPECT_FALSE(ReadChange(db, *loaded, {.kernels = {"k0=0.5x"}}));
  EXPECT_FALSE(ReadChange(db, *loaded, {.kernels = {"never=0.5x"}}));
}

}  // namespace
}  // namespace xlatrace::tools
