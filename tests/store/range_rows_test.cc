// SPDX-License-Identifier: Apache-2.0

// store/range_rows.h: rows come out as they went in, whether or not a thread made them.

#include "store/range_rows.h"

#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <random>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/sqlite.h"
#include "store/table_builder.h"

namespace xlatrace::store {
namespace {

class RangeRowsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("xlatrace_ranges_{}_{}.db", info->name(), getpid());
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // The rows as a database has them.
  std::vector<std::vector<std::optional<int64_t>>> Rows(RangeRows& ranges) {
    int64_t root = 0;
    {
      auto db = Database::Create(path_);
      EXPECT_TRUE(db);
      EXPECT_TRUE(db->Execute("CREATE TABLE t (kind, start, duration, depth)"));
      root = db->QueryInt64("SELECT rootpage FROM sqlite_master")->value_or(0);
    }
    auto file = BulkFile::Open(path_);
    EXPECT_TRUE(file);
    EXPECT_TRUE(
        ranges.Drain([&](std::string_view page, int64_t last) { file->AddLeaf(page, last); }));
    EXPECT_TRUE(file->EndTable(static_cast<uint32_t>(root)));
    EXPECT_TRUE(file->Close());
    auto db = Database::OpenForeign(path_);
    EXPECT_TRUE(db);
    auto statement = db->Prepare("SELECT rowid, kind, start, duration, depth FROM t");
    std::vector<std::vector<std::optional<int64_t>>> rows;
    while (statement->Step().value_or(false)) {
      rows.emplace_back();
      for (int c = 0; c < 5; ++c) rows.back().push_back(statement->OptionalInt64(c));
    }
    return rows;
  }

