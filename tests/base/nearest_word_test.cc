// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(NearestWord, MisspeltWordFindsTheWord) {
  EXPECT_EQ(NearestWord("opp", {"op", "phase"}), "op");
  EXPECT_EQ(NearestWord("lanch", {"gap", "launch", "loss"}), "launch");
  EXPECT_EQ(NearestWord("jsn", {"text", "json"}), "json");
}

TEST(NearestWord, OnlyWordWithThePrefixIsFound) {
  EXPECT_EQ(NearestWord("perf", {"perfetto", "pprof"}), "perfetto");
  // Two words have this prefix, and the shorter one is nearer.
  EXPECT_EQ(NearestWord("sta", {"status", "start"}), "start");
}

TEST(NearestWord, DistantWordFindsNone) {
  EXPECT_EQ(NearestWord("colour", {"op", "phase"}), "");
  EXPECT_EQ(NearestWord("xy", {"op"}), "");
  EXPECT_EQ(NearestWord("", {"op"}), "");
  EXPECT_EQ(NearestWord(std::string(1000, 'a'), {std::string(999, 'a')}), "");
  EXPECT_EQ(NearestWord("op", {}), "");
}

}  // namespace
}  // namespace xlatrace
