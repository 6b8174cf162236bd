// SPDX-License-Identifier: Apache-2.0

#include "tests/golden_text/golden_text.h"

#include <filesystem>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace xlatrace::golden {
namespace {

TEST(GoldenText, SectionsSurviveFormattingAndParsing) {
  const Sections sections = {{"A", "one line"},
                             {"B", "two\n\nlines with a gap"},
                             {"B #2", "== looks like a heading\n\\ starts with a backslash"},
                             {"C", ""}};
  EXPECT_EQ(ParseSections(FormatSections("Suite", sections)), sections);
}

TEST(GoldenText, LinesBeforeTheFirstSectionAreComments) {
  EXPECT_EQ(ParseSections("a comment\n\n== A\ntext\n"), (Sections{{"A", "text"}}));
}

TEST(GoldenText, TemporaryFoldersAreMasked) {
  const std::string root = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(MaskTemporaryFolders("reading '" + root + "/xlatrace-aB3.x/run.db': empty"),
            "reading '<tmp>/run.db': empty");
}

TEST(GoldenText, EqualTextPasses) { EXPECT_GOLDEN_TEXT("a text\nof two lines\n"); }

TEST(GoldenText, SecondTextOfATestHasItsOwnSection) {
  EXPECT_GOLDEN_TEXT("first");
  EXPECT_GOLDEN_TEXT("second");
}

TEST(GoldenText, DifferentTextFails) {
  if (std::getenv("XLATRACE_UPDATE_GOLDEN") != nullptr) GTEST_SKIP() << "golden text is updated";
  EXPECT_NONFATAL_FAILURE(EXPECT_GOLDEN_TEXT("another text"), "--- expected");
}

TEST(GoldenText, MissingSectionFails) {
  if (std::getenv("XLATRACE_UPDATE_GOLDEN") != nullptr) GTEST_SKIP() << "golden text is updated";
  EXPECT_NONFATAL_FAILURE(EXPECT_GOLDEN_TEXT("a text without a section"), "has no section");
}

}  // namespace
}  // namespace xlatrace::golden
