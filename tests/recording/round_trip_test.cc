// SPDX-License-Identifier: Apache-2.0

// The rows that are read equal the written ones.

#include <algorithm>
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recording/row_codec.h"
#include "tests/recording/row_log.h"
#include "tests/recording/sample_rows.h"
#include "tests/tiers.h"

namespace xlatrace::recording {
namespace {

using ::testing::ElementsAre;

// Per kind, in order; kinds do not keep their order among each other.
template <typename Row>
void ExpectSame(const std::vector<AnyRow>& written, const RowLog& read) {
  std::vector<Row> expected;
  for (const AnyRow& row : written) {
    if (const Row* found = std::get_if<Row>(&row)) expected.push_back(*found);
  }
  const std::vector<Row> got = read.Of<Row>();
  ASSERT_EQ(got.size(), expected.size()) << typeid(Row).name();
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(got[i] == expected[i]) << typeid(Row).name() << " number " << i;
  }
}

template <typename... Rows>
void ExpectAllSame(const std::variant<Rows...>*, const std::vector<AnyRow>& written,
                   const RowLog& read) {
  (ExpectSame<Rows>(written, read), ...);
}

// Reads what a finished writer left.
RowLog ReadWhole(const Writer& writer, const TestFile& file) {
  EXPECT_EQ(writer.stop_errno(), 0);
  EXPECT_EQ(writer.lost_rows(), 0u);
  RowLog log;
  const auto outcome = ReadRecording(file.path(), log);
  EXPECT_TRUE(outcome) << outcome.error().message;
  if (outcome) {
    EXPECT_TRUE(outcome->complete);
    EXPECT_EQ(outcome->bytes_read, writer.bytes_written());
    EXPECT_EQ(outcome->damaged_blocks, 0u);
    EXPECT_EQ(outcome->missing_blocks, 0u);
    EXPECT_EQ(outcome->unknown_blocks, 0u);
  }
  return log;
}

RowLog WriteAndRead(const std::vector<AnyRow>& rows, const TestFile& file) {
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  for (const AnyRow& row : rows) WriteRow(row, writer);
  writer.Finish();
  return ReadWhole(writer, file);
}

TEST(RoundTrip, EveryKindOfRowRoundTripsAtItsExtremes) {
  SampleRows samples(1);
  const std::vector<AnyRow> rows = samples.Extremes();
  const TestFile file;
  const RowLog log = WriteAndRead(rows, file);
  EXPECT_EQ(log.rows.size(), rows.size());
  ExpectAllSame(static_cast<AnyRow*>(nullptr), rows, log);
}

TEST(RoundTrip, RandomRowsOverSeveralSegmentsRoundTrip) {
  SampleRows samples(2);
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  const std::vector<AnyRow> rows = samples.Fill(writer, 3 * kSegmentBytes);
  writer.Finish();
  const RowLog log = ReadWhole(writer, file);
  EXPECT_GE(log.segments.size(), 4u);
  for (size_t i = 0; i < log.segments.size(); ++i) {
    EXPECT_EQ(log.segments[i], i);
    EXPECT_EQ(log.identities[i], "token.host.7.1f");
  }
  ExpectAllSame(static_cast<AnyRow*>(nullptr), rows, log);
}

// Rows near the largest sizes, in an order that makes every kind meet the end of a segment.
TEST(RoundTrip, LargeTextsAtSegmentBordersRoundTrip) {
  SampleRows samples(3);
  std::deque<std::string> texts;
  std::vector<AnyRow> rows;
  for (uint32_t i = 0; i < 120; ++i) {
    const std::string& text = texts.emplace_back(
        1 + samples.Below(i % 5 == 0 ? kMaxTextBytes : 300'000), static_cast<char>('a' + i % 26));
    switch (i % 4) {
      case 0:
        rows.emplace_back(StringRow{i + 1, StringRole::kRegistered, 1, 7, text, 0, text.size()});
        break;
      case 1:
        rows.emplace_back(PayloadRow{i, 5, text});
        break;
      case 2:
        rows.emplace_back(FactRow{"key", text});
        break;
      default: {
        FullActivity full;
        full.config.name = std::string_view(text).substr(0, 200'000);
        full.row.start_ns = i;
        rows.emplace_back(full);
        break;
      }
    }
    for (uint32_t j = samples.Below(2000); j > 0; --j) samples.AddLaunch(&rows);
  }
  const TestFile file;
  const RowLog log = WriteAndRead(rows, file);
  EXPECT_GE(log.segments.size(), 3u);
  ExpectAllSame(static_cast<AnyRow*>(nullptr), rows, log);
}

// The footer is a block too: it must not cross into the next segment.
TEST(RoundTrip, FooterFitsAtAnyDistanceFromTheBorder) {
  for (uint64_t room = 0; room < 80; room += Stride(5)) {
    const TestFile file;
    Writer writer(file.Open(), "t", UINT64_MAX);
    const auto add = [&](size_t size) {
      writer.Add(FactRow{"k", std::string_view(std::string(size, 'y'))});
      writer.Flush();
    };
    // 4 MB texts up to near the border, then one that leaves `room` bytes or a little less.
    while (writer.bytes_written() + (4u << 20) + 200 < kSegmentBytes) add(4u << 20);
    const uint64_t rest = kSegmentBytes - writer.bytes_written() - room;
    add(rest - sizeof(BlockHeader) - 2 - 4);
    writer.Finish();
    RowLog log;
    const auto outcome = ReadRecording(file.path(), log);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->complete) << room;
    EXPECT_EQ(outcome->damaged_blocks, 0u);
  }
}

TEST(RoundTrip, LongTextsAreCutAndStateTheirLength) {
  const std::string text(kMaxTextBytes + 5, 'x');
  const TestFile file;
  const RowLog log = WriteAndRead({StringRow{.id = 1, .text = text}, FactRow{"key", text}}, file);
  ASSERT_EQ(log.Of<StringRow>().size(), 1u);
  EXPECT_EQ(log.Of<StringRow>()[0].text.size(), kMaxTextBytes);
  EXPECT_EQ(log.Of<StringRow>()[0].full_bytes, text.size());
  EXPECT_EQ(log.Of<FactRow>()[0].value.size(), kMaxTextBytes);
}

TEST(RoundTrip, DefinitionsComeBeforeWhatRefersToThem) {
  const TestFile file;
  const RowLog log = WriteAndRead(
      {FullActivity{}, ApiCallRow{.thunk = 1}, StringRow{.id = 1, .text = "Thunk:"}}, file);
  ASSERT_EQ(log.rows.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<StringRow>(log.rows[0]));
  EXPECT_TRUE(std::holds_alternative<ApiCallRow>(log.rows[1]));
}

// CUPTI's names belong to a module; another one, loaded later, may have its names in the same
// place.
TEST(RoundTrip, NameWithReusedMemoryIsWrittenAgain) {
  const TestFile file;
  char name[16] = "";
  {
    Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
    for (uint32_t i = 0; i < 6; ++i) {
      std::snprintf(name, sizeof(name), "kernel_%u", i / 2 % 2);
      ConfigRow config;
      config.name = name;
      ActivityRow row;
      row.correlation = i + 1;
      writer.AddActivity(row, config, LaneRow{0, 1, 7});
    }
    writer.Finish();
  }
  RowLog log;
  ASSERT_TRUE(ReadRecording(file.path(), log));
  std::vector<std::string> names;
  for (const FullActivity& activity : log.Of<FullActivity>()) {
    names.emplace_back(activity.config.name);
  }
  EXPECT_THAT(names,
              ElementsAre("kernel_0", "kernel_0", "kernel_1", "kernel_1", "kernel_0", "kernel_0"));
}

TEST(RoundTrip, TypicalLaunchTakesAtMost32Bytes) {
  // A step of 144 thunks, kernels of 40 names; times as on a device that is busy.
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  std::mt19937_64 random(5);
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("loop_add_subtract_fusion_" + std::to_string(i));
  uint64_t host = 1'700'000'000'000'000'000;
  uint64_t device = host;
  uint32_t correlation = 1000;
  constexpr uint64_t kLaunches = 200'000;
  for (uint64_t i = 0; i < kLaunches; ++i) {
    host += 3000 + random() % 4000;
    correlation += 1 + static_cast<uint32_t>(random() % 3);
    const uint32_t thunk = 5000 + 4 * static_cast<uint32_t>(i % 144);
    writer.Add(ApiCallRow{.thread = 4242,
                          .function = 652,
                          .correlation = correlation,
                          .start_ns = host,
                          .end_ns = host + 1500 + random() % 1000,
                          .thunk = thunk,
                          .module_run = 1 + i / 144});
    device = std::max(device + 700 + random() % 600, host + 5000);
    const uint64_t start = device;
    device += 2000 + random() % 200'000;
    writer.AddActivity({.start_ns = start, .end_ns = device, .correlation = correlation},
                       {.name = names[i % 144 % 40], .grid = {1, 1, 1}, .block = {128, 1, 1}},
                       {0, 1, 13});
  }
  writer.Finish();
  EXPECT_LE(static_cast<double>(writer.bytes_written()) / kLaunches, 32.0);
}

}  // namespace
}  // namespace xlatrace::recording
