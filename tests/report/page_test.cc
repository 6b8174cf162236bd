// SPDX-License-Identifier: Apache-2.0

// The whole page with its data, from run.db files with known figures. tests/e2e/test_page_data.py
// checks the data from outside. These tests check that it is complete, sums up, and does not depend
// on the content of names.

#include "report/page/page.h"

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/compress.h"
#include "report/answer/answer_text.h"
#include "report/html/html.h"
#include "sample_run.h"
#include "store/run_db.h"
#include "temporary_folder.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class PageTest : public testing::Test {
 protected:
  store::RunDb Open(const SampleRun& run, const std::string& name) {
    const std::string path = folder_.File(name);
    EXPECT_TRUE(WriteSampleRun(run, path));
    auto db = store::RunDb::Open(path);
    EXPECT_TRUE(db);
    return std::move(*db);
  }

  static std::string Write(store::RunDb& db, const PageOptions& options = {}) {
    const auto view = LoadRunView(db);
    EXPECT_TRUE(view);
    return Write(db, *view, options);
  }
  static std::string Write(store::RunDb& db, const RunView& view, const PageOptions& options) {
    std::string page;
    const Status written = WriteHtml(db, view, options, [&page](std::string_view piece) -> Status {
      page += piece;
      return {};
    });
    EXPECT_TRUE(written) << written.error().message;
    return page;
  }

  static Json Index(const std::string& page) {
    constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"xlatrace-index\">";
    const size_t begin = page.find(kBegin);
    EXPECT_NE(begin, std::string::npos);
    const size_t end = page.find("</script>", begin);
    return Json::parse(page.substr(begin + kBegin.size(), end - begin - kBegin.size()));
  }

  TemporaryFolder folder_;
};

// A table of a page in one piece, read by the rules of docs/development/page-data.md as far as the
// tests need.
class ReadTable {
 public:
  ReadTable(const std::string& page, const Json& table)
      : piece_(table.contains("chunks") ? table["chunks"][0] : table),
        block_(Block(page, piece_["block"].get<int>())) {}

  // A column of integers or references without NULL.
  std::vector<int64_t> Numbers(const std::string& name) const {
    const Json& column = Column(name);
    EXPECT_FALSE(column.value("nulls", false)) << name;
    const size_t rows = piece_["rows"];
    std::vector<int64_t> numbers(rows);
    int64_t before = 0;
    for (size_t row = 0; row < rows; ++row) {
      int64_t value = 0;
      for (size_t plane = column["width"]; plane-- > 0;) {
        const char byte = block_.at(column["at"].get<size_t>() + plane * rows + row);
        value = value * 256 + static_cast<unsigned char>(byte);
      }
      value = value * column["step"].get<int64_t>() + column["min"].get<int64_t>();
      numbers[row] = before + value;
      if (column.value("delta", false)) before = numbers[row];
    }
    return numbers;
  }

  // A column of long texts.
  std::vector<std::string> Texts(const std::string& name) const {
    const Json& column = Column(name);
    std::vector<std::string> texts;
    size_t at = column["at"];
    for (const int64_t bytes : Numbers(column["lengths"])) {
      texts.push_back(block_.substr(at, static_cast<size_t>(bytes)));
      at += static_cast<size_t>(bytes);
    }
    return texts;
  }

 private:
  const Json& Column(const std::string& name) const {
    for (const Json& column : piece_["columns"]) {
      if (column["name"] == name) return column;
    }
    throw std::out_of_range("no column " + name);
  }

  static std::string Block(const std::string& page, int number) {
    const std::string begin = "id=\"xlatrace-block-" + std::to_string(number) + "\">";
    std::string bytes;
    uint32_t bits = 0;
    int known = 0;
    for (size_t at = page.find(begin) + begin.size(); page.at(at) != '<'; ++at) {
      const size_t digit =
          std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
              .find(page[at]);
      if (digit == std::string_view::npos) continue;  // Padding.
      bits = bits << 6 | static_cast<uint32_t>(digit);
      known += 6;
      if (known < 8) continue;
      known -= 8;
      bytes += static_cast<char>(bits >> known & 0xff);
    }
    const auto inflated = Inflate(std::move(bytes), "block");
    EXPECT_TRUE(inflated);
    return inflated ? *inflated : std::string();
  }

