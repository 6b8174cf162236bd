// SPDX-License-Identifier: Apache-2.0
#include "base/abandoned_files.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/file.h"

namespace xlatrace {
namespace {

namespace fs = std::filesystem;

// The id of a process that ended just now.
std::string DeadProcess() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return std::to_string(child);
}

class AbandonedFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("xlatrace_abandoned_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Make(const std::string& name) const { std::ofstream(Path(name)) << "bytes"; }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  fs::path folder_;
};

TEST_F(AbandonedFiles, FilesOfDeadProcessesAreRemoved) {
  const std::string dead = DeadProcess();
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) Make("k.db.tmp." + dead + suffix);
  Make("k.db");
  RemoveAbandonedFiles(Path("k.db"));
  EXPECT_EQ(Names(), std::set<std::string>({"k.db"}));
}

TEST_F(AbandonedFiles, FilesOfLiveProcessesAndOtherNamesStay) {
  const std::string dead = DeadProcess();
  const std::set<std::string> names = {"k.db.tmp." + std::to_string(getpid()),
                                       "k.db.tmp.1",
                                       "k.db.tmp." + dead + ".old",
                                       "k.db.tmp." + dead + "x",
                                       "k.db.tmp.0" + dead,
                                       "k.db.tmp.",
                                       "k.db.tmp.-" + dead,
                                       "other.tmp." + dead,
                                       "k.db.temporary." + dead,
                                       "k.db.tmp.99999999999999999999",
                                       "xk.db.tmp." + dead};
  for (const std::string& name : names) Make(name);
  RemoveAbandonedFiles(Path("k.db"));
  EXPECT_EQ(Names(), names);
}

TEST_F(AbandonedFiles, LinksAndFoldersStay) {
  const std::string name = "k.db.tmp." + DeadProcess();
  Make("precious");
  fs::create_symlink(Path("precious"), Path(name));
  RemoveAbandonedFiles(Path("k.db"));
  EXPECT_EQ(Names(), std::set<std::string>({"precious", name}));
  fs::remove(Path(name));
  fs::create_directory(Path(name));
  RemoveAbandonedFiles(Path("k.db"));
  EXPECT_EQ(Names(), std::set<std::string>({"precious", name}));
}

TEST_F(AbandonedFiles, NextWriterRemovesThem) {
  Make("page.html.tmp." + DeadProcess());
  auto file = AtomicFile::Create(Path("page.html"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Append("new"));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Names(), std::set<std::string>({"page.html"}));
}

}  // namespace
}  // namespace xlatrace
