// SPDX-License-Identifier: Apache-2.0

// Packed rows are read back through the views as the given rows, for every shape of row.

#include <unistd.h>

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/activity_scan.h"
#include "store/run_db.h"
#include "store/run_saver.h"

namespace xlatrace::store {
namespace {

using model::Id;

class ActivityRowsTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("xlatrace_activity_rows_" + std::to_string(getpid()) + ".db");
    auto saver = RunSaver::Create(path_);
    ASSERT_TRUE(saver);
    saver_.emplace(std::move(*saver));
    run_.emplace(saver_->beside());
    const Id process = run_->AddProcess({.pid = 9});
    const Id device = run_->AddDevice({.process_id = process});
    lane_ = run_->AddLane({.device_id = device, .stream_id = 7});
    config_ = run_->AddLaunchConfig({.symbol = "k", .name = "k"});
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Id Call(int64_t correlation, int64_t start) {
    return run_->AddApiCall({.process_id = 1,
                             .thread_id = 11,
                             .name = "cuLaunchKernel",
                             .correlation_id = correlation,
                             .start_ns = start,
                             .end_ns = start + 5});
  }
  Id Launch(int64_t start, int64_t correlation, Id call) {
    return run_->AddActivity({.lane_id = lane_,
                              .config_id = config_,
                              .api_call_id = call,
                              .start_ns = start,
                              .end_ns = start + 100,
                              .correlation_id = correlation});
  }
  std::string Rows(const std::string& sql) {
    auto db = RunDb::Open(path_);
    EXPECT_TRUE(db) << (db ? "" : db.error().message);
    auto table = db->Select(sql);
    EXPECT_TRUE(table) << (table ? "" : table.error().message);
    std::string text;
    for (size_t i = 0; i < table->rows.size(); ++i) {
      for (const std::string& column : table->columns) {
        text += table->IsNull(i, column) ? "-" : table->Text(i, column);
        text += ' ';
      }
      text += '\n';
    }
    return text;
  }

