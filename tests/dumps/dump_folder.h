// SPDX-License-Identifier: Apache-2.0

// A temporary folder to write dumps into.

#ifndef XLATRACE_TESTS_DUMPS_DUMP_FOLDER_H_
#define XLATRACE_TESTS_DUMPS_DUMP_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace xlatrace::dumps {

class DumpFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "xlatrace_hlo_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  std::filesystem::path root_;
};

}  // namespace xlatrace::dumps

#endif  // XLATRACE_TESTS_DUMPS_DUMP_FOLDER_H_
