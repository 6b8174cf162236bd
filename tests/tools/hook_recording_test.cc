// SPDX-License-Identifier: Apache-2.0

// Reading and removing a folder that the Python hook wrote, and the errors of empty recordings.

#include "tools/hook_recording.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class HookRecordingTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("xlatrace_hook_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void WriteProcess(const std::string& name, const std::string& status) {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "status.json") << status;
  }

  fs::path folder_;
};

TEST_F(HookRecordingTest, OnlyExistingProfilesAreListed) {
  WriteProcess("7-1", R"({"pid": 7, "framework": "jax", "argv": ["train.py", "--token", "***"],
    "stopped": true, "sessions": [{"xplane": "session-1.xplane.pb"}, {"xplane": "gone.pb"}]})");
  std::ofstream(folder_ / "7-1" / "session-1.xplane.pb") << "x";
  const auto recording = ReadHookRecording(folder_.string());
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->processes.size(), 1u);
  EXPECT_EQ(recording->processes[0].command, "train.py --token ***");
  ASSERT_EQ(recording->processes[0].profiles.size(), 1u);
}

TEST_F(HookRecordingTest, AStatusCannotNameFilesElsewhere) {
  WriteProcess("7-1", R"({"sessions": [{"xplane": "../outside.pb"}, {"xplane": "link.pb"},
    {"xplane": "/etc/hostname"}, {"xplane": ".."}, {"xplane": 5}]})");
  std::ofstream(folder_ / "outside.pb") << "x";
  fs::create_symlink(folder_ / "outside.pb", folder_ / "7-1" / "link.pb");
  const auto recording = ReadHookRecording(folder_.string());
  ASSERT_TRUE(recording);
  EXPECT_TRUE(recording->processes[0].profiles.empty());
}

TEST_F(HookRecordingTest, ADamagedStatusIsCountedNotFatal) {
  WriteProcess("7-1", "{\"pid\": 7, ");
  WriteProcess("8-1", "{\"pid\": 8}");
  const auto recording = ReadHookRecording(folder_.string());
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->processes.size(), 1u);
  EXPECT_EQ(recording->damaged.size(), 1u);
}

TEST_F(HookRecordingTest, RemovingTakesOwnFilesOnly) {
  WriteProcess("7-1", R"({"sessions": [{"xplane": "session-1.xplane.pb"}]})");
  std::ofstream(folder_ / "7-1" / "session-1.xplane.pb") << "x";
  WriteProcess("8-1", "{}");
  std::ofstream(folder_ / "8-1" / "notes.txt") << "the user's";
  const auto recording = ReadHookRecording(folder_.string());
  ASSERT_TRUE(recording);
  EXPECT_FALSE(RemoveHookRecording(folder_.string(), *recording));
  EXPECT_FALSE(fs::exists(folder_ / "7-1"));
  EXPECT_TRUE(fs::exists(folder_ / "8-1" / "notes.txt"));
}

TEST_F(HookRecordingTest, RemovedRecordingLeavesNoFile) {
  WriteProcess("7-1", "{}");
  const auto recording = ReadHookRecording(folder_.string());
  ASSERT_TRUE(recording);
  EXPECT_TRUE(RemoveHookRecording(folder_.string(), *recording));
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(HookRecordingTest, EmptyRecordingsAreErrorsWithTheCause) {
  const auto message = [&] {
    const auto recording = ReadHookRecording(folder_.string());
    return NothingRecorded(*recording).message;
  };
  std::string messages = message();
  WriteProcess("7-1", R"({"pid": 7, "framework": "jax", "started": true})");
  EXPECT_THAT(message(), HasSubstr("7"));
  messages += "\n" + message();
  WriteProcess("7-1", R"({"framework": "jax", "start_error": "Profile has already been started"})");
  EXPECT_THAT(message(), HasSubstr("Profile has already been started"));
  messages += "\n" + message();
  WriteProcess("7-1", R"({"framework": "jax", "stopped": true, "stop_error": "No space left"})");
  EXPECT_THAT(message(), HasSubstr("No space left"));
  messages += "\n" + message();
  EXPECT_GOLDEN_TEXT(messages);
}

}  // namespace
}  // namespace xlatrace::tools