  std::filesystem::path path_;
  std::optional<RunSaver> saver_;
  std::optional<RunBuilder> run_;
  Id lane_ = 0;
  Id config_ = 0;
};

TEST_F(ActivityRowsTest, CallsOfOneManyOrNoActivitiesAreStored) {
  const Id single = Call(1, 1000);
  const Id wait = Call(2, 1100);
  const Id graph = Call(3, 1200);
  const Id mismatched = Call(4, 1300);
  Launch(2000, 1, single);
  Launch(2100, 3, graph);
  Launch(2200, 3, graph);
  Launch(2300, 5, mismatched);  // A call of another correlation id keeps its own.
  Launch(2400, 0, 0);
  const Id big = Call(int64_t{1} << 40, 1400);
  Launch(2500, int64_t{1} << 40, big);
  (void)wait;
  ASSERT_TRUE(saver_->Save(*run_));
  EXPECT_EQ(
      Rows("SELECT a.start_ns, a.correlation_id, c.start_ns AS call, c.end_ns - c.start_ns AS "
           "took, c.correlation_id AS of_call, c.thread_id, c.name FROM activity a "
           "LEFT JOIN api_call c USING (api_call_id) ORDER BY 1"),
      "2000 1 1000 5 1 11 cuLaunchKernel \n"
      "2100 3 1200 5 3 11 cuLaunchKernel \n"
      "2200 3 1200 5 3 11 cuLaunchKernel \n"
      "2300 5 1300 5 4 11 cuLaunchKernel \n"
      "2400 - - - - - - \n"
      "2500 1099511627776 1400 5 1099511627776 11 cuLaunchKernel \n");
  EXPECT_EQ(Rows("SELECT count(*) AS n, count(DISTINCT api_call_id) AS ids, sum(start_ns) AS s "
                 "FROM api_call"),
            "5 5 6000 \n");
}

TEST_F(ActivityRowsTest, NestedTimeBytesAndGraphNodesAreStored) {
  run_->AddActivity({.lane_id = lane_,
                     .config_id = config_,
                     .start_ns = -50,
                     .end_ns = 50,
                     .self_ns = 30,
                     .bytes = 0,
                     .graph_id = 3,
                     .graph_node_id = (int64_t{3} << 32) + 1});
  Launch(60, 0, 0);
  ASSERT_TRUE(saver_->Save(*run_));
  EXPECT_EQ(Rows("SELECT start_ns, end_ns, duration_ns, self_ns, bytes, graph_id, graph_node_id, "
                 "step, execution_id FROM activity"),
            "-50 50 100 30 0 3 12884901889 - - \n"
            "60 160 100 100 - - - - - \n");
}

// The correlator distinguishes the graphs of rows by their numbers; no component takes these
// numbers for nodes.
TEST_F(ActivityRowsTest, GraphRowHasAGraphIdAndNoNode) {
  const Id graph = run_->AddLaunchConfig({.kind = model::ActivityKind::kGraph, .name = "graph"});
  Launch(60, 0, 0);
  run_->AddActivity(
      {.lane_id = lane_, .config_id = graph, .start_ns = 200, .end_ns = 300, .graph_id = 5});
  EXPECT_EQ(run_->tables().activities.graph_node_of(0), 0);
  EXPECT_EQ(run_->tables().activities.graph_node_of(1), int64_t{5} << 32);
  ASSERT_TRUE(saver_->Save(*run_));
  EXPECT_EQ(Rows("SELECT start_ns, graph_id, graph_node_id FROM activity ORDER BY 1"),
            "60 - - \n"
            "200 5 - \n");
}

TEST_F(ActivityRowsTest, ActivityWithoutTimesKeepsItsCall) {
  Launch(2000, 1, Call(1, 1000));
  run_->AddActivity({.lane_id = lane_,
                     .config_id = config_,
                     .api_call_id = Call(2, 1100),
                     .start_ns = 2100,
                     .end_ns = 2100,
                     .correlation_id = 2,
                     .timing = model::Timing::kUnknown});
  run_->AddActivity({.lane_id = lane_,
                     .config_id = config_,
                     .api_call_id = Call(3, 1200),
                     .start_ns = 2200,
                     .end_ns = 2200,
                     .correlation_id = 3,
                     .timing = model::Timing::kStartOnly});
  Launch(2300, 4, Call(4, 1300));
  ASSERT_TRUE(saver_->Save(*run_));
  EXPECT_EQ(Rows("SELECT a.start_ns, a.end_ns, a.duration_ns, a.self_ns, c.start_ns AS call, "
                 "c.end_ns - c.start_ns AS took FROM activity a JOIN api_call c "
                 "USING (api_call_id) ORDER BY a.activity_id"),
            "2000 2100 100 100 1000 5 \n"
            "- - - - 1100 5 \n"
            "2200 - - - 1200 5 \n"
            "2300 2400 100 100 1300 5 \n");
  EXPECT_EQ(Rows("SELECT sum(self_ns) AS a, count(*) AS b FROM activity"), "200 4 \n");
  EXPECT_EQ(Rows("SELECT count(*) AS n, count(start) AS s, count(\"end\") AS e "
                 "FROM CUPTI_ACTIVITY_KIND_KERNEL"),
            "4 3 2 \n");
}

TEST_F(ActivityRowsTest, GapsInsideAndOutsideOfPackedRowsAreRead) {
  for (const int64_t start : {0, 2000, 9000, 20000}) Launch(start, 0, 0);
  model::AttributionTables attribution;
  attribution.labels.push_back({});
  attribution.label_of = {1, 1, 1, 1};
  attribution.execution_of = {0, 0, 0, 0};
  model::AnalysisTables analysis;
  analysis.step_of = {std::nullopt, 4, 4, -2};
  analysis.gaps = {
      {.device_id = 1,
       .start_ns = 100,
       .end_ns = 2000,
       .previous_activity_id = 1,
       .next_activity_id = 2},
      {.device_id = 1,
       .start_ns = 2100,
       .end_ns = 9000,
       .cause = model::GapCause::kInput,
       .previous_activity_id = 2,
       .next_activity_id = 3},
      // Seen from another side: out of order, with a host range, and one without neighbours.
      {.device_id = 1,
       .start_ns = 20100,
       .end_ns = 30000,
       .cause = model::GapCause::kHost,
       .previous_activity_id = 4,
       .next_activity_id = 1},
      {.device_id = 1,
       .start_ns = 9100,
       .end_ns = 20000,
       .cause = model::GapCause::kHost,
       .previous_activity_id = 3,
       .next_activity_id = 4,
       .host_range_id = 8},
      {.device_id = 1, .start_ns = 40000, .end_ns = 50000},
  };
  analysis.gap_evidence = {{.gap = 1, .text = "next() of 6.9 us"}};
  run_->AddResults(attribution);
  run_->AddResults(analysis);
  ASSERT_TRUE(saver_->Save(*run_, &attribution, &analysis));
  EXPECT_EQ(Rows("SELECT * FROM gap ORDER BY start_ns"),
            "1 100 2000 unknown 1 2 - - \n"
            "1 2100 9000 input 2 3 - next() of 6.9 us \n"
            "1 9100 20000 host 3 4 8 - \n"
            "1 20100 30000 host 4 1 - - \n"
            "1 40000 50000 unknown - - - - \n");
  EXPECT_EQ(Rows("SELECT activity_id, step FROM activity"), "1 - \n2 4 \n3 4 \n4 -2 \n");
}

TEST_F(ActivityRowsTest, AGapOfAnotherDeviceKeepsItsDevice) {
  const Id other = run_->AddDevice({.process_id = 1, .ordinal = 1});
  for (const int64_t start : {0, 2000}) Launch(start, 0, 0);
  model::AttributionTables attribution;
  attribution.labels.push_back({});
  attribution.label_of = {1, 1};
  attribution.execution_of = {0, 0};
  model::AnalysisTables analysis;
  // As wide as the one between the two launches, but not of their device.
  analysis.gaps = {{.device_id = other,
                    .start_ns = 100,
                    .end_ns = 2000,
                    .previous_activity_id = 1,
                    .next_activity_id = 2}};
  run_->AddResults(attribution);
  run_->AddResults(analysis);
  ASSERT_TRUE(saver_->Save(*run_, &attribution, &analysis));
  EXPECT_EQ(Rows("SELECT * FROM gap"), "2 100 2000 unknown 1 2 - - \n");
}

TEST_F(ActivityRowsTest, BuilderReturnsTheCallOfALaunch) {
  const Id call = Call(7, 1000);
  Launch(2000, 7, call);
  Launch(3000, 8, 0);
  const auto of_first = run_->CallOf(0);
  ASSERT_TRUE(of_first);
  EXPECT_EQ(of_first->start_ns, 1000);
  EXPECT_EQ(of_first->end_ns, 1005);
  EXPECT_EQ(of_first->thread_id, 11);
  EXPECT_FALSE(run_->CallOf(1));
  EXPECT_FALSE(run_->CallOf(2));
}

// store/activity_scan.h: the passes that read rows without the views' joins.
TEST_F(ActivityRowsTest, ScansEqualTheViews) {
  // The second ends before the first starts, so that gap's previous activity has a later row.
  for (const int64_t start : {5000, 0, 9000}) Launch(start, 0, 0);
  model::AttributionTables attribution;
  attribution.labels.push_back({});
  attribution.label_of = {1, 1, 1};
  attribution.execution_of = {0, 3, 0};
  model::AnalysisTables analysis;
  analysis.step_of = {7, std::nullopt, 8};
  analysis.gaps = {
      {.device_id = 1,
       .start_ns = 100,
       .end_ns = 5000,
       .cause = model::GapCause::kCopy,
       .previous_activity_id = 2,
       .next_activity_id = 1},
      {.device_id = 1,
       .start_ns = 5100,
       .end_ns = 9000,
       .cause = model::GapCause::kInput,
       .previous_activity_id = 1,
       .next_activity_id = 3},
      {.device_id = 1, .start_ns = 40000, .end_ns = 50000, .host_range_id = 8},
  };
  run_->AddResults(attribution);
  run_->AddResults(analysis);
  ASSERT_TRUE(saver_->Save(*run_, &attribution, &analysis));
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db);
  const auto id = [](int64_t value) { return value == 0 ? "-" : std::to_string(value); };
  std::multiset<std::string> gaps;
  ASSERT_TRUE(ScanGaps(*db, [&](const ScannedGap& gap) {
    gaps.insert(fmt::format("{} {} {} {} {} {} {}", gap.device_id, gap.start_ns, gap.end_ns,
                            Text(gap.cause), id(gap.previous_activity_id), id(gap.next_activity_id),
                            id(gap.host_range_id)));
  }));
  EXPECT_EQ(gaps, (std::multiset<std::string>{"1 100 5000 copy 2 1 -", "1 5100 9000 input 1 3 -",
                                              "1 40000 50000 unknown - - 8"}));
  EXPECT_EQ(Rows("SELECT * FROM gap ORDER BY start_ns"),
            "1 100 5000 copy 2 1 - - \n"
            "1 5100 9000 input 1 3 - - \n"
            "1 40000 50000 unknown - - 8 - \n");
  std::string activities;
  ASSERT_TRUE(ScanActivities(*db, [&](const ScannedActivity& activity) {
    activities += fmt::format("{} {} {} {} {} {} {}; ", activity.activity_id, activity.label_id,
                              activity.start_ns, activity.duration_ns, activity.self_ns,
                              activity.step ? std::to_string(*activity.step) : "-",
                              id(activity.execution_id));
    return activity.activity_id < 2;  // Stops after the second.
  }));
  EXPECT_EQ(activities, "1 1 5000 100 100 7 -; 2 1 0 100 100 - 3; ");
}

