// SPDX-License-Identifier: Apache-2.0

// Recordings of killed processes, damaged, growing and foreign ones. The reader returns the whole
// rows in order, never anything else, and counts missing blocks.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "recording/folder.h"
#include "tests/golden_text/golden_text.h"
#include "tests/recording/row_log.h"
#include "tests/recording/sample_rows.h"
#include "tests/tiers.h"

namespace xlatrace::recording {
namespace {

using ::testing::HasSubstr;

// A small file with several blocks of every kind, and what it holds.
class SmallFile {
 public:
  SmallFile() {
    const TestFile file;
    SampleRows samples(9);
    Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
    for (uint64_t flush = 0; flush < 2; ++flush) {
      std::vector<AnyRow> rows = samples.AllAt(flush * 1000, "name");
      for (int i = 0; i < 5; ++i) samples.AddLaunch(&rows);
      for (const AnyRow& row : rows) WriteRow(row, writer);
      writer.Flush();
    }
    writer.Finish();
    bytes_ = file.Bytes();
    EXPECT_TRUE(ReadRecording(file.path(), whole_));
  }
  SmallFile(const SmallFile&) = delete;
  SmallFile& operator=(const SmallFile&) = delete;
  ~SmallFile() { close(memory_); }

  const std::string& bytes() const { return bytes_; }
  const std::vector<AnyRow>& whole() const { return whole_.rows; }
  // In memory: thousands of versions of the file are read.
  Result<ReadOutcome> Read(const std::string& bytes, RowSink& sink) const {
    EXPECT_EQ(ftruncate(memory_, 0), 0);
    EXPECT_EQ(pwrite(memory_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return ReadRecording("/proc/self/fd/" + std::to_string(memory_), sink);
  }

 private:
  const int memory_ = memfd_create("recording", MFD_CLOEXEC);
  std::string bytes_;
  RowLog whole_;
};

bool IsSubsequence(const std::vector<AnyRow>& part, const std::vector<AnyRow>& whole) {
  size_t at = 0;
  for (const AnyRow& row : part) {
    while (at < whole.size() && !(whole[at] == row)) ++at;
    if (at++ == whole.size()) return false;
  }
  return true;
}

TEST(Damage, CutAtEveryByteGivesAWholeBeginning) {
  const SmallFile small;
  RowLog nothing;
  const auto one_byte = small.Read(small.bytes().substr(0, 1), nothing);
  ASSERT_FALSE(one_byte);
  size_t most = 0;
  for (size_t size = 0; size < small.bytes().size(); ++size) {
    RowLog log;
    const auto outcome = small.Read(small.bytes().substr(0, size), log);
    if (!outcome) {
      EXPECT_LT(size, sizeof(BlockHeader));
      EXPECT_EQ(outcome.error().message, one_byte.error().message) << size;
      continue;
    }
    EXPECT_FALSE(outcome->complete) << size;
    EXPECT_LE(outcome->bytes_read, size);
    ASSERT_LE(log.rows.size(), small.whole().size());
    EXPECT_TRUE(std::equal(log.rows.begin(), log.rows.end(), small.whole().begin())) << size;
    EXPECT_GE(log.rows.size(), most);  // More bytes never give fewer rows.
    most = std::max(most, log.rows.size());
  }
  EXPECT_EQ(most, small.whole().size());  // All but the footer is there without the last byte.
}

// A header that was not written yet: the payload lies behind 32 zeros.
TEST(Damage, BlockWithoutItsHeaderIsTheEndNotDamage) {
  const SmallFile small;
  std::string bytes = small.bytes();
  const size_t footer = bytes.rfind("XLBK");
  const size_t last = bytes.rfind("XLBK", footer - 1);
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(last),
            bytes.begin() + static_cast<ptrdiff_t>(last + sizeof(BlockHeader)), '\0');
  bytes.resize(footer);
  RowLog log;
  const auto outcome = small.Read(bytes, log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->damaged_blocks, 0u);
  EXPECT_FALSE(outcome->complete);
  EXPECT_EQ(outcome->bytes_read, last);
}

TEST(Damage, AnyFlippedBitIsDetectedAndNoRowIsInvented) {
  const SmallFile small;
  for (size_t at = 0; at < small.bytes().size(); ++at) {
    std::string bytes = small.bytes();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    RowLog log;
    const auto outcome = small.Read(bytes, log);
    if (!outcome) {
      EXPECT_LT(at, 200u) << outcome.error().message;  // The first block identifies the type of the
                                                       // file.
      continue;
    }
    EXPECT_FALSE(outcome->complete) << at;
    EXPECT_GE(outcome->damaged_blocks, 1u) << at;
    EXPECT_TRUE(IsSubsequence(log.rows, small.whole())) << at;
  }
}

TEST(Damage, RandomBytesAndPiecesNeitherCrashNorHang) {
  const SmallFile small;
  std::mt19937_64 random(4);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = small.bytes();
    for (int change = 0; change < 1 + i % 7; ++change) {
      const size_t at = random() % bytes.size();
      const size_t size = std::min(bytes.size() - at, random() % 200);
      switch (random() % 3) {
        case 0:
          bytes.erase(at, size);
          break;
        case 1:
          bytes.insert(at, bytes.substr(random() % bytes.size(), size));
          break;
        default:
          for (size_t j = at; j < at + size; ++j) bytes[j] = static_cast<char>(random());
      }
      if (bytes.empty()) bytes = "x";
    }
    RowLog log;
    const auto outcome = small.Read(bytes, log);
    if (outcome) {
      EXPECT_TRUE(IsSubsequence(log.rows, small.whole()) || outcome->missing_blocks > 0 ||
                  outcome->damaged_blocks > 0);
    }
  }
}

TEST(Damage, OtherFilesAreRefused) {
  const TestFile file;
  std::set<std::string> errors;
  for (const std::string& bytes :
       {std::string("SQLite format 3"), std::string(5000, '\0'), std::string("XLB")}) {
    file.SetBytes(bytes);
    RowLog log;
    const auto outcome = ReadRecording(file.path(), log);
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message, HasSubstr(file.path()));
    EXPECT_NE(outcome.error().hint, "");
    errors.insert(outcome.error().message + "\n" + outcome.error().hint);
  }
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_GOLDEN_TEXT(*errors.begin());
  RowLog log;
  EXPECT_FALSE(ReadRecording("/dev/zero", log));
  EXPECT_FALSE(ReadRecording("/nonexistent", log));
}

// Builds a block by hand, as another version of the writer might.
std::string RawBlock(BlockType type, uint64_t sequence, const Encoder& payload, uint32_t rows) {
  BlockHeader header;
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  header.type = type;
  header.rows = rows;
  header.sequence = sequence;
  header.checksum = BlockChecksum(header, payload.data());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  return bytes;
}
std::string SegmentBlock(uint64_t version, uint64_t number, uint64_t sequence) {
  Encoder payload;
  payload.Number(version);
  payload.Number(number);
  payload.Text("token.host.7.1f");
  return RawBlock(BlockType::kSegment, sequence, payload, 1);
}

TEST(Damage, NewerVersionIsRefused) {
  const TestFile file;
  file.SetBytes(SegmentBlock(kFormatVersion + 1, 0, 0));
  RowLog log;
  const auto outcome = ReadRecording(file.path(), log);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr(file.path()));
  EXPECT_GOLDEN_TEXT(outcome.error().message + "\n" + outcome.error().hint);
}

