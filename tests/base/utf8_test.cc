// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

#include "base/base64.h"

namespace xlatrace {
namespace {

int32_t Decoded(std::string_view text, size_t* length) { return DecodeUtf8(text, 0, length); }

TEST(Utf8Test, DecodesEveryLength) {
  size_t length = 0;
  EXPECT_EQ(Decoded("a", &length), 'a');
  EXPECT_EQ(length, 1u);
  EXPECT_EQ(Decoded("\u00e9", &length), 0xE9);
  EXPECT_EQ(length, 2u);
  EXPECT_EQ(Decoded("\u4e2d", &length), 0x4E2D);
  EXPECT_EQ(length, 3u);
  EXPECT_EQ(Decoded("\U0001F600", &length), 0x1F600);
  EXPECT_EQ(length, 4u);
  EXPECT_EQ(DecodeUtf8("x\u00e9", 1, &length), 0xE9);
}

// Overlong forms, surrogates, beyond U+10FFFF, cut sequences, stray bytes (Unicode 15, table 3-7).
TEST(Utf8Test, InvalidUtf8IsRejectedByteByByte) {
  for (const std::string_view bad :
       {"\xC0\xAF", "\xE0\x80\xAF", "\xF0\x80\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\x80", "\xBF", "\xC3", "\xE4\xB8", "\xC3(", "\xFF"}) {
    size_t length = 0;
    EXPECT_EQ(Decoded(bad, &length), -1) << bad;
    EXPECT_EQ(length, 1u);
  }
}

TEST(Utf8Test, InvisibleCharactersAreDetected) {
  for (const int32_t code : {0, 0x1B, 0x7F, 0x9B, 0xAD, 0x200B, 0x200F, 0x2028, 0x202E, 0x2066,
                             0xFEFF, 0xFE0F, 0xE0001}) {
    EXPECT_TRUE(IsInvisible(code)) << code;
  }
  for (const int32_t code : {0x20, 0x7E, 0xA0, 0xE9, 0x4E2D, 0xFFFD, 0x1F600}) {
    EXPECT_FALSE(IsInvisible(code)) << code;
  }
}

TEST(Base64Test, GivesTheVectorsOfRfc4648) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xFB\xFF\xBF"), "+/+/");
}

}  // namespace
}  // namespace xlatrace