// A scan keeps the ends of all activities, as times since others nearby.
TEST_F(ActivityRowsTest, GapMayStartHoursFromItsNeighbours) {
  constexpr int64_t kHour = 3'600'000'000'000;
  const int64_t starts[] = {0, kHour, -kHour, kHour + 500};
  for (const int64_t start : starts) Launch(start, 0, 0);
  model::AttributionTables attribution;
  attribution.labels.push_back({});
  attribution.label_of = {1, 1, 1, 1};
  attribution.execution_of = {0, 0, 0, 0};
  model::AnalysisTables analysis;
  analysis.step_of.resize(4);
  const auto gap = [&](int64_t previous, int64_t next) {
    analysis.gaps.push_back({.device_id = 1,
                             .start_ns = starts[previous - 1] + 100,
                             .end_ns = starts[next - 1],
                             .previous_activity_id = previous,
                             .next_activity_id = next});
  };
  gap(3, 1);
  gap(1, 2);
  gap(2, 4);
  run_->AddResults(attribution);
  run_->AddResults(analysis);
  ASSERT_TRUE(saver_->Save(*run_, &attribution, &analysis));
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db);
  std::multiset<std::pair<int64_t, int64_t>> gaps;
  ASSERT_TRUE(ScanGaps(
      *db, [&](const ScannedGap& scanned) { gaps.emplace(scanned.start_ns, scanned.end_ns); }));
  EXPECT_EQ(gaps, (std::multiset<std::pair<int64_t, int64_t>>{
                      {-kHour + 100, 0}, {100, kHour}, {kHour + 100, kHour + 500}}));
}