  std::string path_;
};

struct Range {
  int64_t process, thread;
  std::string domain, text;
  int64_t start, end;
  int32_t depth;
};

std::vector<Range> SomeRanges(size_t count, size_t texts) {
  std::mt19937_64 random(7);
  std::vector<Range> ranges;
  for (size_t i = 0; i < count; ++i) {
    const auto start = static_cast<int64_t>(100 * i);
    // Domain and text must not run into each other: "ab" + "c" is not "a" + "bc".
    const bool other = random() % 2 == 0;
    ranges.push_back({static_cast<int64_t>(1 + random() % 2), static_cast<int64_t>(random() % 3),
                      other ? "ab" : "a", fmt::format("{}{}", other ? "c" : "bc", random() % texts),
                      start, start + static_cast<int64_t>(random() % 5000),
                      static_cast<int32_t>(random() % 4) - 1});
  }
  return ranges;
}

void AddAll(const std::vector<Range>& ranges, RangeRows& rows) {
  model::Id id = 0;
  for (const Range& range : ranges) {
    std::string text = range.text;  // Gone when Add returns.
    ASSERT_EQ(rows.Add({.process_id = range.process,
                        .thread_id = range.thread,
                        .domain = range.domain,
                        .text = text,
                        .start_ns = range.start,
                        .end_ns = range.end,
                        .depth = range.depth}),
              ++id);
    text.assign(text.size(), '#');
  }
}

// Few rows fit one batch, many need the thread. Thousands of texts make the tables of kinds grow,
// and long texts fill a batch by bytes.
TEST_F(RangeRowsTest, RowsKindsAndTextsRoundTrip) {
  for (const auto& [count, texts] :
       {std::pair<size_t, size_t>{10, 3}, {4096, 5}, {50'000, 40}, {30'000, 30'000}}) {
    SCOPED_TRACE(fmt::format("{} ranges, {} texts", count, texts));
    const std::vector<Range> added = SomeRanges(count, texts);
    RangeRows ranges(path_);
    AddAll(added, ranges);
    ranges.Settle();
    const TextMap<model::Id> numbers = ranges.TakeTexts();
    std::vector<std::string> text_of(numbers.size() + 1);
    for (const auto& [text, number] : numbers) text_of.at(static_cast<size_t>(number)) = text;
    const std::vector<RangeRows::Kind> kinds = ranges.kinds();
    const auto rows = Rows(ranges);
    std::filesystem::remove(path_);
    ASSERT_EQ(rows.size(), added.size());
    int64_t last_kind = 0;
    for (size_t i = 0; i < added.size(); ++i) {
      const Range& range = added[i];
      ASSERT_EQ(rows[i][0], static_cast<int64_t>(i + 1));
      ASSERT_EQ(rows[i][2], range.start);
      ASSERT_EQ(rows[i][3], range.end - range.start);
      ASSERT_EQ(rows[i][4], range.depth < 0 ? std::nullopt : std::optional<int64_t>(range.depth));
      const auto kind = *rows[i][1];
      ASSERT_LE(kind, last_kind + 1) << "kinds are numbered as they come";
      last_kind = std::max(last_kind, kind);
      const RangeRows::Kind& k = kinds.at(static_cast<size_t>(kind) - 1);
      ASSERT_EQ(std::tuple(k.process_id, k.thread_id, text_of.at(k.domain), text_of.at(k.text)),
                std::tuple(range.process, range.thread, range.domain, range.text));
    }
    // Equal ranges share a kind.
    std::map<std::tuple<int64_t, int64_t, std::string, std::string>, int> distinct;
    for (const Range& r : added) distinct[{r.process, r.thread, r.domain, r.text}] = 1;
    EXPECT_EQ(kinds.size(), distinct.size());
  }
}

TEST_F(RangeRowsTest, LongTextsAndTheDefaultDomainRoundTrip) {
  RangeRows ranges(path_);
  const std::string huge(3 << 20, 'x');
  for (int i = 0; i < 3; ++i) {
    ranges.Add({.process_id = 1, .text = huge, .start_ns = i, .end_ns = i + 1});
    ranges.Add({.process_id = 1, .text = "", .start_ns = i, .end_ns = i + 1});
  }
  ranges.Settle();
  ASSERT_EQ(ranges.kinds().size(), 2U);
  EXPECT_EQ(ranges.kinds()[0].domain, 0U);
  const TextMap<model::Id> texts = ranges.TakeTexts();
  EXPECT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts.find(huge)->second, 1);
  EXPECT_EQ(Rows(ranges).size(), 6U);
}

// The analysis may read results, and more ranges may follow.
TEST_F(RangeRowsTest, ResultsMayBeReadBetweenRanges) {
  const std::vector<Range> added = SomeRanges(20'000, 100);
  RangeRows ranges(path_);
  AddAll({added.begin(), added.begin() + 10'000}, ranges);
  ranges.Settle();
  const size_t first_texts = ranges.TakeTexts().size();
  EXPECT_EQ(first_texts, 202U);  // 2 x 100, and the domains.
  for (size_t i = 10'000; i < added.size(); ++i) {
    ranges.Add({.process_id = 9, .text = "later", .start_ns = 5, .end_ns = 9'000});
  }
  ranges.Settle();
  const TextMap<model::Id> later = ranges.TakeTexts();
  ASSERT_EQ(later.size(), 1U) << "only what is new";
  EXPECT_EQ(later.begin()->second, static_cast<model::Id>(first_texts) + 1);
  EXPECT_EQ(ranges.kinds().back().process_id, 9);
  EXPECT_EQ(Rows(ranges).size(), 20'000U);
}

TEST_F(RangeRowsTest, LongRangesAreKeptForTheAnalysis) {
  RangeRows ranges(path_);
  for (int64_t i = 0; i < 10'000; ++i) {
    const int64_t length = i % 2'500 == 0 ? 5'000 : 10;
    ranges.Add({.process_id = 1,
                .text = i % 2'500 == 0 ? "long" : "short",
                .start_ns = i * 10'000,
                .end_ns = i * 10'000 + length});
  }
  ranges.Settle();
  const auto events = ranges.host_events().Within({{0, 100'000'000}});
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[1].range_id, 2'501U);
  const TextMap<model::Id> texts = ranges.TakeTexts();
  EXPECT_EQ(ranges.kinds()[events[1].name_id - 1].text, texts.find("long")->second);
}

size_t EntriesOf(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                           std::filesystem::directory_iterator()));
}

// An abandoned run leaves no thread and no file, not even an unlinked one. Three million rows
// exceed the pages that are kept in memory.
TEST_F(RangeRowsTest, ObjectMayBeDestroyedWithoutReadingResults) {
  const std::filesystem::path folder = path_ + ".folder";
  std::filesystem::create_directory(folder);
  // A sanitizer has a thread of its own from the first one on.
  std::thread([] {}).join();
  const auto settled = [](size_t most) {
    // A thread that was joined leaves the list of tasks a moment later; one that never ends is what
    // the limit of ctest is for.
    while (EntriesOf("/proc/self/task") > most) std::this_thread::yield();
    return EntriesOf("/proc/self/task");
  };
#if defined(__SANITIZE_THREAD__)
  constexpr size_t kOwn = 2;
#else
  constexpr size_t kOwn = 1;
#endif
  const size_t threads = settled(kOwn);
  const size_t open_files = EntriesOf("/proc/self/fd");
  {
    RangeRows ranges((folder / "run.db").string());
    for (int64_t i = 0; i < 3'000'000; ++i) {
      ranges.Add({.process_id = 1,
                  .text = i % 2 == 0 ? "even" : "odd",
                  .start_ns = i * 1'000,
                  .end_ns = i * 1'000 + 500});
    }
    EXPECT_GT(EntriesOf("/proc/self/task"), threads) << "no thread had anything to do";
    ranges.Settle();
    EXPECT_GT(EntriesOf("/proc/self/fd"), open_files) << "nothing was spilled";
    ranges.Add({.process_id = 1, .text = "even", .start_ns = 1, .end_ns = 2});
  }
  EXPECT_EQ(settled(threads), threads);
  EXPECT_EQ(EntriesOf("/proc/self/fd"), open_files);
  EXPECT_EQ(EntriesOf(folder), 0U);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace xlatrace::store
