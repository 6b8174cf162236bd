// SPDX-License-Identifier: Apache-2.0

// The whole path on real recordings: import, attribute, analyse, store; then every promise of the
// views is checked.

#include "tools/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/invariants.h"
#include "store/run_db.h"
#include "tests/shared_data.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Recordings() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const char* folder : {"xplane", "nsys", "own/jax-cpu"}) {
    for (fs::directory_iterator it(SharedData() / folder, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      const bool trace =
          name.find(".xplane.pb") != std::string::npos || it->path().extension() == ".sqlite";
      if (trace && name.rfind("CORRUPT", 0) != 0) paths.push_back(it->path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class PipelineTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("xlatrace_pipeline_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Output() const { return (folder_ / "run.db").string(); }

  fs::path folder_;
};

TEST_F(PipelineTest, EveryRecordingSatisfiesTheViewContract) {
  XLATRACE_SHARED_OR_SKIP(xplanes, "xplane");
  const std::vector<std::string> recordings = Recordings();
  ASSERT_GE(recordings.size(), 4u);
  for (const std::string& recording : recordings) {
    SCOPED_TRACE(recording);
    const auto outcome = BuildRun({.inputs = {recording}, .output = Output()});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_GT(outcome->activities, 0u);
    auto db = store::RunDb::Open(Output());
    ASSERT_TRUE(db) << db.error().message;
    const auto broken = store::CheckInvariants(*db);
    ASSERT_TRUE(broken) << broken.error().message;
    for (const std::string& sentence : *broken) ADD_FAILURE() << sentence;
  }
}

TEST_F(PipelineTest, SeveralFilesBecomeOneRunWithAProcessEach) {
  XLATRACE_SHARED_OR_SKIP(gemm, "xplane/jax08_gemm.xplane.pb");
  const fs::path elementwise = SharedData() / "xplane/jax08_elementwise.xplane.pb";
  const auto outcome =
      BuildRun({.inputs = {gemm.string(), elementwise.string()}, .output = Output()});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->processes, 2u);
  EXPECT_EQ(outcome->activities, 54u + 75u);  // Events on the Stream lines.
  auto db = store::RunDb::Open(Output());
  ASSERT_TRUE(db);
  const auto broken = store::CheckInvariants(*db);
  ASSERT_TRUE(broken);
  EXPECT_TRUE(broken->empty());
}

TEST_F(PipelineTest, BadFileIsNamedAndOthersAreUsed) {
  XLATRACE_SHARED_OR_SKIP(gemm, "xplane/jax08_gemm.xplane.pb");
  const auto outcome = BuildRun(
      {.inputs = {(folder_ / "none.xplane.pb").string(), gemm.string()}, .output = Output()});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->inputs_read, 1u);
  ASSERT_EQ(outcome->skipped.size(), 1u);
  EXPECT_NE(outcome->skipped[0].message.find("none.xplane.pb"), std::string::npos);
  auto db = store::RunDb::Open(Output());
  ASSERT_TRUE(db);
  const auto stats = db->Select("SELECT * FROM run_stat WHERE name = 'input_skipped'");
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->rows.size(), 1u);
}

TEST_F(PipelineTest, TextFileBesideRecordingsIsNotADataLoss) {
  XLATRACE_SHARED_OR_SKIP(gemm, "xplane/jax08_gemm.xplane.pb");
  const auto severity_of = [&](const std::string& content) -> std::string {
    const fs::path file = folder_ / "beside";
    std::ofstream(file, std::ios::binary) << content;
    const auto outcome =
        BuildRun({.inputs = {file.string(), gemm.string()}, .output = Output(), .replace = true});
    if (!outcome || outcome->skipped.size() != 1) return "not skipped";
    auto db = store::RunDb::Open(Output());
    const auto stats = db->Select("SELECT * FROM run_stat WHERE name = 'input_skipped'");
    return stats && stats->rows.size() == 1 ? stats->Text(0, "severity") : std::string();
  };
  EXPECT_EQ(severity_of("# Sources\n\nA run of 4 H100s, \xC2\xB5s and all.\n"), "notice");
  EXPECT_EQ(severity_of(std::string(4095, 'a') + "\xC2\xB5 of a character that the head cuts"),
            "notice");
  // A file that may have been a recording.
  EXPECT_EQ(severity_of(std::string("\x0A\x05 cut\x00 off", 12)), "data_loss");
  EXPECT_EQ(severity_of("{\"steps\": [1, 2]}"), "data_loss");
  EXPECT_EQ(severity_of("<html>504 Gateway Timeout</html>"), "data_loss");
  EXPECT_EQ(severity_of("caf\xE9, and not UTF-8"), "data_loss");
  EXPECT_EQ(severity_of(""), "data_loss");
}

TEST_F(PipelineTest, NoFileIsLeftIfNoInputCanBeRead) {
  const auto outcome =
      BuildRun({.inputs = {(folder_ / "none.xplane.pb").string()}, .output = Output()});
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace xlatrace::tools
