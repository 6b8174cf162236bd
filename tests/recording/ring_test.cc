// SPDX-License-Identifier: Apache-2.0

// A recording that keeps only the end of what came.

#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "tests/recording/row_log.h"
#include "tests/tiers.h"

namespace xlatrace::recording {
namespace {

constexpr uint64_t kHour = uint64_t{3600} * 1000000000;

void WriteRound(Writer& writer, uint32_t round) {
  const std::string name = "kernel_" + std::to_string(round % 3);
  ConfigRow config;
  config.name = name;
  for (uint32_t i = 0; i < 10; ++i) {
    ActivityRow row;
    row.start_ns = 1000 * round + i;
    row.end_ns = row.start_ns + 1;
    row.correlation = 10 * round + i + 1;
    writer.AddActivity(row, config, LaneRow{0, 1, 7});
    ApiCallRow call;
    call.correlation = row.correlation;
    writer.Add(call);
  }
  writer.Add(StringRow{.id = round + 1, .text = name});
  writer.Flush();
}

struct Read {
  RowLog log;
  ReadOutcome outcome;
};
Read ReadAll(const TestFile& file) {
  Read read;
  const auto outcome = ReadRecording(file.path(), read.log);
  EXPECT_TRUE(outcome);
  if (outcome) read.outcome = *outcome;
  return read;
}

TEST(Ring, OldRowsAreRemovedAndDefinitionsKept) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  writer.KeepLast(1);  // A nanosecond: every flush begins a segment.
  for (uint32_t round = 0; round < 50; ++round) WriteRound(writer, round);
  writer.Finish();
  const Read read = ReadAll(file);
  EXPECT_TRUE(read.outcome.complete);
  EXPECT_EQ(read.outcome.missing_blocks, 0u);
  EXPECT_EQ(read.outcome.damaged_blocks, 0u);
  EXPECT_EQ(read.log.Of<StringRow>().size(), 50u);
  const auto activities = read.log.Of<FullActivity>();
  ASSERT_FALSE(activities.empty());
  EXPECT_LT(activities.size(), 50u);
  EXPECT_EQ(activities.back().row.correlation % 10, 0u);  // Whole rounds.
  // Nor has a call lost its activity, or an activity its call.
  std::set<uint32_t> ran;
  std::set<uint32_t> called;
  for (const FullActivity& activity : activities) ran.insert(activity.row.correlation);
  for (const ApiCallRow& call : read.log.Of<ApiCallRow>()) called.insert(call.correlation);
  EXPECT_EQ(ran, called);
  bool last = false;
  for (const FullActivity& activity : activities) {
    const uint32_t round = (activity.row.correlation - 1) / 10;
    EXPECT_EQ(activity.config.name, "kernel_" + std::to_string(round % 3));
    last = last || round == 49;
  }
  EXPECT_TRUE(last);
  // Three or four segments, written over and over.
  EXPECT_LE(file.Bytes().size(), 5 * kSegmentBytes);
}

TEST(Ring, RowsWithinTheTimeLimitAreKept) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  writer.KeepLast(kHour);
  for (uint32_t round = 0; round < 50; ++round) WriteRound(writer, round);
  writer.Finish();
  const Read read = ReadAll(file);
  EXPECT_TRUE(read.outcome.complete);
  EXPECT_EQ(read.log.Of<FullActivity>().size(), 500u);
  EXPECT_EQ(read.log.Of<ApiCallRow>().size(), 500u);
}

TEST(Ring, SizeLimitShortensTheRing) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", 4 * kSegmentBytes);
  writer.KeepLast(kHour);
  // Names that do not repeat: some 60 MB of configurations.
  const std::string filler(4000, 'x');
  constexpr uint32_t kRows = 15000;
  for (uint32_t i = 0; i < kRows; ++i) {
    const std::string name = filler + std::to_string(i);
    ConfigRow config;
    config.name = name;
    ActivityRow row;
    row.correlation = i + 1;
    row.start_ns = i;
    row.end_ns = i + 1;
    writer.AddActivity(row, config, LaneRow{0, 1, 7});
  }
  writer.Finish();
  EXPECT_FALSE(writer.failed());
  EXPECT_EQ(writer.lost_rows(), 0u);
  const Read read = ReadAll(file);
  EXPECT_TRUE(read.outcome.complete);
  EXPECT_EQ(read.outcome.damaged_blocks, 0u) << read.outcome.first_damage_offset;
  EXPECT_EQ(read.outcome.missing_blocks, 0u);
  const auto activities = read.log.Of<FullActivity>();
  EXPECT_LT(activities.size(), kRows);
  EXPECT_GT(activities.size(), kRows / 3);
  uint32_t newest = 0;
  for (const FullActivity& activity : activities) {
    newest = std::max(newest, activity.row.correlation);
    EXPECT_EQ(activity.config.name, filler + std::to_string(activity.row.correlation - 1));
  }
  EXPECT_EQ(newest, kRows);
  EXPECT_LE(file.Bytes().size(), 4 * kSegmentBytes);
}

