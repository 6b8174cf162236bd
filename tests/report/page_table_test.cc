// SPDX-License-Identifier: Apache-2.0

// Columns of the page's data. The written bytes are those of docs/development/page-data.md, and
// those that the page's app reads. report/ui/tests/golden.test.ts decodes the same file.

#include "report/page/page_table.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/safe_text.h"
#include "tests/source_folder.h"

namespace xlatrace::report {
namespace {

using OrderedJson = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

// Every type and codec, with boundary values. The expected values are in
// report/ui/tests/golden.test.ts.
PageTable Everything(PageStrings* strings) {
  PageTable table("everything", strings);
  table.Declare(
      "small wide negative:delta constant all_null step real:real word:word text:text "
      "other>things");
  const size_t blob = table.AddBlob("text2", "bytes");
  constexpr int64_t kExact = int64_t{1} << 53;
  const int64_t wide[] = {0, kExact, 1, 255, 256};
  const int64_t negative[] = {-5, -7, 1'000'000'000'000, -1, -1};
  const char* words[] = {"exact", "none", "exact", "inferred", "exact"};
  for (int64_t i = 0; i < 5; ++i) {
    if (i != 1) table.Set(0, 3 - i);
    table.Set(1, wide[i]);
    if (i != 2) table.Set(2, negative[i]);
    table.Set(3, int64_t{42});
    table.Set(5, 1000 + 32 * i * i);
    table.SetReal(6, i == 3 ? std::numeric_limits<double>::infinity() : 0.1 * double(i) - 0.25);
    table.SetText(7, words[i]);
    table.SetText(8, i == 0 ? "" : i == 1 ? "\u00e9<b>" : "fusion.7");
    if (i != 4) table.Set(9, 4 - i);
    if (i != 2) table.SetBlob(blob, i == 0 ? "" : i == 1 ? "line\n\u4e2d" : "x");
    table.EndRow();
  }
  return table;
}

std::string GoldenPath() { return SourceFolder() + "/tests/report/golden/columns.json"; }

// Bytes as hexadecimal digits, so that a difference can be read.
std::string Hex(const std::string& bytes) {
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

TEST(PageTableTest, WrittenBytesAreThoseThatTheAppReads) {
  PageStrings strings;
  std::string block;
  const PageTable table = Everything(&strings);
  OrderedJson document{
      {"rows", table.rows()}, {"columns", table.Encode(block)}, {"bytes", Hex(block)}};
  document["strings"] = strings.texts();
  const std::string text = document.dump(1) + "\n";
  if (std::getenv("XLATRACE_UPDATE_GOLDEN") != nullptr) std::ofstream(GoldenPath()) << text;
  std::ostringstream golden;
  golden << std::ifstream(GoldenPath()).rdbuf();
  EXPECT_EQ(golden.str(), text);
}

OrderedJson ColumnOf(const OrderedJson& columns, const std::string& name) {
  for (const OrderedJson& column : columns) {
    if (column["name"] == name) return column;
  }
  return nullptr;
}

TEST(PageTableTest, IntegersTakeTheBytesTheyNeed) {
  PageStrings strings;
  std::string block;
  const OrderedJson columns = Everything(&strings).Encode(block);
  const OrderedJson constant = ColumnOf(columns, "constant");
  EXPECT_EQ(constant["width"], 0);
  EXPECT_EQ(constant["min"], 42);
  const OrderedJson step = ColumnOf(columns, "step");  // 1000, 1032, 1128, 1288, 1512.
  EXPECT_EQ(step["min"], 1000);
  EXPECT_EQ(step["step"], 32);
  EXPECT_EQ(step["width"], 1);
  const size_t at = step["at"];
  EXPECT_THAT(block.substr(at, 5), ElementsAre(0, 1, 4, 9, 16));
  const OrderedJson wide = ColumnOf(columns, "wide");
  EXPECT_EQ(wide["width"], 7);
  const size_t wide_at = wide["at"];
  EXPECT_THAT(block.substr(wide_at, 5), ElementsAre(0, 0, 1, '\xFF', 0));
  EXPECT_THAT(block.substr(wide_at + 5, 5), ElementsAre(0, 0, 0, 0, 1));
  EXPECT_THAT(block.substr(wide_at + 30, 5),
              ElementsAre(0, '\x20', 0, 0, 0));  // 2^53 = 0x20 << 48.
  EXPECT_TRUE(ColumnOf(columns, "all_null")["nulls"].get<bool>());
  EXPECT_EQ(ColumnOf(columns, "all_null")["width"], 0);
  const size_t small_at = ColumnOf(columns, "small")["at"];
  EXPECT_EQ(block[small_at], 2);  // Row 1 is NULL.
  EXPECT_THAT(ColumnOf(columns, "word")["words"], ElementsAre("exact", "none", "inferred"));
  EXPECT_EQ(ColumnOf(columns, "other")["table"], "things");
}

TEST(PageTableTest, IntegersBeyondTheRangeOfADoubleBecomeReals) {
  std::string block;
  PageTable table("t");
  table.Declare("id:delta");
  table.Set(0, std::numeric_limits<int64_t>::min());
  table.EndRow();
  table.Set(0, std::numeric_limits<int64_t>::max());
  table.EndRow();
  EXPECT_EQ(table.Encode(block)[0]["type"], "real");
  EXPECT_EQ(block.size(), 16u);
}

TEST(PageTableTest, EmptyTableHasNoBytes) {
  std::string block;
  PageTable table("t");
  table.Declare("a b:real");
  EXPECT_TRUE(table.empty());
  table.Encode(block);
  EXPECT_EQ(block, "");
}

TEST(PageStringsTest, LongTextsThatDifferStayApart) {
  PageStrings strings;
  const std::string a = std::string(100'000, 'a') + "1" + std::string(100'000, 'b');
  const std::string b = std::string(100'000, 'a') + "2" + std::string(100'000, 'b');
  EXPECT_NE(strings.Row(a), strings.Row(b));
  EXPECT_EQ(strings.Row(a), strings.Row(a));
  EXPECT_THAT(strings.texts()[0], HasSubstr("[200,001 bytes "));
  EXPECT_LT(strings.texts()[0].size(), 5000u);
}

TEST(SafeTextTest, InvisibleCharactersAreShown) {
  EXPECT_EQ(SafeName("a\u202Eb", 100), "a[U+202E]b");
  EXPECT_EQ(SafeName(std::string("n\0l", 3), 100), "n[U+0000]l");
  EXPECT_EQ(SafeName("\xff\xc3", 100), "\uFFFD\uFFFD");
  EXPECT_EQ(SafeName("a\nb\tc", 100), "a b c");
  EXPECT_EQ(SafeName("</script>", 100), "</script>");
  std::string kept;
  AppendSafeText(kept, "a\n\tb\r", Lines::kKeep);
  EXPECT_EQ(kept, "a\n\tb[U+000D]");
}

TEST(SafeTextTest, MarkupCharactersAreEscaped) {
  std::string markup;
  AppendMarkupText(markup, "<a b='c' d=\"e\">&");
  EXPECT_EQ(markup, "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
}

TEST(SafeTextTest, LongTextIsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\u4e2d";
  for (size_t longest = 8; longest < 30; ++longest) {
    EXPECT_EQ(SafeName(text, longest).find("\uFFFD"), std::string::npos) << longest;
  }
}

}  // namespace
}  // namespace xlatrace::report
