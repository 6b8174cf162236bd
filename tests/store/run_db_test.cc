// SPDX-License-Identifier: Apache-2.0

// A run written through the sink comes back through the public views.

#include "store/run_db.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "store/run_saver.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::store {
namespace {

class RunDbTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("xlatrace_store_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "run.db").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // One GPU, two kernels (the second one of 30 ns with 10 ns nested), one copy; kernel 1 labelled.
  void WriteSmallRun() {
    auto saver = RunSaver::Create(path_);
    ASSERT_TRUE(saver) << saver.error().message;
    RunBuilder run(saver->beside());
    run.SetStart(1'700'000'000'000'000'000);
    run.SetRunInfo("source", "test");
    const model::Id process = run.AddProcess({.host = "h", .pid = 7});
    const model::Id device = run.AddDevice({.process_id = process, .name = "GPU"});
    const model::Id lane = run.AddLane({.device_id = device, .stream_id = 13});
    model::LaunchConfig config;
    config.symbol = config.name = "fusion_9";
    config.grid[0] = 4;
    const model::Id kernel = run.AddLaunchConfig(config);
    EXPECT_EQ(run.AddLaunchConfig(config), kernel);
    model::LaunchConfig copy{.kind = model::ActivityKind::kMemcpy};
    copy.copy_kind = model::CopyKind::kDeviceToHost;
    const model::Id copy_id = run.AddLaunchConfig(copy);
    const model::Id module = run.AddModule(
        {.process_id = process, .name = "jit_f", .program_id = 5, .bytes = "not really HLO"});
    run.AddActivity({.lane_id = lane, .config_id = kernel, .start_ns = -10, .end_ns = 20});
    run.AddActivity(
        {.lane_id = lane, .config_id = kernel, .start_ns = 30, .end_ns = 60, .self_ns = 20});
    run.AddActivity(
        {.lane_id = lane, .config_id = copy_id, .start_ns = 70, .end_ns = 75, .bytes = 512});
    run.AddRunStat({.name = "dropped", .severity = model::Severity::kDataLoss, .value = 2});
    run.AddRunStat({.name = "dropped", .severity = model::Severity::kDataLoss, .value = 3});

    model::AttributionTables attribution;
    attribution.modules.resize(1);
    model::InstructionRow instruction;
    instruction.module_id = module;
    instruction.name = "fusion.9";
    instruction.op_kind = model::OpKind::kGemm;
    instruction.phase = model::Phase::kBackward;
    attribution.instructions.push_back(instruction);
    attribution.labels.push_back({.module_id = module,
                                  .instruction_id = 1,
                                  .evidence = model::Evidence::kAnnotation,
                                  .confidence = model::Confidence::kExact});
    attribution.labels.push_back({.reason = model::Reason::kTransfer});
    attribution.label_of = {1, 1, 2};
    attribution.execution_of = {0, 0, 0};
    model::AnalysisTables analysis;
    analysis.step_of = {0, 1, std::nullopt};
    analysis.op_times.push_back(
        {.module_id = module, .instruction_id = 1, .occurrences = 2, .self_ns = 50});
    run.AddResults(attribution);
    run.AddResults(analysis);
    const Status finished = saver->Save(run, &attribution, &analysis);
    ASSERT_TRUE(finished) << finished.error().message;
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(RunDbTest, EveryViewCanBeQueried) {
  WriteSmallRun();
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db) << db.error().message;
  auto views = db->Select("SELECT name FROM sqlite_master WHERE type = 'view'");
  ASSERT_TRUE(views);
  EXPECT_GE(views->rows.size(), 30u);
  for (size_t i = 0; i < views->rows.size(); ++i) {
    const std::string sql = "SELECT * FROM \"" + views->Text(i, "name") + "\"";
    const auto rows = db->Select(sql);
    EXPECT_TRUE(rows) << sql << ": " << (rows ? "" : rows.error().message);
  }
}

TEST_F(RunDbTest, ActivitiesComeBackWithTheirLabels) {
  WriteSmallRun();
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db) << db.error().message;
  auto rows = db->Select("SELECT * FROM activity ORDER BY activity_id");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->rows.size(), 3u);
  EXPECT_EQ(rows->Int(0, "start_ns"), -10);
  EXPECT_EQ(rows->Int(0, "self_ns"), 30);
  EXPECT_EQ(rows->Int(1, "self_ns"), 20);
  EXPECT_EQ(rows->Text(0, "instruction"), "fusion.9");
  EXPECT_EQ(rows->Text(0, "op_kind"), "gemm");
  EXPECT_EQ(rows->Text(0, "phase"), "backward");
  EXPECT_EQ(rows->Text(0, "confidence"), "exact");
  EXPECT_TRUE(rows->IsNull(0, "unattributed_reason"));
  EXPECT_TRUE(rows->IsNull(0, "op_name"));
  EXPECT_TRUE(rows->IsNull(2, "instruction"));
  EXPECT_TRUE(rows->IsNull(2, "evidence"));
  EXPECT_EQ(rows->Text(2, "confidence"), "none");
  EXPECT_EQ(rows->Text(2, "unattributed_reason"), "transfer");
  EXPECT_EQ(rows->Text(2, "op_kind"), "copy");
  EXPECT_EQ(rows->Text(2, "copy_kind"), "device_to_host");
  EXPECT_EQ(rows->Int(2, "bytes"), 512);
  EXPECT_TRUE(rows->IsNull(2, "step"));
  EXPECT_EQ(rows->Int(1, "step"), 1);
  auto launches = db->Select("SELECT launch_id, grid_x, grid_y FROM launch");
  ASSERT_TRUE(launches);
  ASSERT_EQ(launches->rows.size(), 2u);
  EXPECT_EQ(launches->Int(0, "grid_x"), 4);
  EXPECT_TRUE(launches->IsNull(0, "grid_y"));
}

