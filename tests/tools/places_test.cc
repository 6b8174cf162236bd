// SPDX-License-Identifier: Apache-2.0

#include "tools/places.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

class PreloadNameTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("xlatrace_places_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "my programs");
    library_ = (folder_ / "my programs" / "libxlatrace.so").string();
    std::ofstream(library_) << "library";
    temporary_ = folder_ / "temporary";
    fs::create_directory(temporary_);
    private_ = temporary_ / ("xlatrace-" + std::to_string(getuid()));
    const char* before = std::getenv("TMPDIR");
    before_ = before == nullptr ? "" : before;
    setenv("TMPDIR", temporary_.c_str(), 1);
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before_.c_str(), 1);
    }
    fs::remove_all(folder_);
  }

  bool IsRefused() const { return !PreloadName(library_); }

  fs::path folder_, temporary_, private_;
  std::string library_, before_;
};

TEST_F(PreloadNameTest, PathWithoutBlankIsItsOwnName) {
  const std::string plain = (folder_ / "libxlatrace.so").string();
  EXPECT_EQ(PreloadName(plain).value(), plain);
  EXPECT_FALSE(fs::exists(private_));
}

TEST_F(PreloadNameTest, PathWithBlankOrColonGetsAPrivateLink) {
  for (const char* odd : {"my programs", "a:b", "tab\there"}) {
    const fs::path library = folder_ / odd / "libxlatrace.so";
    fs::create_directories(library.parent_path());
    std::ofstream(library.string()) << odd;
    const auto name = PreloadName(library.string());
    ASSERT_TRUE(name) << name.error().message;
    EXPECT_EQ(name->find_first_of(" :\t\n"), std::string::npos) << *name;
    EXPECT_EQ(fs::path(*name).filename(), "libxlatrace.so");
    EXPECT_EQ(fs::path(*name).parent_path().parent_path(), private_);
    EXPECT_EQ(fs::read_symlink(*name), library);
    EXPECT_EQ(PreloadName(library.string()).value(), *name);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(private_), fs::directory_iterator()), 3);
  EXPECT_EQ(fs::status(private_).permissions(), fs::perms::owner_all);
}

TEST_F(PreloadNameTest, LinkThatLeadsElsewhereIsReplaced) {
  const std::string name = PreloadName(library_).value();
  fs::remove(name);
  fs::create_symlink("/tmp/another.so", name);
  EXPECT_EQ(PreloadName(library_).value(), name);
  EXPECT_EQ(fs::read_symlink(name), library_);
}

TEST_F(PreloadNameTest, TemporaryFolderWithBlankIsNotUsed) {
  const fs::path odd = folder_ / "my temporary";
  fs::create_directory(odd);
  setenv("TMPDIR", odd.c_str(), 1);
  const auto name = PreloadName(library_);
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_TRUE(name->starts_with("/tmp/xlatrace-")) << *name;
  EXPECT_EQ(fs::read_symlink(*name), library_);
  fs::remove_all(fs::path(*name).parent_path());
  EXPECT_TRUE(fs::is_empty(odd));
}

TEST_F(PreloadNameTest, FolderThatOtherUsersMayWriteToIsRefused) {
  fs::create_directory(private_);
  chmod(private_.c_str(), 0777);
  EXPECT_TRUE(IsRefused());
  EXPECT_TRUE(fs::is_empty(private_));
  chmod(private_.c_str(), 0700);
  EXPECT_FALSE(IsRefused());
}

TEST_F(PreloadNameTest, TemporaryFolderInWhichOtherUsersMayRenameIsRefused) {
  chmod(temporary_.c_str(), 0777);  // Without the sticky bit, which /tmp has.
  EXPECT_TRUE(IsRefused());
  chmod(temporary_.c_str(), 01777);
  EXPECT_FALSE(IsRefused());
}

TEST_F(PreloadNameTest, FileOrLinkInPlaceOfTheFolderIsRefused) {
  std::ofstream(private_.string()) << "a file";
  EXPECT_TRUE(IsRefused());
  fs::remove(private_);
  fs::create_directory(folder_ / "another");
  fs::create_directory_symlink(folder_ / "another", private_);
  EXPECT_TRUE(IsRefused());
}

}  // namespace
}  // namespace xlatrace::tools
