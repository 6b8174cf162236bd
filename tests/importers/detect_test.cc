// SPDX-License-Identifier: Apache-2.0

// The type of a file is detected from its content; errors for files of other types.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/importer.h"
#include "store/sqlite.h"
#include "tests/golden_text/golden_text.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/xspace_builder.h"
#include "tests/unquoted_path.h"

namespace xlatrace::importers {
namespace {

using testing::HasSubstr;

class DetectTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("xlatrace_detect_") + info->name() + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
    return path;
  }
  std::string Database(const std::string& name, const std::string& sql) {
    const std::string path = folder_ / name;
    auto db = store::Database::Create(path);
    EXPECT_TRUE(db);
    EXPECT_TRUE(db->Execute(sql));
    return path;
  }
  // The refusal of a file, "message | hint".
  std::string Refusal(const std::string& path) {
    const Result<SourceKind> kind = Detect(path);
    MemorySink sink;
    const Status status = Import(path, sink);
    EXPECT_FALSE(status);
    EXPECT_TRUE(sink.processes.empty());
    if (kind) return "detected as " + std::string(Text(*kind));
    EXPECT_EQ(kind.error().message, status.error().message);
    return kind.error().message + " | " + WithUnquotedPath(kind.error().hint, path);
  }

  std::filesystem::path folder_;
};

TEST_F(DetectTest, XSpaceIsDetectedFromItsBytesUnderAnyName) {
  const std::string path = Write("profile.sqlite", MixedSpace());
  ASSERT_EQ(Detect(path), SourceKind::kXplane);
  MemorySink sink;
  ASSERT_TRUE(Import(path, sink));
  EXPECT_EQ(sink.info.at("source"), "xplane");
}

TEST_F(DetectTest, CompressedXSpaceIsInflated) {
  const std::string plain = Write("p.xplane.pb", MixedSpace());
  ASSERT_EQ(std::system(("gzip -k '" + plain + "'").c_str()), 0);
  const std::string path = plain + ".gz";
  ASSERT_EQ(Detect(path), SourceKind::kXplane);
  MemorySink direct;
  MemorySink inflated;
  ASSERT_TRUE(Import(plain, direct));
  ASSERT_TRUE(Import(path, inflated));
  EXPECT_EQ(direct.activities.size(), inflated.activities.size());
}

TEST_F(DetectTest, NsysExportIsDetectedFromItsTables) {
  const std::string path = Database("x.db",
                                    "CREATE TABLE StringIds (id INTEGER, value TEXT);"
                                    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end)");
  EXPECT_EQ(Detect(path), SourceKind::kNsysSqlite);
}

TEST_F(DetectTest, JsonTraceIsDetectedFromItsBytes) {
  EXPECT_EQ(Detect(Write("t.bin", "\n {\"traceEvents\": []}")), SourceKind::kChromeTrace);
  EXPECT_EQ(Detect(Write("l.bin", "[\n{\"ph\": \"X\"}]")), SourceKind::kChromeTrace);
  MemorySink sink;
  const Status status = Import(Write("o.json", "{\"a\": 1}"), sink);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("traceEvents"));
}

TEST_F(DetectTest, RunDbIsRefusedWithTheCommandForRuns) {
  const std::string path = Database("run.db",
                                    "CREATE VIEW run_info AS SELECT 1 AS key;"
                                    "CREATE VIEW StringIds AS SELECT 1 AS id");
  const std::string refusal = Refusal(path);
  EXPECT_THAT(refusal, HasSubstr("run.db"));
  EXPECT_THAT(refusal, HasSubstr(" | xlatrace report"));
  EXPECT_GOLDEN_TEXT(refusal);
}

TEST_F(DetectTest, OtherDatabaseIsRefused) {
  const std::string refusal = Refusal(Database("x.db", "CREATE TABLE t (a)"));
  EXPECT_THAT(refusal, HasSubstr("x.db"));
  EXPECT_GOLDEN_TEXT(refusal);
}

TEST_F(DetectTest, OtherFilesAreRefusedWithTheirType) {
  struct Case {
    const char* name;
    std::string bytes;
    const char* command;  // In the hint; empty if there is none.
  };
  const Case cases[] = {
      {"empty.pb", "", ""},
      {"a.pb", "<!DOCTYPE html><html>", ""},
      {"n.json", "[1, 2]", ""},
      {"r.nsys-rep", "\x01\x02 whatever", "nsys export --type sqlite"},
      {"m.txt", "HloModule jit_f", "xlatrace explain"},
      {"noise", "\x7f\x01\x02 noise", ""},
  };
  std::string refusals;
  for (const Case& c : cases) {
    const std::string refusal = Refusal(Write(c.name, c.bytes));
    EXPECT_THAT(refusal, HasSubstr(c.name));
    EXPECT_THAT(refusal, HasSubstr(c.command)) << c.name;
    refusals += refusal + "\n";
  }
  EXPECT_GOLDEN_TEXT(refusals + Refusal(folder_.string()));
  EXPECT_THAT(Refusal((folder_ / "absent").string()), HasSubstr("absent"));
}

TEST_F(DetectTest, ProfileDecodedAsUtf8IsRefusedWithTheCause) {
  std::string mangled;
  int replaced = 0;
  for (const char c : MixedSpace()) {  // Decoding as UTF-8 with replacement has this result.
    if ((c & 0x80) != 0) {
      mangled += "\xEF\xBF\xBD";
      ++replaced;
    } else {
      mangled += c;
    }
  }
  MemorySink sink;
  const Status status = Import(Write("m.xplane.pb", mangled), sink);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("m.xplane.pb"));
  EXPECT_THAT(status.error().hint, HasSubstr(" " + std::to_string(replaced) + " "));
  EXPECT_GOLDEN_TEXT(status.error().hint);
}

}  // namespace
}  // namespace xlatrace::importers