// A truncated source states that all records after its last activity are missing. A process without
// activity has no such time.
TEST_F(RunDbTest, ProcessCutBeforeItsFirstActivityHasNoEndTime) {
  auto saver = RunSaver::Create(path_);
  ASSERT_TRUE(saver) << saver.error().message;
  RunBuilder run(saver->beside());
  run.SetStart(1'700'000'000'000'000'000);
  const model::Id process = run.AddProcess({.host = "h", .pid = 7});
  run.AddDevice({.process_id = process, .name = "GPU"});
  run.SetEnding({.process_id = process, .unrecorded_from_ns = INT64_MAX});
  const model::AttributionTables attribution;
  const model::AnalysisTables analysis;
  const Status finished = saver->Save(run, &attribution, &analysis);
  ASSERT_TRUE(finished) << finished.error().message;
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db) << db.error().message;
  const auto rows = db->Select("SELECT unrecorded_from_ns FROM process");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->rows.size(), 1u);
  EXPECT_TRUE(rows->IsNull(0, "unrecorded_from_ns"));
}

// Three processes that were cut off, with one device each. The missing records of each process
// begin after its own last work.
TEST_F(RunDbTest, ProcessesThatWereCutOffEndWithTheirOwnWork) {
  auto saver = RunSaver::Create(path_);
  ASSERT_TRUE(saver) << saver.error().message;
  RunBuilder run(saver->beside());
  run.SetStart(1'700'000'000'000'000'000);
  model::LaunchConfig config;
  config.symbol = config.name = "k";
  const model::Id kernel = run.AddLaunchConfig(config);
  const std::vector<int64_t> ends = {40, 90, 70};
  for (const int64_t end : ends) {
    const model::Id process = run.AddProcess({.host = "h", .pid = end});
    const model::Id device = run.AddDevice({.process_id = process, .name = "GPU"});
    const model::Id lane = run.AddLane({.device_id = device, .stream_id = 13});
    run.AddActivity({.lane_id = lane, .config_id = kernel, .start_ns = 0, .end_ns = 10});
    run.AddActivity({.lane_id = lane, .config_id = kernel, .start_ns = 30, .end_ns = end});
    run.SetEnding({.process_id = process, .unrecorded_from_ns = INT64_MAX});
  }
  const model::AttributionTables attribution;
  const model::AnalysisTables analysis;
  const Status finished = saver->Save(run, &attribution, &analysis);
  ASSERT_TRUE(finished) << finished.error().message;
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db) << db.error().message;
  const auto rows = db->Select(
      "SELECT p.unrecorded_from_ns, w.end_ns, w.why_ended FROM process p JOIN window w USING "
      "(process_id)"
      " ORDER BY process_id");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->rows.size(), ends.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(rows->Int(i, "unrecorded_from_ns"), ends[i]);
    EXPECT_EQ(rows->Int(i, "end_ns"), ends[i]);
    EXPECT_EQ(rows->Text(i, "why_ended"), "loss");
  }
}