TEST_F(ActivityRowsTest, GraphLaunchesAreFoundByCallOrCorrelation) {
  const auto node = [&](int64_t start, int64_t correlation, Id call, int64_t graph) {
    run_->AddActivity({.lane_id = lane_,
                       .config_id = config_,
                       .api_call_id = call,
                       .start_ns = start,
                       .end_ns = start + 100,
                       .self_ns = 100,
                       .correlation_id = correlation,
                       .graph_id = graph});
  };
  const Id first = Call(7, 1000), second = Call(8, 1100);
  node(2300, 7, first, 4);
  Launch(2250, 9, 0);  // No graph.
  node(2000, 7, first, 4);
  node(2600, 8, second, 4);
  node(3000, 11, 0, 5);
  node(3500, 11, 0, 5);
  node(4000, 12, 0, 5);
  ASSERT_TRUE(saver_->Save(*run_));
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db);
  const auto launches = ScanGraphLaunches(*db);
  ASSERT_TRUE(launches);
  std::string text;
  for (const ScannedGraphLaunch& launch : *launches) {
    text += fmt::format("{} {} {}-{} {}; ", launch.device_id, launch.graph_id, launch.start_ns,
                        launch.end_ns, launch.activities);
  }
  EXPECT_EQ(text, "1 4 2000-2400 2; 1 4 2600-2700 1; 1 5 3000-3600 2; 1 5 4000-4100 1; ");
}