TEST(Damage, UnknownKindsOfBlocksAreSkippedAndCounted) {
  const TestFile file;
  Encoder unknown;
  unknown.Text("what a newer writer knows");
  Encoder fact;
  fact.Text("key");
  fact.Text("value");
  file.SetBytes(SegmentBlock(kFormatVersion, 0, 0) +
                RawBlock(static_cast<BlockType>(kLastBlockType + 1), 1, unknown, 1) +
                RawBlock(BlockType::kFacts, 2, fact, 1));
  RowLog log;
  const auto outcome = ReadRecording(file.path(), log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->unknown_blocks, 1u);
  EXPECT_EQ(outcome->damaged_blocks, 0u);
  ASSERT_EQ(log.Of<FactRow>().size(), 1u);
}

TEST(Damage, MissingBlocksAreCounted) {
  const TestFile file;
  Encoder fact;
  fact.Text("key");
  fact.Text("value");
  file.SetBytes(SegmentBlock(kFormatVersion, 0, 0) + RawBlock(BlockType::kFacts, 4, fact, 1));
  RowLog log;
  const auto outcome = ReadRecording(file.path(), log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->missing_blocks, 3u);
}

TEST(Damage, RowCountsAreNotTrusted) {
  const TestFile file;
  Encoder little;
  little.Number(1);
  file.SetBytes(SegmentBlock(kFormatVersion, 0, 0) +
                RawBlock(BlockType::kApiCalls, 1, little, UINT32_MAX));
  RowLog log;
  const auto outcome = ReadRecording(file.path(), log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->damaged_blocks, 1u);
}

