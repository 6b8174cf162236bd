// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <string>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(CsvTest, PlainTextStaysAndCommasAreQuoted) {
  EXPECT_EQ(CsvText("fusion.9"), "fusion.9");
  EXPECT_EQ(CsvText("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvText("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(CsvText(""), "");
}

TEST(CsvTest, CellsAreEscapedAgainstFormulas) {
  EXPECT_EQ(CsvText("=cmd()"), "\"'=cmd()\"");
  EXPECT_EQ(CsvText("-2+3"), "\"'-2+3\"");
  EXPECT_EQ(CsvText("\t=x"), "\"' =x\"");
  // Full-width forms, as spreadsheets with an East Asian locale read them.
  for (const char* sign : {"\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"}) {
    EXPECT_EQ(CsvText(std::string(sign) + "cmd()"), "\"'" + std::string(sign) + "cmd()\"");
  }
}

TEST(CsvTest, ControlCharactersAreReplaced) {
  EXPECT_EQ(CsvText("a\x1b[31m"), "a\xEF\xBF\xBD[31m");
  EXPECT_EQ(CsvText("a\nb"), "a b");
}

}  // namespace
}  // namespace xlatrace