TEST_F(RunDbTest, RunStatsOfOneNameAreSummed) {
  WriteSmallRun();
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db);
  auto stats = db->Select("SELECT * FROM run_stat");
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->rows.size(), 1u);
  EXPECT_EQ(stats->Int(0, "value"), 5);
  EXPECT_EQ(stats->Text(0, "severity"), "data_loss");
}

TEST_F(RunDbTest, ModuleBytesSurviveCompression) {
  WriteSmallRun();
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db);
  auto module = db->ReadModule(1);
  ASSERT_TRUE(module);
  EXPECT_EQ(module->bytes, "not really HLO");
  EXPECT_FALSE(db->ReadModule(2));
}

TEST_F(RunDbTest, AbandonedSaverLeavesNoFile) {
  { ASSERT_TRUE(RunSaver::Create(path_)); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// Where others may write, too, they can guess the temporary file's name.
TEST_F(RunDbTest, ExistingFileUnderTheTemporaryNameIsNotWritten) {
  const std::string temporary = path_ + ".tmp." + std::to_string(getpid());
  const std::string precious = (std::filesystem::path(folder_) / "precious").string();
  std::ofstream(precious) << "precious";
  std::filesystem::create_hard_link(precious, temporary);
  WriteSmallRun();
  std::filesystem::create_symlink(precious, temporary);
  WriteSmallRun();
  EXPECT_TRUE(RunDb::Open(path_));
  std::string text;
  std::ifstream(precious) >> text;
  EXPECT_EQ(text, "precious");
}

// Two imports to one output that did not exist when they started.
TEST_F(RunDbTest, FirstOfTwoSaversWithoutReplaceSucceeds) {
  auto first = RunSaver::Create(path_, /*replace=*/false);
  ASSERT_TRUE(first);
  std::ofstream(path_) << "of the other one";
  RunBuilder run(first->beside());
  const Status finished = first->Save(run);
  ASSERT_FALSE(finished);
  EXPECT_NE(finished.error().message.find(path_), std::string::npos);
  EXPECT_EQ(finished.error().code, ErrorCode::kUsage);
  EXPECT_GOLDEN_TEXT(finished.error().message + "\n" + finished.error().hint);
  std::string text;
  std::getline(std::ifstream(path_), text);
  EXPECT_EQ(text, "of the other one");
  { const RunSaver gone = std::move(*first); }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

// A hundred activities of a year each: every activity is sound, their sum overflows.
TEST_F(RunDbTest, SumsBeyondSixtyFourBitsAreRefused) {
  for (const bool times : {true, false}) {
    auto saver = RunSaver::Create(path_);
    ASSERT_TRUE(saver);
    RunBuilder run(saver->beside());
    const model::Id process = run.AddProcess({.host = "h", .pid = 7});
    const model::Id device = run.AddDevice({.process_id = process, .name = "GPU"});
    const model::Id lane = run.AddLane({.device_id = device, .stream_id = 13});
    model::LaunchConfig config;
    config.symbol = config.name = "k";
    const model::Id kernel = run.AddLaunchConfig(config);
    for (int i = 0; i < 100; ++i) {
      run.AddActivity({.lane_id = lane,
                       .config_id = kernel,
                       .start_ns = i,
                       .end_ns = times ? 31'536'000'000'000'000 : i + 10,
                       .bytes = times ? 0 : int64_t{1} << 60});
    }
    const Status finished = saver->Save(run);
    ASSERT_FALSE(finished);
    EXPECT_GOLDEN_TEXT(finished.error().message + "\n" + finished.error().hint);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RunDbTest, FileOfAnotherVersionIsRefused) {
  const std::string current = std::to_string(kSchemaVersion);
  for (const char* version : {"99", "1", "0"}) {
    std::filesystem::remove(path_);
    WriteSmallRun();
    auto database = Database::OpenOurs(path_);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->Execute(std::string("PRAGMA user_version = ") + version));
    const auto db = RunDb::Open(path_);
    ASSERT_FALSE(db);
    EXPECT_NE(db.error().message.find(std::string("schema ") + version), std::string::npos)
        << db.error().message;
    EXPECT_NE(db.error().hint.find("xlatrace import"), std::string::npos) << db.error().hint;
    std::string message = db.error().message;
    const size_t at = message.rfind(" " + current);
    ASSERT_NE(at, std::string::npos) << message;
    message.replace(at + 1, current.size(), "N");  // Golden text is the same for all versions.
    EXPECT_GOLDEN_TEXT(message + "\n" + db.error().hint);
  }
}

TEST_F(RunDbTest, ForeignViewIsRefused) {
  WriteSmallRun();
  auto database = Database::OpenOurs(path_);
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->Execute("DROP VIEW finding; CREATE VIEW finding AS SELECT 1"));
  const auto db = RunDb::Open(path_);
  ASSERT_FALSE(db);
  EXPECT_GOLDEN_TEXT(db.error().message + "\n" + db.error().hint);
}

TEST_F(RunDbTest, QueriesCannotWriteOrAttach) {
  WriteSmallRun();
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db);
  EXPECT_FALSE(db->Select("DELETE FROM x_activity"));
  EXPECT_FALSE(db->Select("ATTACH '" + path_ + "' AS other"));
  EXPECT_FALSE(db->Select("PRAGMA writable_schema = 1"));
  EXPECT_FALSE(db->Select("SELECT 1; SELECT 2"));
  EXPECT_TRUE(
      db->Select("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                 "WHERE i < 5) SELECT sum(i) FROM n"));
}

TEST_F(RunDbTest, EndlessQueryIsStopped) {
  WriteSmallRun();
  auto db = RunDb::Open(path_);
  ASSERT_TRUE(db);
  db->SetTimeLimit(50);
  const auto rows = db->Select(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n");
  ASSERT_FALSE(rows);
  EXPECT_GOLDEN_TEXT(rows.error().message + "\n" + rows.error().hint);
}

TEST_F(RunDbTest, OtherFilesAreRefused) {
  const auto message = [&](const std::string& path) {
    const auto db = RunDb::Open(path);
    return db ? std::string("opened") : db.error().message;
  };
  std::string messages = message(folder_.string());
  const std::string missing = (folder_ / "none.db").string();
  EXPECT_NE(message(missing).find(missing), std::string::npos);
  EXPECT_NE(message(missing).find(std::strerror(ENOENT)), std::string::npos);
  std::ofstream(folder_ / "empty.db");
  messages += "\n" + message((folder_ / "empty.db").string());
  std::ofstream(folder_ / "text.db") << "hello, world";
  messages += "\n" + message((folder_ / "text.db").string());
  {
    auto other = Database::Create((folder_ / "other.db").string());
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->Execute("CREATE TABLE t(x)"));
  }
  messages += "\n" + message((folder_ / "other.db").string());
  EXPECT_GOLDEN_TEXT(messages);
}

}  // namespace
}  // namespace xlatrace::store