TEST(Damage, ActivityWithADanglingReferenceIsDamage) {
  const TestFile file;
  Encoder activity;
  BlockContext before;
  Put(activity, ActivityRow{.lane = 3, .config = 9}, before);
  file.SetBytes(SegmentBlock(kFormatVersion, 0, 0) +
                RawBlock(BlockType::kActivities, 1, activity, 1));
  RowLog log;
  const auto outcome = ReadRecording(file.path(), log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->damaged_blocks, 1u);
  EXPECT_TRUE(log.rows.empty());
}

// Three segments; the first and the last are whole, the one between is hit.
TEST(Damage, NextSegmentIsReadAfterADamagedOne) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  SampleRows samples(6);
  const size_t written = samples.Fill(writer, 2 * kSegmentBytes + (4u << 20)).size();
  writer.Finish();
  RowLog whole;
  ASSERT_TRUE(ReadRecording(file.path(), whole));
  ASSERT_EQ(whole.rows.size(), written);
  ASSERT_EQ(whole.segments.size(), 3u);

  const std::string bytes = file.Bytes();
  // Its first block; then one in its middle; then all of it gone.
  std::string hit = bytes;
  hit[kSegmentBytes + 40] = static_cast<char>(hit[kSegmentBytes + 40] ^ 1);
  file.SetBytes(hit);
  RowLog first;
  auto outcome = ReadRecording(file.path(), first);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->damaged_blocks, 1u);
  EXPECT_GT(outcome->missing_blocks, 0u);
  EXPECT_EQ(outcome->first_damage_offset, kSegmentBytes);
  EXPECT_EQ(first.segments, (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(first.rows, whole.rows);  // That block held no row.

  hit = bytes;
  const size_t middle = bytes.find("XLBK", kSegmentBytes + kSegmentBytes / 2);
  hit[middle + 40] = static_cast<char>(hit[middle + 40] ^ 1);
  file.SetBytes(hit);
  RowLog second;
  outcome = ReadRecording(file.path(), second);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(second.segments, (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_LT(second.rows.size(), whole.rows.size());
  EXPECT_TRUE(IsSubsequence(second.rows, whole.rows));

  hit = bytes;
  std::fill(hit.begin() + kSegmentBytes, hit.begin() + 2 * kSegmentBytes, '\0');
  file.SetBytes(hit);
  RowLog third;
  outcome = ReadRecording(file.path(), third);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->complete);
  EXPECT_GT(outcome->missing_blocks, 0u);
  EXPECT_EQ(third.segments, (std::vector<uint64_t>{0, 2}));
  EXPECT_LT(third.rows.size(), second.rows.size());
  EXPECT_TRUE(IsSubsequence(third.rows, whole.rows));
}

struct PlacedBlock {
  size_t offset = 0;
  BlockHeader header;
};
// The blocks of a whole file of one segment.
std::vector<PlacedBlock> BlocksOf(const std::string& bytes) {
  std::vector<PlacedBlock> blocks;
  for (size_t at = 0; at < bytes.size();) {
    PlacedBlock& block = blocks.emplace_back();
    block.offset = at;
    std::memcpy(&block.header, bytes.data() + at, sizeof(block.header));
    at += sizeof(block.header) + block.header.payload_bytes;
  }
  return blocks;
}
bool IsDictionary(BlockType type) {
  return type == BlockType::kConfigs || type == BlockType::kLanes;
}

// A file of one segment with many blocks of rows and of dictionaries.
class LongFile {
 public:
  LongFile() {
    Writer writer(file_.Open(), "token.host.7.1f", UINT64_MAX);
    SampleRows samples(11);
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i) names.push_back("kernel_" + std::to_string(i));
    for (uint32_t flush = 0; flush < 60; ++flush) {
      for (uint32_t i = 0; i < 40; ++i) {
        const size_t name = (flush * 5 + i * i) % names.size();
        ConfigRow config;
        config.name = names[name];
        writer.AddActivity({.correlation = flush * 100 + i}, config, {.stream = flush / 10});
      }
      writer.Add(FactRow{"flush", std::to_string(flush)});
      writer.Flush();
    }
    writer.Finish();
    bytes_ = file_.Bytes();
    EXPECT_TRUE(ReadRecording(file_.path(), whole_));
  }
  const std::string& bytes() const { return bytes_; }
  const std::vector<AnyRow>& whole() const { return whole_.rows; }
  Result<ReadOutcome> Read(const std::string& bytes, RowSink& sink) const {
    file_.SetBytes(bytes);
    return ReadRecording(file_.path(), sink);
  }

 private:
  TestFile file_;
  std::string bytes_;
  RowLog whole_;
};

TEST(Damage, FlippedBitCostsItsBlockAndWhatRefersToIt) {
  const LongFile file;
  const std::vector<PlacedBlock> blocks = BlocksOf(file.bytes());
  ASSERT_GT(blocks.size(), 150u);
  std::mt19937_64 random(8);
  uint64_t unnamed = 0;
  for (const PlacedBlock& block : blocks) {
    const size_t size = sizeof(BlockHeader) + block.header.payload_bytes;
    for (int round = 0; round < Repetitions(1, 4); ++round) {
      const size_t at = block.offset + random() % size;
      if (at < sizeof(kBlockMagic)) continue;  // Without it the file is no recording.
      std::string bytes = file.bytes();
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
      RowLog log;
      const auto outcome = file.Read(bytes, log);
      ASSERT_TRUE(outcome);
      EXPECT_EQ(outcome->damaged_blocks, 1u) << at;
      EXPECT_EQ(outcome->damaged_bytes, size) << at;
      EXPECT_FALSE(outcome->complete);
      EXPECT_TRUE(IsSubsequence(log.rows, file.whole())) << at;
      const bool rows =
          block.header.type == BlockType::kActivities || block.header.type == BlockType::kFacts;
      EXPECT_EQ(log.rows.size() + outcome->unnamed_rows + (rows ? block.header.rows : 0),
                file.whole().size())
          << at;
      EXPECT_TRUE(outcome->unnamed_rows == 0 || IsDictionary(block.header.type));
      unnamed += outcome->unnamed_rows;
    }
  }
  EXPECT_GT(unnamed, 0u);
}

TEST(Damage, DamageIsReportedOnceAndCountedEverywhere) {
  const LongFile file;
  const std::vector<PlacedBlock> blocks = BlocksOf(file.bytes());
  std::string bytes = file.bytes();
  const size_t hits[] = {blocks.size() / 4, blocks.size() / 2, blocks.size() - 5};
  size_t lost = 0;
  for (const size_t k : hits) {
    const size_t at = blocks[k].offset + sizeof(BlockHeader);
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    lost += sizeof(BlockHeader) + blocks[k].header.payload_bytes;
  }
  RowLog log;
  const auto outcome = file.Read(bytes, log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->damaged_blocks, 3u);
  EXPECT_EQ(outcome->damaged_bytes, lost);
  EXPECT_EQ(outcome->first_damage_offset, blocks[hits[0]].offset);
}

// All blocks are there, and the footer; still it is not as it was written.
TEST(Damage, BytesAfterTheFooterAreDamage) {
  const LongFile file;
  RowLog log;
  const auto outcome = file.Read(file.bytes() + std::string(100, 'x'), log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(log.rows, file.whole());
  EXPECT_EQ(outcome->missing_blocks, 0u);
  EXPECT_EQ(outcome->damaged_blocks, 1u);
  EXPECT_FALSE(outcome->complete);
}

// Files of older writers do not have the position of a dictionary block.
TEST(Damage, NamesAfterAMissingBlockAreNotGuessed) {
  const LongFile file;
  std::string older = file.bytes();
  const std::vector<PlacedBlock> blocks = BlocksOf(older);
  for (PlacedBlock block : blocks) {
    block.header.first_id = 0;
    block.header.checksum =
        BlockChecksum(block.header, reinterpret_cast<const uint8_t*>(older.data()) + block.offset +
                                        sizeof(BlockHeader));
    std::memcpy(older.data() + block.offset, &block.header, sizeof(block.header));
  }
  RowLog whole;
  const auto undamaged = file.Read(older, whole);
  ASSERT_TRUE(undamaged);
  EXPECT_TRUE(undamaged->complete);
  EXPECT_EQ(whole.rows, file.whole());
  for (const PlacedBlock& block : blocks) {
    std::string bytes = older;
    const size_t at = block.offset + sizeof(BlockHeader);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    RowLog log;
    const auto outcome = file.Read(bytes, log);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(IsSubsequence(log.rows, file.whole())) << at;
    const bool rows =
        block.header.type == BlockType::kActivities || block.header.type == BlockType::kFacts;
    EXPECT_EQ(log.rows.size() + outcome->unnamed_rows + (rows ? block.header.rows : 0),
              file.whole().size());
  }
}

// Every 32 bytes look like the header of a block of 8 MB.
TEST(Damage, SearchAmongFalseBlockStartsTerminates) {
  const TestFile file;
  std::string bytes = SegmentBlock(kFormatVersion, 0, 0);
  BlockHeader header;
  header.payload_bytes = kMaxPayloadBytes;
  header.type = BlockType::kApiCalls;
  header.rows = 1;
  header.sequence = 1;
  while (bytes.size() < kSegmentBytes) {
    bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  }
  bytes.resize(kSegmentBytes);
  file.SetBytes(bytes);
  RowLog log;
  const auto outcome = ReadRecording(file.path(), log);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->damaged_blocks, 1u);
  EXPECT_TRUE(log.rows.empty());
}

TEST(Growing, GrowingFileGivesEarlierRowsUnchanged) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
  const auto add = [&](const char* value) {
    writer.Add(FactRow{"key", value});
    writer.Flush();
  };
  add("one");
  RowLog first;
  const auto before = ReadRecording(file.path(), first);
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->complete);
  EXPECT_EQ(first.Of<FactRow>().size(), 1u);
  add("two");
  RowLog again;
  const auto same = ReadRecording(file.path(), again, before->bytes_read);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->bytes_read, before->bytes_read);
  EXPECT_EQ(again.Of<FactRow>().size(), 1u);
  RowLog more;
  const auto later = ReadRecording(file.path(), more);
  ASSERT_TRUE(later);
  EXPECT_GT(later->bytes_read, before->bytes_read);
  EXPECT_EQ(more.Of<FactRow>().size(), 2u);
}

