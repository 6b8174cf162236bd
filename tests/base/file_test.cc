// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("xlatrace_file_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Path(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(FileTest, WrittenBytesAreReadBack) {
  std::string bytes(1'000'000, 'x');
  bytes += std::string("\0end", 4);
  {
    auto file = AtomicFile::Create(Path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Append(bytes));
    EXPECT_FALSE(Exists(Path("a"))) << "visible before Commit";
    ASSERT_TRUE(file->Commit());
  }
  const auto read = ReadFile(Path("a"));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, bytes);
  EXPECT_EQ(*ReadFileHead(Path("a"), 3), "xxx");
}

TEST_F(FileTest, OldFileStaysWithoutCommit) {
  std::ofstream(Path("a")) << "old";
  {
    auto file = AtomicFile::Create(Path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Append("new"));
  }
  EXPECT_EQ(*ReadFile(Path("a")), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

// Where others may write, too, they can guess the temporary file's name.
TEST_F(FileTest, ExistingFileUnderTheTemporaryNameIsNotWritten) {
  const std::string temporary = Path("a") + ".tmp." + std::to_string(getpid());
  const auto write = [&] {
    auto file = AtomicFile::Create(Path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Append("new"));
    ASSERT_TRUE(file->Commit());
    EXPECT_EQ(*ReadFile(Path("a")), "new");
    EXPECT_FALSE(Exists(temporary));
  };
  std::ofstream(Path("precious")) << "precious";
  fs::create_hard_link(Path("precious"), temporary);
  write();
  fs::create_symlink(Path("precious"), temporary);
  write();
  ASSERT_EQ(mkfifo(temporary.c_str(), 0600), 0);
  write();
  EXPECT_EQ(*ReadFile(Path("precious")), "precious");
  fs::create_directory(temporary);
  EXPECT_FALSE(AtomicFile::Create(Path("a")));
}

TEST_F(FileTest, FifoIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  const auto read = ReadFile(Path("fifo"));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find(Path("fifo")), std::string::npos);
  EXPECT_GOLDEN_TEXT(read.error().message);
}

TEST_F(FileTest, ErrorsHaveThePathAndTheReason) {
  const auto missing = ReadFile(Path("none"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find(Path("none")), std::string::npos);
  EXPECT_NE(missing.error().message.find(std::strerror(ENOENT)), std::string::npos);
  const auto folder = ReadFile(folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find(folder_.string()), std::string::npos);
  EXPECT_GOLDEN_TEXT(folder.error().message);
  std::ofstream(Path("big")) << "12345";
  EXPECT_NE(ReadFile(Path("big"), 4).error().message.find("5 bytes"), std::string::npos);
}

TEST_F(FileTest, OutputsAreCheckedBeforeTheWork) {
  std::ofstream(Path("there")) << "x";
  EXPECT_EQ(CheckOutputPath(Path("there"), false).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(CheckOutputPath(Path("there"), true));
  EXPECT_TRUE(CheckOutputPath(Path("new"), false));
  EXPECT_FALSE(CheckOutputPath(folder_.string(), true));
  EXPECT_FALSE(CheckOutputPath(Path("no/such/folder.db"), false));
  EXPECT_FALSE(CheckOutputPath("", false));
}

}  // namespace
}  // namespace xlatrace
