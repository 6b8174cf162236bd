// SPDX-License-Identifier: Apache-2.0

// Where a process records: one folder per job, also if many processes start at once.

#include "collector/recording_place.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::collector {
namespace {

namespace fs = std::filesystem;

class PlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/xlatrace_place_XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
    setenv("XLATRACE_REC", (folder_ + "/run.rec").c_str(), 1);
    setenv("XLATRACE_JOB", "job-1", 1);
    unsetenv("XLATRACE_DIR");
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string JobOf(const std::string& folder) {
    std::ifstream file(folder + "/job");
    std::string token;
    std::getline(file, token);
    return token;
  }

  // Recording files of the job in run.rec.
  int Files(const std::string& token) const {
    int count = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_ + "/run.rec", error)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind(token + ".", 0) == 0) ++count;
    }
    return count;
  }

  std::string folder_;
};

TEST_F(PlaceTest, ProcessesThatEndedAreCountedTogether) {
  const RecordingPlace place = OpenRecordingPlace(1);
  int processes = -1;
  uint64_t launches = 99;
  EndedProcesses(place.folder, &processes, &launches);
  EXPECT_EQ(processes, 0);
  EXPECT_EQ(launches, 0u);
  AppendEndLine(place.folder, 1203441, true);
  AppendEndLine(place.folder, 9, true);
  AppendEndLine(place.folder, 1, false);  // The second came back from an exec that failed.
  EndedProcesses(place.folder, &processes, &launches);
  EXPECT_EQ(processes, 2);
  EXPECT_EQ(launches, 1203451u);
  EXPECT_EQ(JobOf(place.folder), "job-1");  // The claim stays its first line.
  close(place.fd);
}

TEST_F(PlaceTest, FirstProcessCreatesTheFolderOfItsJob) {
  const RecordingPlace place = OpenRecordingPlace(0x1234);
  ASSERT_GE(place.fd, 0);
  EXPECT_EQ(place.folder, folder_ + "/run.rec");
  EXPECT_TRUE(place.claimed);
  EXPECT_EQ(place.note, "");
  EXPECT_EQ(JobOf(place.folder), "job-1");
  EXPECT_EQ(fs::status(place.folder).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::exists(place.folder + "/" + place.identity + ".rec"));
  EXPECT_NE(place.identity.find("." + std::to_string(getpid()) + ".1234"), std::string::npos);
  close(place.fd);
}

// The program made the folder, or another job's process did and lost it.
TEST_F(PlaceTest, OnlyTheFirstProcessUsesAnExistingFolder) {
  fs::create_directory(folder_ + "/run.rec");
  const RecordingPlace first = OpenRecordingPlace(1);
  EXPECT_EQ(first.folder, folder_ + "/run.rec");
  EXPECT_TRUE(first.claimed);
  const RecordingPlace second = OpenRecordingPlace(2);
  EXPECT_EQ(second.folder, first.folder);
  EXPECT_FALSE(second.claimed);
  close(first.fd);
  close(second.fd);
}

TEST_F(PlaceTest, FolderOfAnotherLiveJobIsNotChanged) {
  const RecordingPlace first = OpenRecordingPlace(1);
  setenv("XLATRACE_JOB", "job-2", 1);
  const RecordingPlace second = OpenRecordingPlace(2);
  EXPECT_EQ(second.folder, folder_ + "/run.2.rec");
  EXPECT_EQ(JobOf(first.folder), "job-1");
  EXPECT_EQ(JobOf(second.folder), "job-2");
  close(first.fd);
  close(second.fd);
}

TEST_F(PlaceTest, AFinishedRecordingIsMovedAsideWhole) {
  const RecordingPlace first = OpenRecordingPlace(1);
  close(first.fd);
  setenv("XLATRACE_JOB", "job-2", 1);
  const RecordingPlace second = OpenRecordingPlace(2);
  EXPECT_EQ(second.folder, folder_ + "/run.rec");
  EXPECT_EQ(JobOf(folder_ + "/run.rec"), "job-2");
  EXPECT_EQ(JobOf(folder_ + "/run.old.rec"), "job-1");
  EXPECT_TRUE(fs::exists(folder_ + "/run.old.rec/" + first.identity + ".rec"));
  close(second.fd);
  setenv("XLATRACE_JOB", "job-3", 1);
  const RecordingPlace third = OpenRecordingPlace(3);
  EXPECT_EQ(JobOf(folder_ + "/run.old.rec"), "job-1");
  EXPECT_EQ(JobOf(folder_ + "/run.old.2.rec"), "job-2");
  close(third.fd);
}

TEST_F(PlaceTest, FolderOfAnotherUserIsNotChanged) {
  fs::create_directory(folder_ + "/elsewhere");
  fs::create_directory_symlink(folder_ + "/elsewhere", folder_ + "/run.rec");
  const RecordingPlace place = OpenRecordingPlace(1);
  EXPECT_EQ(place.folder, folder_ + "/run.2.rec");
  EXPECT_TRUE(fs::is_empty(folder_ + "/elsewhere"));
  close(place.fd);
}

TEST_F(PlaceTest, UnwritableFolderIsReplacedByTheFallbackWithANote) {
  // A file where the folder's parent should be: fails for root as well.
  std::ofstream(folder_ + "/file").put('x');
  setenv("XLATRACE_REC", (folder_ + "/file/run.rec").c_str(), 1);
  setenv("XLATRACE_DIR", folder_.c_str(), 1);
  const RecordingPlace place = OpenRecordingPlace(1);
  EXPECT_EQ(place.folder, folder_ + "/run.rec");
  EXPECT_NE(place.note.find(folder_ + "/file/run.rec"), std::string::npos);
  EXPECT_GOLDEN_TEXT(
      std::string(place.note).replace(place.note.find(folder_), folder_.size(), "<tmp>"));
  close(place.fd);
}

TEST_F(PlaceTest, ProcessesThatStartTogetherUseOneFolder) {
  // An older finished recording is in the way, so that they also race for moving it.
  {
    setenv("XLATRACE_JOB", "job-0", 1);
    const RecordingPlace old = OpenRecordingPlace(1);
    close(old.fd);
    setenv("XLATRACE_JOB", "job-1", 1);
  }
  constexpr int kProcesses = 24;
  int start[2];
  ASSERT_EQ(pipe(start), 0);
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(start[1]);
      close(hold[1]);
      char byte = 0;
      if (read(start[0], &byte, 1) < 0) _exit(3);  // Ends when the parent closes it.
      const RecordingPlace place = OpenRecordingPlace(static_cast<unsigned long long>(i));
      const bool good = place.fd >= 0 && place.folder == folder_ + "/run.rec";
      if (read(hold[0], &byte, 1) < 0) _exit(3);  // Stays live until all are done.
      _exit(good ? 0 : 1);
    }
  }
  close(start[0]);
  close(start[1]);
  // All files are there, or a child has ended early; then the rest may go.
  for (int tries = 0; tries < 60000 && Files("job-1") < kProcesses; ++tries) {
    usleep(5000);
  }
  close(hold[0]);
  close(hold[1]);
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Files("job-1"), kProcesses);
  EXPECT_EQ(JobOf(folder_ + "/run.old.rec"), "job-0");
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, (std::set<std::string>{"run.rec", "run.old.rec"}));
}

}  // namespace
}  // namespace xlatrace::collector
