// SPDX-License-Identifier: Apache-2.0
#include "base/compress.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/inflate_stream.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace {
namespace {

TEST(CompressTest, ZstdRoundTrip) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string(100000, 'z')}) {
    const auto back = ZstdDecompress(ZstdCompress(bytes));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, bytes);
  }
}

TEST(CompressTest, HighlyCompressibleBytesRoundTrip) {
  const std::string zeros(size_t{100} << 20, '\0');
  const std::string packed = ZstdCompress(zeros);
  EXPECT_LT(packed.size(), zeros.size() / 399);
  const auto back = ZstdDecompress(packed);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(*back == zeros);
}

// A zstd frame by hand (RFC 8878, 3.1.1): 2 GiB in blocks of one repeated byte, 64 KiB.
std::string Bomb() {
  std::string bomb("\x28\xB5\x2F\xFD\xE0\x00\x00\x00\x80\x00\x00\x00\x00", 13);
  for (int i = 0; i < 16384; ++i) {
    const uint32_t header = (i == 16383 ? 1u : 0u) | 1u << 1 | (128u << 10) << 3;
    for (int byte = 0; byte < 3; ++byte) bomb += static_cast<char>(header >> (8 * byte));
    bomb += 'a';
  }
  return bomb;
}

TEST(CompressTest, StoredBombIsRefusedBeforeAllocation) {
  const auto refused = ZstdDecompress(Bomb());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("2147483648"));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("400"));
  EXPECT_NE(refused.error().hint, "");
  EXPECT_GOLDEN_TEXT(refused.error().message + "\n" + refused.error().hint);
}

TEST(CompressTest, GzipRoundTripIsOneMemberWithoutTime) {
  std::string text;
  for (uint32_t i = 0; i < 50'000; ++i) text += static_cast<char>(i * i >> 5);
  const std::string packed = GzipCompress(text);
  ASSERT_GT(packed.size(), 18u);
  EXPECT_EQ(packed.substr(0, 3), "\x1f\x8b\x08");
  EXPECT_EQ(packed.substr(4, 4), std::string(4, '\0'));  // No time: the same bytes every time.
  EXPECT_EQ(*Inflate(packed, "t"), text);
}

TEST(CompressTest, InflateReadsZstdAndReturnsOtherBytesUnchanged) {
  EXPECT_EQ(*Inflate(ZstdCompress("hello"), "x"), "hello");
  EXPECT_EQ(*Inflate("hello", "x"), "hello");
}

TEST(CompressTest, ABombIsAnErrorNotAnOutOfMemory) {
  const std::string bomb = Bomb();
  const auto inflated = Inflate(bomb, "bomb.zst");
  ASSERT_FALSE(inflated);
  EXPECT_NE(inflated.error().message.find("bomb.zst"), std::string::npos);
  EXPECT_FALSE(ZstdDecompress(bomb, 1 << 20));
}

TEST(CompressTest, DamageIsAnErrorAtEveryCut) {
  const std::string whole = ZstdCompress("the quick brown fox jumps over the lazy dog");
  for (size_t size = 4; size < whole.size(); ++size) {
    EXPECT_FALSE(Inflate(whole.substr(0, size), "cut.zst")) << size;
    EXPECT_FALSE(ZstdDecompress(whole.substr(0, size))) << size;
  }
}

// Bytes that gzip makes little of, so that a cut anywhere is a cut inside of them.
std::string NoiseText(size_t size) {
  std::string text;
  uint32_t state = 1;
  while (text.size() < size) {
    state = state * 1664525 + 1013904223;
    text += static_cast<char>(state >> 24);
  }
  return text;
}

class GzipFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            ("xlatrace_gzip_" + std::string(info->name()) + std::to_string(getpid()));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // All that the file gives, and the error it ends with.
  std::string ReadAll(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    error_.clear();
    std::string text;
    auto stream = InflateStream::Open(path_);
    if (!stream) {
      error_ = stream.error().message;
      return text;
    }
    char block[1000];
    while (true) {
      const auto got = stream->Read(block, sizeof(block));
      if (!got) error_ = got.error().message;
      if (!got || *got == 0) return text;
      text.append(block, *got);
    }
  }

  std::filesystem::path path_;
  std::string error_;
};

TEST_F(GzipFileTest, TruncatedAnywhereItGivesItsFirstBytes) {
  const std::string text = NoiseText(20'000);
  const std::string packed = GzipCompress(text);
  std::string first_error;
  for (size_t size = 30; size < packed.size(); size += 997) {
    const std::string got = ReadAll(packed.substr(0, size));
    // Stored or coded, a byte of noise takes a byte: no more is missing than a block's state.
    EXPECT_EQ(got, text.substr(0, got.size())) << size;
    EXPECT_GE(got.size() + 1000, size) << size;
    const std::string count = std::to_string(got.size()) + " bytes";
    const size_t at = error_.find(count);
    ASSERT_NE(at, std::string::npos) << error_;
    const std::string error = error_.replace(at, count.size(), "N bytes");
    if (first_error.empty()) first_error = error;
    EXPECT_EQ(error, first_error) << size;
    EXPECT_FALSE(Inflate(packed.substr(0, size), "cut.gz")) << size;
  }
  EXPECT_GOLDEN_TEXT(first_error);
}

TEST_F(GzipFileTest, WrongChecksumIsReportedAfterTheBytes) {
  const std::string text = NoiseText(5'000);
  std::set<std::string> errors;
  for (const size_t from_end : {1, 4, 8}) {
    std::string packed = GzipCompress(text);
    packed[packed.size() - from_end] ^= 1;
    EXPECT_EQ(ReadAll(packed), text);
    errors.insert(error_);
    EXPECT_FALSE(Inflate(packed, "changed.gz"));
  }
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_GOLDEN_TEXT(*errors.begin());
}

TEST_F(GzipFileTest, MembersAreJoinedAndWhatFollowsIsLeft) {
  const std::string two = GzipCompress("hello ") + GzipCompress("world");
  for (const std::string& tail : {std::string(), std::string(600, '\0'), std::string("PADDING")}) {
    EXPECT_EQ(ReadAll(two + tail), "hello world");
    EXPECT_EQ(error_, "");
    EXPECT_EQ(*Inflate(two + tail, "two.gz"), "hello world");
  }
}

TEST_F(GzipFileTest, EmptyAndNestedCompressionIsRead) {
  EXPECT_EQ(ReadAll(GzipCompress("")), "");
  EXPECT_EQ(error_, "");
  EXPECT_EQ(ReadAll(GzipCompress(GzipCompress(GzipCompress("deep")))), "deep");
  EXPECT_EQ(error_, "");
  EXPECT_EQ(ReadAll(GzipCompress(ZstdCompress("deep"))), "deep");
  EXPECT_EQ(*Inflate(GzipCompress(ZstdCompress("deep")), "x"), "deep");
}

}  // namespace
}  // namespace xlatrace
