#include "report/headline.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

Headline Split(std::string_view text) { return SplitSentence({{std::string(text)}}); }

TEST(Headline, NamesStandOnTheSecondLine) {
  const Headline lines =
      SplitSentence({{"The gradient is 41% of the step: "}, {"scatter", true}, {" takes 50 ms."}});
  EXPECT_EQ(PlainText(lines.first), "The gradient is 41% of the step.");
  EXPECT_EQ(PlainText(lines.second), "scatter takes 50 ms.");
  EXPECT_TRUE(lines.second[0].code);
}

// Words begin as a sentence does; a name stays as it is.
TEST(Headline, TheSecondLineBeginsAsASentence) {
  const auto second = [](std::string_view text) {
    return PlainText(Split("Of the step 41% is one of its ops: " + std::string(text)).second);
  };
  EXPECT_EQ(second("the gradient takes 50 ms."), "The gradient takes 50 ms.");
  for (const std::string_view same : {"input_scatter_fusion and 3 others.",
                                      "scatter.5 and another one.", "fusion9, twice.", "50 ms."}) {
    EXPECT_EQ(second(same), same);
  }
}

TEST(Headline, AFigureInBracketsStaysWithItsSentence) {
  const Headline lines =
      Split("Backward is 53.1% of the step (12.5 of 23.6 ms). Its largest op is 5.3% of it.");
  EXPECT_EQ(PlainText(lines.first), "Backward is 53.1% of the step (12.5 of 23.6 ms).");
  EXPECT_EQ(PlainText(lines.second), "Its largest op is 5.3% of it.");
}

TEST(Headline, WithoutAMarkInReachALongLineIsCutAtItsLastComma) {
  const Headline lines = Split(
      "Op by op: 55 calls of 11 separately compiled programs, each its own pass over memory (99% "
      "of "
      "device time).");
  EXPECT_EQ(PlainText(lines.first), "Op by op: 55 calls of 11 separately compiled programs.");
  EXPECT_EQ(PlainText(lines.second), "Each its own pass over memory (99% of device time).");
  EXPECT_TRUE(Split("Op by op: 55 calls of 11 programs, each its own pass.").second.empty());
  EXPECT_TRUE(Split("No verdict: 1 step was recorded.").second.empty());
}

// What the sentence names is the reason; the first action stands below the two lines.
TEST(Headline, TheReasonIsWhatTheSentenceNamesOrTheSecondSentence) {
  Verdict verdict;
  verdict.sentence = {{"The gradient is 41% of the step: the scatter."}};
  verdict.lede = {{"First: cut it."}};
  RunView view;
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "The scatter. First: cut it.");
  view.findings.emplace_back();
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "The scatter.");
  verdict.sentence = {{"One line."}};
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "First: cut it.");
}

}  // namespace
}  // namespace xlatrace::report
