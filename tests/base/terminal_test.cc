// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(TerminalTest, ControlCharactersInNamesAreReplaced) {
  EXPECT_EQ(Printable("\x1b[31mred"), "\xEF\xBF\xBD[31mred");
  EXPECT_EQ(Printable("a\nb\tc"), "a b c");
  EXPECT_EQ(Printable("x\xE2\x80\xAEy"), "x\xEF\xBF\xBDy");  // U+202E, right-to-left override.
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(Printable("\xff\xc3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(Printable("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // Overlong '/'.
  EXPECT_EQ(Printable("\xC2\x9B"), "\xEF\xBF\xBD");              // CSI as one C1 control.
}

TEST(TerminalTest, OrdinaryTextStays) {
  EXPECT_EQ(Printable("jit(f)/layer_7/größe 字"), "jit(f)/layer_7/größe 字");
}

TEST(TerminalTest, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("größe"), 5);
  EXPECT_EQ(DisplayWidth("字"), 2);
  EXPECT_EQ(DisplayWidth("█▎"), 2);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);             // A combining accent, U+0301.
  EXPECT_EQ(DisplayWidth("\u0915\u094D\u0937"), 2);  // Devanagari with a virama between.
  EXPECT_EQ(DisplayWidth("\U0001F680"), 2);          // An emoji.
  EXPECT_EQ(DisplayWidth("ｱ"), 1);                   // Half-width katakana.
  EXPECT_EQ(DisplayWidth("\u0378"), 1);              // Not assigned.
}

TEST(TerminalTest, ACutNameKeepsItsEnd) {
  const std::string cut = FitLeft("loop_dynamic_update_slice_fusion.7", 24);
  EXPECT_EQ(DisplayWidth(cut), 24);
  EXPECT_EQ(cut.substr(cut.size() - 8), "fusion.7");
}

TEST(TerminalTest, FittedTextHasExactlyTheWidth) {
  for (int width = 1; width < 50; ++width) {
    for (const char* text : {"", "a", "größe größe größe größe", "字字字字字字字字字字字字",
                             "loop_dynamic_update_slice_fusion.7"}) {
      EXPECT_EQ(DisplayWidth(FitLeft(text, width)), width) << text;
      EXPECT_EQ(DisplayWidth(FitRight(text, width)), width) << text;
    }
  }
}

}  // namespace
}  // namespace xlatrace