  const Json piece_;
  const std::string block_;
};

std::string TextOfPieces(const Json& pieces) {
  std::string text;
  for (const Json& piece : pieces) text += piece["text"].get<std::string>();
  return text;
}

TEST_F(PageTest, HasTheFiguresOfTheRun) {
  store::RunDb db = Open(TransformerRun(), "run.db");
  const Json index = Index(Write(db));
  EXPECT_EQ(index["format"]["major"], 1);
  const Json& meta = index["meta"];
  const auto view = LoadRunView(db);
  EXPECT_EQ(meta["basis"]["device_ns"], view->coverage.device_ns);
  EXPECT_EQ(meta["basis"]["typical_ns"], view->steps.typical_ns);
  EXPECT_EQ(meta["launches"]["how"], "all");
  EXPECT_EQ(meta["launches"]["in_page"], view->run_coverage.activities);
  EXPECT_EQ(TextOfPieces(meta["verdict"]["sentence"]), PlainText(TextOf(*view).first));
  EXPECT_THAT(TextOfPieces(meta["verdict"]["sentence"]),
              testing::HasSubstr("55.5%"));  // Backward: 14.6 of 26.3 ms.
  EXPECT_EQ(meta["answer"]["step"]["path"][0]["ns"], view->answer.step->descent.path[0].ns);
  EXPECT_TRUE(meta["base"].is_null());
  const Json& tables = index["tables"];
  EXPECT_EQ(tables["launches"]["rows"], view->run_coverage.activities);
  EXPECT_EQ(tables["steps"]["rows"], 24);  // 12 on 2 devices.
  EXPECT_EQ(tables["streams"]["rows"].get<int64_t>() > 0, true);
  EXPECT_GE(tables["ops"]["rows"].get<size_t>(), view->ops.size());
  for (const Json& block : index["blocks"]) EXPECT_GT(block["bytes"].get<int64_t>(), 0);
}

// Readers without scripts see the same first screen as the app shows.
TEST_F(PageTest, StaticFirstScreenEqualsThePageData) {
  store::RunDb db = Open(TransformerRun(), "run.db");
  const std::string page = Write(db);
  const Json meta = Index(page)["meta"];
  ASSERT_GE(meta["facts"].size(), 4u);
  for (const Json& fact : meta["facts"]) {
    const std::string shown = "<dt>" + fact["label"].get<std::string>() + "</dt><dd>" +
                              fact["value"].get<std::string>() + "<small>" +
                              fact["note"].get<std::string>() + "</small>";
    EXPECT_THAT(page, testing::HasSubstr(shown));
  }
  EXPECT_EQ(meta["facts"][0]["id"], "step");
  EXPECT_EQ(meta["facts"][0]["ns"], meta["basis"]["typical_ns"]);
  const std::string headline = TextOfPieces(meta["verdict"]["headline"]);
  EXPECT_EQ(headline, PlainText(TextOf(*LoadRunView(db)).first));
  EXPECT_THAT(
      page, testing::HasSubstr("<h1>" + meta["verdict"]["headline"][0]["text"].get<std::string>()));
}

TEST_F(PageTest, OnlyTheTimelineIsThinned) {
  store::RunDb db = Open(TransformerRun(), "run.db");
  PageOptions options;
  const Json all = Index(Write(db, options));
  options.max_launches = all["meta"]["launches"]["in_run"].get<int64_t>() / 2;
  const Json some = Index(Write(db, options));
  EXPECT_EQ(some["meta"]["launches"]["how"], "steps");
  EXPECT_LE(some["meta"]["launches"]["in_page"].get<int64_t>(), options.max_launches);
  EXPECT_GT(some["tables"]["bins"]["rows"].get<int64_t>(), 0);
  EXPECT_EQ(some["tables"]["ops"]["rows"], all["tables"]["ops"]["rows"]);
  options.max_launches = 0;
  const Json none = Index(Write(db, options));
  EXPECT_EQ(none["meta"]["launches"]["how"], "none");
  EXPECT_FALSE(none["tables"].contains("launches"));
}