TEST_F(ActivityRowsTest, UnreferencedCallsAreOnlyInTheNsightView) {
  const auto call = [](int64_t start, int64_t correlation, const char* name) {
    return model::ApiCall{.process_id = 1,
                          .thread_id = 5,
                          .name = name,
                          .correlation_id = correlation,
                          .start_ns = start,
                          .end_ns = start + 10};
  };
  run_->AddApiCall(call(100, 7, "cuStreamSynchronize"));
  run_->AddUnreferredCall(call(50, 8, "cuMemAlloc"));
  run_->AddUnreferredCall(call(150, 0, "cuStreamSynchronize"));
  ASSERT_TRUE(saver_->Save(*run_));
  EXPECT_EQ(Rows("SELECT start_ns, name FROM api_call"), "100 cuStreamSynchronize \n");
  EXPECT_EQ(Rows("SELECT r.start, r.\"end\", r.globalTid & 16777215, r.correlationId, s.value"
                 " FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId"
                 " ORDER BY 1"),
            "50 60 5 8 cuMemAlloc \n100 110 5 7 cuStreamSynchronize \n"
            "150 160 5 - cuStreamSynchronize \n");
}

TEST_F(ActivityRowsTest, NsightViewHasRangesAndNvtxRows) {
  run_->AddRange({.process_id = 1,
                  .thread_id = 5,
                  .domain = "mine",
                  .text = "a",
                  .start_ns = 3,
                  .end_ns = 9,
                  .domain_number = 4});
  run_->AddNvtxRow({.global_tid = 5, .event_type = 75, .text = "mine", .domain_number = 4});
  run_->AddNvtxRow({.global_tid = 5, .event_type = 34, .start_ns = 7, .text = "mark"});
  ASSERT_TRUE(saver_->Save(*run_));
  EXPECT_EQ(Rows("SELECT eventType, start, \"end\", text, domainId FROM NVTX_EVENTS ORDER BY 1"),
            "34 7 - mark - \n59 3 9 a 4 \n75 - - mine 4 \n");
  EXPECT_EQ(Rows("SELECT text FROM range"), "a \n");
}

TEST_F(ActivityRowsTest, RangesKeepTheirTextThreadAndDepth) {
  EXPECT_EQ(run_->AddRange({.process_id = 1,
                            .thread_id = 5,
                            .domain = "TSL",
                            .text = "a",
                            .start_ns = -3,
                            .end_ns = 9,
                            .depth = 0}),
            1);
  EXPECT_EQ(
      run_->AddRange(
          {.process_id = 1, .thread_id = 5, .text = "a", .start_ns = 1, .end_ns = 1, .depth = 3}),
      2);
  for (const std::string_view text : {"$train.py:12 step", "src/train.py(7): <module>"}) {
    run_->AddRange({.process_id = 1, .thread_id = 6, .text = text, .start_ns = 2, .end_ns = 3});
  }
  ASSERT_TRUE(saver_->Save(*run_));
  EXPECT_EQ(Rows("SELECT * FROM range WHERE thread_id = 5"),
            "1 1 5 TSL a -3 9 0 - - - \n2 1 5 - a 1 1 3 - - - \n");
  EXPECT_EQ(Rows("SELECT function, file, line FROM range WHERE thread_id = 6"),
            "step train.py 12 \n<module> src/train.py 7 \n");
}

}  // namespace
}  // namespace xlatrace::store
