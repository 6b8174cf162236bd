// SPDX-License-Identifier: Apache-2.0

// A folder of one test, removed at its end.

#ifndef XLATRACE_TESTS_REPORT_TEMPORARY_FOLDER_H_
#define XLATRACE_TESTS_REPORT_TEMPORARY_FOLDER_H_

#include <unistd.h>

#include <filesystem>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "report/run_view.h"
#include "sample_run.h"
#include "store/run_db.h"

namespace xlatrace::report {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("xlatrace_report_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Writes the run and reads it back; a failure of either is the test's.
inline RunView ViewOf(const SampleRun& run) {
  const TemporaryFolder folder;
  const std::string path = folder.File("run.db");
  const Status written = WriteSampleRun(run, path);
  EXPECT_TRUE(written) << written.error().message;
  auto db = store::RunDb::Open(path);
  EXPECT_TRUE(db) << db.error().message;
  auto view = LoadRunView(*db);
  EXPECT_TRUE(view) << view.error().message;
  return view ? *view : RunView();
}

// The text for a golden file: without the version of the program.
inline std::string WithoutVersion(const std::string& text) {
  static const std::regex version(R"(xlatrace [0-9]+\.[0-9]+\.[0-9]+[-+.\w]*)");
  return std::regex_replace(text, version, "xlatrace VERSION");
}

}  // namespace xlatrace::report

#endif  // XLATRACE_TESTS_REPORT_TEMPORARY_FOLDER_H_
