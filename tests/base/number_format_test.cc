// SPDX-License-Identifier: Apache-2.0
#include "base/number_format.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/source_folder.h"

namespace xlatrace {
namespace {

std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

std::string Written(double value, const std::string& kind) {
  using Write = std::string (*)(double);
  static const std::map<std::string, Write> kWrite = {
      {"significant", Significant},
      {"duration", Duration},
      {"in words", MillisecondsText},
      {"percent", [](double v) { return Percent(v, 100); }},
      {"peak", PeakPercent},
      {"count", CountText},
      {"gaps", GapCount},
      {"bytes", Bytes},
      {"byte rate", ByteRate},
      {"flop", Flop},
      {"flop rate", FlopRate},
      {"signed", [](double v) { return WithSign(v, Significant(v < 0 ? -v : v)); }},
  };
  if ((kind == "in" || kind.starts_with("in ")) && kind != "in words")
    return InUnit(value, Trimmed(kind.substr(2)));
  const auto write = kWrite.find(kind);
  return write == kWrite.end() ? "no such kind: " + kind : write->second(value);
}

// The page's vitest reads the same file (report/ui/tests/numbers.test.ts).
TEST(NumberFormatTest, NumbersEqualTheGoldenFile) {
  std::ifstream golden(SourceFolder() + "/tests/base/golden/numbers.txt");
  size_t numbers = 0;
  for (std::string line; std::getline(golden, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find('|'), second = line.find('|', first + 1);
    ASSERT_NE(second, std::string::npos) << line;
    const double value = std::strtod(line.c_str(), nullptr);
    const std::string kind = Trimmed(std::string_view(line).substr(first + 1, second - first - 1));
    EXPECT_EQ(Written(value, kind), Trimmed(std::string_view(line).substr(second + 1))) << line;
    ++numbers;
  }
  EXPECT_GE(numbers, 60u);
}

TEST(NumberFormatTest, ShareOfZeroIsNotANumber) {
  EXPECT_EQ(Percent(0, 0), "");
  EXPECT_EQ(Percent(1, 0), "");
  EXPECT_EQ(Percent(1, 1000000), "<0.1");
}

TEST(NumberFormatTest, ThousandsAreSeparatedByCommas) {
  EXPECT_EQ(Thousands(1203441), "1,203,441");
  EXPECT_EQ(Thousands(-1203), "-1,203");
  EXPECT_EQ(Thousands(999), "999");
}

TEST(NumberFormatTest, ZeroChangeHasNoSign) {
  EXPECT_EQ(WithSign(-5, "5.0%"), "-5.0%");
  EXPECT_EQ(WithSign(5, "5.0%"), "+5.0%");
  EXPECT_EQ(WithSign(0, "0%"), "0%");
  EXPECT_EQ(WithSign(-1, "<0.1%"), "<0.1%");
}

}  // namespace
}  // namespace xlatrace