TEST_F(PageTest, PageWithABaseRunHasTheComparison) {
  SampleRun slower = TransformerRun();
  slower.ops[0].ns *= 2;
  store::RunDb db = Open(TransformerRun(), "run.db");
  store::RunDb base = Open(slower, "base.db");
  const auto base_view = LoadRunView(base);
  PageOptions options;
  options.base = &base;
  options.base_view = &*base_view;
  const Json index = Index(Write(db, options));
  const Json& meta = index["meta"]["base"];
  EXPECT_EQ(meta["basis"]["device_ns"], base_view->coverage.device_ns);
  EXPECT_EQ(meta["matched_ns"], base_view->coverage.device_ns - base_view->coverage.none_ns);
  EXPECT_TRUE(index["tables"].contains("base_ops"));
  EXPECT_TRUE(index["tables"].contains("base_op_shares"));
}

// Sets one of four steady steps to 1 ms + 3 `spread`, and three to 1 ms - `spread`. Their mean is 1
// ms, and its variance (9 + 1 + 1 + 1) / 3 / 4 = 1 `spread` squared.
void SpreadSteps(RunView& view, int64_t spread) {
  int64_t deviation = 3 * spread;
  for (StepFigure& step : view.steps.all) {
    step.wall_ns = step.steady ? 1'000'000 + std::exchange(deviation, -spread) : 99'000'000;
  }
}

