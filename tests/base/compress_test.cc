#include "base/compress.h"

#include <string>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(CompressTest, ZstdRoundTrip) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string(100000, 'z')}) {
    const auto back = ZstdDecompress(ZstdCompress(bytes));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, bytes);
  }
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

TEST(CompressTest, InflateKnowsZstdAndLeavesOtherBytesAlone) {
  EXPECT_EQ(*Inflate(ZstdCompress("hello"), "x"), "hello");
  EXPECT_EQ(*Inflate("hello", "x"), "hello");
}

TEST(CompressTest, ABombIsAnErrorNotAnOutOfMemory) {
  const std::string bomb = ZstdCompress(std::string(size_t{200} << 20, '\0'));
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

}  // namespace
}  // namespace xlatrace
