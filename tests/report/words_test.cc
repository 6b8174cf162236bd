#include "model/words.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "report/page/words_ts.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

// What is not in a table is shown as the bare word, which nobody asked for.
TEST(Words, EveryEvidenceReasonAndCauseHasASentence) {
  for (const std::string_view word : model::Texts<model::Evidence>()) {
    EXPECT_TRUE(EvidenceWords(word) != word || word == "none") << word;
  }
  for (const std::string_view word : model::Texts<model::Reason>()) {
    EXPECT_NE(ReasonWords(word), word);
  }
  for (const std::string_view word : model::Texts<model::GapCause>()) {
    EXPECT_TRUE(CauseWords(word).find(' ') != std::string_view::npos || word == "compile") << word;
  }
}

TEST(Words, TheAppHasTheWordsOfTheProgram) {
  const std::string path = std::string(XLATRACE_SOURCE_DIR) + "/report/ui/src/words.ts";
  if (std::getenv("XLATRACE_UPDATE_WORDS") != nullptr) std::ofstream(path) << WordsTypeScript();
  std::stringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(committed.str(), WordsTypeScript())
      << "XLATRACE_UPDATE_WORDS=1 report_test --gtest_filter='Words*', then scripts/page";
}

}  // namespace
}  // namespace xlatrace::report