uint64_t test_clock_ns = 0;
uint64_t TestClock() { return test_clock_ns; }

std::set<uint32_t> RoundsOf(const Read& read) {
  std::set<uint32_t> rounds;
  for (const FullActivity& activity : read.log.Of<FullActivity>()) {
    rounds.insert((activity.row.correlation - 1) / 10);
  }
  return rounds;
}

TEST(Ring, LastRowsOfAHangingProgramAreKept) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  test_clock_ns = 0;
  writer.KeepLast(100, &TestClock);
  for (uint32_t round = 0; round < 50; ++round) {
    test_clock_ns += 10;
    WriteRound(writer, round);
  }
  // Then nothing but what flushes bring by themselves, for a thousand times as long.
  for (uint32_t flush = 0; flush < 1000; ++flush) {
    test_clock_ns += 100;
    writer.Add(ClockRow{.cupti_ns = flush});
    writer.Add(OverheadRow{.kind = 1, .start_ns = flush, .end_ns = flush + 1});
    writer.Flush();
  }
  writer.Finish();
  const Read read = ReadAll(file);
  EXPECT_EQ(read.outcome.missing_blocks, 0u);
  const std::set<uint32_t> rounds = RoundsOf(read);
  for (uint32_t round = 40; round < 50; ++round) EXPECT_TRUE(rounds.contains(round)) << round;
  EXPECT_LT(rounds.size(), 30u);
  EXPECT_EQ(*rounds.rbegin() - *rounds.begin() + 1, rounds.size());
}

TEST(Ring, RowsLeftAfterAPauseAreContiguous) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  test_clock_ns = 0;
  writer.KeepLast(100, &TestClock);
  uint32_t round = 0;
  const auto write = [&] {
    test_clock_ns += 30;  // More than a quarter: every second flush begins a segment.
    WriteRound(writer, round++);
  };
  for (int i = 0; i < 20; ++i) write();
  test_clock_ns += 10'000;  // All that is there is too old now.
  for (int i = 0; i < 6; ++i) {
    write();
    const std::set<uint32_t> rounds = RoundsOf(ReadAll(file));
    EXPECT_TRUE(rounds.contains(round - 1));
    // The rows that are not overwritten yet are the newest of the old ones.
    EXPECT_EQ(*rounds.rbegin() - *rounds.begin() + 1, rounds.size()) << *rounds.begin();
  }
}

// Behind the newest blocks of a segment lie longer ones of an older round.
TEST(Ring, DamageBringsNoOlderRoundBack) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  writer.KeepLast(1);
  for (uint32_t round = 0; round < 12; ++round) {
    for (uint32_t i = 0; i < 2000; ++i) {
      writer.Add(ApiCallRow{.correlation = 1'000'000 + 2000 * round + i});
    }
    WriteRound(writer, round);
  }
  for (uint32_t round = 12; round < 24; ++round) WriteRound(writer, round);
  writer.Finish();
  const auto calls_of = [](const Read& read) {
    std::set<uint32_t> calls;
    for (const ApiCallRow& call : read.log.Of<ApiCallRow>()) calls.insert(call.correlation);
    return calls;
  };
  const std::set<uint32_t> whole = calls_of(ReadAll(file));
  const std::string bytes = file.Bytes();
  ASSERT_FALSE(whole.empty());
  ASSERT_LT(*whole.rbegin(), 1'000'000u);
  size_t hit = 0;
  for (size_t segment = kSegmentBytes; segment < bytes.size(); segment += kSegmentBytes) {
    for (size_t at = segment; bytes.compare(at, 4, "XLBK") == 0; ++hit) {
      BlockHeader header;
      std::memcpy(&header, bytes.data() + at, sizeof(header));
      const size_t next = at + sizeof(header) + header.payload_bytes;
      // The first block of a segment does not describe the old data after it.
      if (at != segment && hit % Stride(6) == 0) {
        std::string damaged = bytes;
        damaged[next - 1] = static_cast<char>(damaged[next - 1] ^ 1);
        file.SetBytes(damaged);
        const Read read = ReadAll(file);
        EXPECT_EQ(read.outcome.damaged_blocks, 1u) << at;
        EXPECT_FALSE(read.outcome.complete) << at;
        for (const uint32_t call : calls_of(read)) EXPECT_TRUE(whole.contains(call)) << call;
      }
      at = next;
    }
  }
  EXPECT_GT(hit, 4u);
}

TEST(Ring, RingOfAKilledProcessIsComplete) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  writer.KeepLast(1);
  for (uint32_t round = 0; round < 20; ++round) {
    WriteRound(writer, round);
    const Read read = ReadAll(file);
    EXPECT_FALSE(read.outcome.complete);
    EXPECT_EQ(read.outcome.missing_blocks, 0u) << round;
    EXPECT_EQ(read.outcome.damaged_blocks, 0u) << round;
  }
}

}  // namespace
}  // namespace xlatrace::recording