TEST(Reading, OnlyRequestedRowsAreRead) {
  const SmallFile small;
  class CallsOnly final : public RowSink {
   public:
    bool Accepts(BlockType type) const override { return type == BlockType::kApiCalls; }
    void OnApiCall(const ApiCallRow&) override { ++calls; }
    void OnActivity(const ActivityRow&, const ConfigRow&, const LaneRow&) override { ++others; }
    void OnString(const StringRow&) override { ++others; }
    int calls = 0;
    int others = 0;
  } sink;
  const auto outcome = small.Read(small.bytes(), sink);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->complete);
  EXPECT_GT(sink.calls, 0);
  EXPECT_EQ(sink.others, 0);
}

TEST(Writing, WriterStopsAtTheLimitAndCountsLostRows) {
  const TestFile file;
  Writer writer(file.Open(), "token.host.7.1f", 100'000);
  const std::string text(1000, 'x');
  for (int i = 0; i < 500; ++i) {
    writer.Add(FactRow{"key", text});
    writer.Flush();
  }
  writer.Finish();
  EXPECT_TRUE(writer.failed());
  EXPECT_EQ(writer.stop_errno(), EFBIG);
  EXPECT_LE(file.Bytes().size(), 100'000u);
  RowLog log;
  const auto outcome = ReadRecording(file.path(), log);
  ASSERT_TRUE(outcome);
  // The process did close its file: the footer and the reason for the stop are in the reserve.
  EXPECT_TRUE(outcome->complete);
  const auto facts = log.Of<FactRow>();
  EXPECT_EQ(facts.size() - 3 + writer.lost_rows(), 500u);
  EXPECT_THAT(writer.StopReason(), HasSubstr("100000"));
  EXPECT_GOLDEN_TEXT(writer.StopReason());
}

TEST(Writing, FullDiskStopsTheWriterForGood) {
  const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full";
  Writer writer(full, "t", UINT64_MAX);
  writer.Add(FactRow{"key", "value"});
  writer.Flush();
  EXPECT_EQ(writer.stop_errno(), ENOSPC);
  EXPECT_EQ(writer.lost_rows(), 2u);  // The segment's own row and the fact.
}

TEST(Writing, ForkedChildReleasesTheFile) {
  const TestFile file;
  Writer writer(file.Open(), "t", UINT64_MAX);
  writer.Add(FactRow{"key", "value"});
  writer.Flush();
  const size_t size = file.Bytes().size();
  writer.Abandon();
  writer.Add(FactRow{"key", "of the child"});
  writer.Finish();
  EXPECT_EQ(file.Bytes().size(), size);
}

class FolderTest : public ::testing::Test {
 protected:
  void Touch(const std::string& name, const std::string& text = "x") {
    std::ofstream(folder() / name) << text;
  }
  std::filesystem::path folder() const { return std::filesystem::path(file_.path()).parent_path(); }
  TestFile file_;
};

TEST_F(FolderTest, FileKindFollowsFromItsName) {
  Touch("tok-1.node1.cluster.local.77.6b01.rec");
  Touch("tok-1.b.5.10.rec");
  Touch("tok-1.b.6.11.note");
  Touch("job", "tok-1\n");
  for (const char* other : {"lock", "a.rec", "x.y.z.rec", "tok.host.7.zz.rec", ".h.7.1.rec",
                            "tok..7.1.rec", "run.db", "tok.host.-7.1.rec"}) {
    Touch(other);
  }
  std::filesystem::create_directory(folder() / "tok.h.1.1.rec");
  std::filesystem::create_symlink("/etc/passwd", folder() / "tok.h.2.1.rec");
  const auto listed = ListFolder(folder().string());
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->job, "tok-1");
  ASSERT_EQ(listed->recordings.size(), 2u);
  EXPECT_EQ(listed->recordings[0].pid, 5);  // By start.
  EXPECT_EQ(listed->recordings[0].start_s, 0x10);
  EXPECT_EQ(listed->recordings[1].token, "tok-1");
  EXPECT_EQ(listed->recordings[1].host, "node1.cluster.local");
  EXPECT_EQ(listed->recordings[1].start_s, 0x6b01);
  EXPECT_EQ(listed->recordings[1].bytes, 1u);
  EXPECT_FALSE(listed->recordings[1].live);
  ASSERT_EQ(listed->notes.size(), 1u);
  EXPECT_EQ(listed->notes[0].pid, 6);
}

TEST_F(FolderTest, RecordingFolderIsDistinguishedFromOtherFolders) {
  EXPECT_FALSE(LooksLikeRecordingFolder(folder().string()));
  Touch("train.rec");
  EXPECT_FALSE(LooksLikeRecordingFolder(folder().string()));
  Touch("t.h.1.1.note");
  EXPECT_TRUE(LooksLikeRecordingFolder(folder().string()));
  EXPECT_FALSE(LooksLikeRecordingFolder((folder() / "none").string()));
}

}  // namespace
}  // namespace xlatrace::recording