TEST_F(PageTest, NoiseOfTwoRunsIsTwiceTheirStandardError) {
  SampleRun run;
  run.steps = 6;  // The first and the last are not steady.
  run.ops = {{.instruction = "fusion.1", .ns = 1'000'000}};
  store::RunDb db = Open(run, "run.db");
  store::RunDb base = Open(run, "base.db");
  auto view = LoadRunView(db);
  auto base_view = LoadRunView(base);
  SpreadSteps(*base_view, 3'000);
  SpreadSteps(*view, 4'000);
  PageOptions options;
  options.base = &base;
  options.base_view = &*base_view;
  const Json meta = Index(Write(db, *view, options))["meta"]["base"];
  EXPECT_EQ(meta["step_noise_ns"], 10'000);  // Twice the root of 3^2 + 4^2 us^2.
}

TEST_F(PageTest, SourceExcerptsStartAtTheirLineNumber) {
  const auto lines = [](int first, int last) {
    std::string text;
    for (int line = first; line <= last; ++line) text += "line " + std::to_string(line) + "\n";
    return text;
  };
  std::ofstream(folder_.File("model.py")) << lines(1, 70);
  SampleRun run;
  for (const int64_t line : {20, 60}) {
    run.ops.push_back({.instruction = "fusion." + std::to_string(line),
                       .source_file = "/home/user/project/model.py",
                       .source_line = line,
                       .ns = 10'000});
  }
  store::RunDb db = Open(run, "run.db");
  PageOptions options;
  options.source_folders = {folder_.File("")};
  const std::string page = Write(db, options);
  const ReadTable table(page, Index(page)["tables"]["source_files"]);
  // 12 lines before and after, as far as there are any.
  EXPECT_THAT(table.Texts("text"), testing::ElementsAre(lines(8, 32), lines(48, 70)));
  EXPECT_THAT(table.Numbers("first_line"), testing::ElementsAre(8, 48));
}

TEST_F(PageTest, LongSourceLineIsCutBetweenCharacters) {
  const std::string most(399, 'x');
  const std::string all = most + "y";
  std::ofstream(folder_.File("model.py")) << most << "\u00e9 and on\n"      // Bytes 399 and 400.
                                          << all << "\u00e9\n"              // Behind the last.
                                          << most.substr(1) << "\u00e9z\n"  // The last two.
                                          << std::string(401, '\x80') << "\n";
  SampleRun run;
  run.ops = {{.instruction = "fusion.1",
              .source_file = "/home/user/project/model.py",
              .source_line = 1,
              .ns = 10'000}};
  store::RunDb db = Open(run, "run.db");
  PageOptions options;
  options.source_folders = {folder_.File("")};
  const std::string page = Write(db, options);
  const ReadTable table(page, Index(page)["tables"]["source_files"]);
  std::string no_text;
  for (int i = 0; i < 400; ++i) no_text += "\uFFFD";
  EXPECT_THAT(table.Texts("text"),
              testing::ElementsAre(most + "\u2026\n" + all + "\u2026\n" + most.substr(1) +
                                   "\u00e9\u2026\n" + no_text + "\u2026\n"));
}

TEST_F(PageTest, ValueInMemoryLivesUntilItsLastReader) {
  SampleRun run;
  run.hlo = R"(HloModule jit_train_step, is_scheduled=true
ENTRY e {
  p = f32[256]{0} parameter(0)
  a = f32[512]{0} concatenate(p, p), dimensions={0}
  b = f32[512]{0} reverse(a), dimensions={0}
  c = f32[256]{0} slice(a), slice={[0:256]}
  d = f32[256]{0} slice(b), slice={[0:256]}
  ROOT r = f32[256]{0} custom-call(c, d), custom_call_target="x"
})";
  for (const char* name : {"a", "b", "c", "d", "r"}) {
    run.ops.push_back({.instruction = name, .ns = 10'000});
  }
  store::RunDb db = Open(run, "run.db");
  const std::string page = Write(db);
  const Json tables = Index(page)["tables"];
  EXPECT_THAT(ReadTable(page, tables["live_order"]).Numbers("instruction"),
              testing::ElementsAre(0, 1, 2, 3, 4, 5));
  const ReadTable values(page, tables["live_values"]);
  // A parameter lives to the end, a until c, b until d; c, d and the result until r.
  EXPECT_THAT(values.Numbers("instruction"), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values.Numbers("first"), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values.Numbers("last"), testing::ElementsAre(5, 3, 4, 5, 5, 5));
}

TEST_F(PageTest, HostileNamesStayInsideTheirStrings) {
  const std::vector<std::string> names = {"</script><script>alert(1)</script>",
                                          "<!--<script>",
                                          "\u202Egnp.exe",
                                          "broken\xff\xfe",
                                          "a\u2028b",
                                          std::string("nul\0byte", 8),
                                          std::string(1'000'000, 'y') + "tail.9"};
  SampleRun run;
  for (const std::string& name : names) {
    run.ops.push_back({.instruction = name,
                       .layer = name + "/" + name,
                       .op_name = name + "/" + name,
                       .source_file = "/d/" + name,
                       .source_line = 3,
                       .ns = 1'000'000});
    run.stats.push_back({name, model::Severity::kDataLoss, name, 1, name});
    model::FindingRow finding;
    finding.id = "rule";
    finding.title = finding.action = finding.where_source = finding.confidence = name;
    finding.evidence_json = R"([{"text":"</script>","value":[1]},{"text":7},3])";
    run.findings.push_back(finding);
  }
  run.command = names[0];
  run.device_name = names[1];
  run.module_name = names[0];
  store::RunDb db = Open(run, "run.db");
  const std::string page = Write(db);
  const auto count = [&page](std::string_view word) {
    size_t n = 0;
    for (size_t at = page.find(word); at != std::string::npos; at = page.find(word, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<script"), count("</script>"));
  EXPECT_EQ(count("<!--"), 1u);
  EXPECT_THAT(page, Not(HasSubstr("\u202E")));
  EXPECT_EQ(page.find('\0'), std::string::npos);
  EXPECT_LT(page.size(), 4'000'000u);
  const Json index = Index(page);
  EXPECT_EQ(index["meta"]["findings"][0]["evidence"].size(), 1u);
  EXPECT_TRUE(index["meta"]["findings"][0]["evidence"][0]["value"].is_null());
}

TEST_F(PageTest, EmptyRunsHaveAPage) {
  SampleRun none = TransformerRun();
  none.module = false;
  SampleRun one = TransformerRun();
  one.steps = 1;
  SampleRun empty;
  empty.steps = 0;
  empty.module = false;
  int number = 0;
  for (const SampleRun& run : {none, one, empty}) {
    store::RunDb db = Open(run, "run" + std::to_string(++number) + ".db");
    const Json index = Index(Write(db));
    EXPECT_EQ(index["meta"]["basis"]["steady"], number == 1);
  }
}

TEST_F(PageTest, StopsAtTheFirstWriteThatFails) {
  store::RunDb db = Open(TransformerRun(), "run.db");
  const auto view = LoadRunView(db);
  int calls = 0;
  const Status written = WriteHtml(db, *view, {}, [&calls](std::string_view) -> Status {
    ++calls;
    return MakeError("disk full");
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "disk full");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace xlatrace::report
