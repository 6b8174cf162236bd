// SPDX-License-Identifier: Apache-2.0
#include "model/words.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "analysis/findings/report.h"
#include "analysis/occupancy.h"
#include "model/gap_words.h"
#include "model/replay_rows.h"
#include "report/page/words_ts.h"
#include "report/shown_words.h"
#include "report/word_tables.h"
#include "tests/golden_text/golden_text.h"
#include "tests/source_folder.h"

namespace xlatrace::report {
namespace {

TEST(Words, CopiesAreBoundByLinksAndCollectivesByNetworks) {
  EXPECT_EQ(BoundWords("network", "copy"), "link");
  EXPECT_EQ(BoundWords("network", "collective"), "network");
  EXPECT_EQ(BoundWords("memory", "copy"), "memory");
}

// A value that is not in a table is shown as the bare word.
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

// The meaning of each cause of a gap is one sentence, and no two are equal.
TEST(Words, EveryCauseOfAGapIsExplained) {
  std::set<std::string_view> meanings;
  for (size_t i = 0; i < model::Texts<model::GapCause>().size(); ++i) {
    const std::string_view meaning = model::Meaning(static_cast<model::GapCause>(i));
    ASSERT_FALSE(meaning.empty()) << i;
    EXPECT_EQ(meaning.find('.'), meaning.size() - 1) << meaning;
    EXPECT_TRUE(meanings.insert(meaning).second) << meaning;
  }
}

bool IsIn(std::span<const ShownWord> table, std::string_view word) {
  return std::any_of(table.begin(), table.end(),
                     [&](const ShownWord& shown) { return shown.word == word; });
}

// Every value that the analysis writes is in the tables of words.
TEST(Words, EveryLimiterBasisAndPathHasWords) {
  using analysis::findings::Basis;
  for (const Basis basis :
       {Basis::kMeasured, Basis::kRoofline, Basis::kReplay, Basis::kCostModel}) {
    EXPECT_TRUE(IsIn(BasisTable(), Text(basis))) << Text(basis);
  }
  EXPECT_EQ(BasisWords("cost_model"), "cost model");
  for (const std::string_view kind : model::Texts<model::PathKind>()) {
    EXPECT_TRUE(IsIn(PathTable(), kind)) << kind;
  }
  for (const std::string_view kind : model::Texts<model::DeviceKind>()) {
    EXPECT_TRUE(IsIn(DeviceTable(), kind)) << kind;
  }
  for (const std::string_view phase : model::Texts<model::Phase>()) {
    EXPECT_TRUE(IsIn(ShortPhaseTable(), phase)) << phase;
  }
  // One block fits for each resource, so all resources are limiters.
  analysis::Occupancy all;
  all.blocks_per_sm = all.by_warps = all.by_registers = all.by_shared_memory = all.by_blocks = 1;
  EXPECT_GOLDEN_TEXT(LimiterWords(all.Limiter()));
}

TEST(Words, TitleOfARunIsItsScriptAndNotPython) {
  EXPECT_EQ(TitleOf("python3 -u src/train.py --steps 3", "run.db"), "train.py");
  EXPECT_EQ(TitleOf("/usr/bin/python3.10 -m serve.main --port 1", "run.db"), "serve.main");
  EXPECT_EQ(TitleOf("python3", "out/serving.db"), "serving.db");
  EXPECT_EQ(TitleOf("", "out/serving.db"), "serving.db");
  EXPECT_EQ(TitleOf("/opt/bin/pythonia", "run.db"), "pythonia");
  EXPECT_EQ(TitleOf("./trainer -m 3", "run.db"), "trainer");
}

TEST(Words, PhasesAreTheFirstPartsOfAStep) {  // As PARTS of words.ts has them.
  for (size_t i = 0; i < std::size(kPhaseOrder); ++i) {
    EXPECT_EQ(Text(kPhaseOrder[i]), Text(kPartOrder[i]));
  }
}

TEST(Words, WordsOfTheAppEqualThoseOfTheProgram) {
  const std::string path = SourceFolder() + "/report/ui/src/words.ts";
  if (std::getenv("XLATRACE_UPDATE_WORDS") != nullptr) std::ofstream(path) << WordsTypeScript();
  std::stringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(committed.str(), WordsTypeScript())
      << "XLATRACE_UPDATE_WORDS=1 report_test --gtest_filter='Words*', then scripts/page";
}

}  // namespace
}  // namespace xlatrace::report
