// SPDX-License-Identifier: Apache-2.0

// Every figure of a row of the summary's tables, in its forms, against sums done by hand. The ops
// differ in all that has a column, so that two columns that change places are seen.

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/summary/summary.h"
#include "sample_run.h"
#include "temporary_folder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using model::OpKind;
using model::Phase;
using testing::Contains;
using testing::ElementsAre;

// Per step of one device: 3 + 4 x 0.5 + 1 + 0.25 ms of work and 1.75 ms of nothing.
SampleRun FourOps() {
  SampleRun run;
  run.devices = 2;
  run.steps = 5;
  run.idle_ns = 1'750'000;
  run.ops = {{.instruction = "gemm.1",
              .kind = OpKind::kGemm,
              .phase = Phase::kForward,
              .layer = "net/layer_0/mlp",
              .op_name = "jit(f)/net/layer_0/mlp/dot_general",
              .source_file = "/src/model.py",
              .source_line = 17,
              .ns = 3'000'000},
             {.instruction = "fusion.2",
              .kind = OpKind::kReduction,
              .phase = Phase::kBackward,
              .layer = "net/layer_1/norm",
              .op_name = "jit(f)/net/layer_1/norm/reduce_sum",
              .source_file = "/src/norm.py",
              .source_line = 23,
              .ns = 500'000,
              .calls = 4,
              .confidence = model::Confidence::kInferred},
             {.instruction = "fusion.3",
              .phase = Phase::kOptimizer,
              .layer = "net/embed",
              .op_name = "jit(f)/update/mul",
              .source_file = "/src/adam.py",
              .source_line = 5,
              .ns = 1'000'000},
             {.ns = 250'000}};
  return run;
}

// The words of the only line that holds `part`.
std::vector<std::string> WordsOf(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::vector<std::string> words;
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) == std::string::npos) continue;
    ++found;
    words.clear();
    std::istringstream stream(line);
    for (std::string word; stream >> word;) {
      if (word != "|") words.push_back(word);
    }
  }
  EXPECT_EQ(found, 1) << part << " in\n" << text;
  return words;
}

// The numbers behind the word that holds `part`: 1,234 and 48% as well.
std::vector<double> NumbersBehind(const std::vector<std::string>& words, const std::string& part) {
  std::vector<double> numbers;
  bool behind = false;
  for (std::string word : words) {
    std::erase(word, ',');
    if (behind) {
      try {
        numbers.push_back(std::stod(word));
      } catch (const std::invalid_argument&) {
        break;
      }
    }
    behind |= word.find(part) != std::string::npos;
  }
  return numbers;
}

// The numbers of each line, where a table has cells without names.
std::vector<std::vector<double>> NumbersOfLines(const std::string& text) {
  std::vector<std::vector<double>> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    all.emplace_back();
    for (std::string word; words >> word;) {
      std::erase(word, ',');
      char* end = nullptr;
      const double number = std::strtod(word.c_str(), &end);
      if (end == word.c_str() + word.size()) all.back().push_back(number);
    }
  }
  return all;
}

TEST(TextRows, OpsHaveTheirOwnTimePercentCallsAndAverage) {
  const std::string text = SummaryText(ViewOf(FourOps()), {.by = By::kOp, .width = 120});
  // ms per step, percent of 6.25 ms, percent so far, calls per step, us of a call.
  EXPECT_THAT(NumbersBehind(WordsOf(text, "o1 gemm.1 "), "gemm.1"),
              ElementsAre(3, 48, 48, 1, 3000));
  EXPECT_THAT(NumbersBehind(WordsOf(text, "~fusion.2 "), "fusion.2"),
              ElementsAre(2, 32, 80, 4, 500));
  EXPECT_THAT(NumbersBehind(WordsOf(text, " fusion.3 "), "fusion.3"),
              ElementsAre(1, 16, 96, 1, 1000));
  const auto words = WordsOf(text, "~fusion.2 ");
  const std::string line = testing::PrintToString(words);
  EXPECT_NE(line.find("\"B\""), std::string::npos) << line;
  EXPECT_NE(line.find("norm.py:23"), std::string::npos) << line;
  EXPECT_NE(line.find("layer_*/norm"), std::string::npos) << line;
  EXPECT_EQ(line.find("model.py"), std::string::npos) << line;
  EXPECT_NE(testing::PrintToString(WordsOf(text, "o1 gemm.1 ")).find("model.py:17"),
            std::string::npos);
}

TEST(TextRows, TimeWithoutAnInstructionAndTheTotalHaveRows) {
  RunView view = ViewOf(FourOps());
  view.path = "run.db";
  const std::string text = SummaryText(view, {.by = By::kOp, .width = 120});
  const auto numbers = NumbersOfLines(text);
  EXPECT_THAT(numbers, Contains(ElementsAre(0.25, 4, 1)));
  // Seven launches per step.
  EXPECT_THAT(numbers, Contains(ElementsAre(6.25, 100, 7)));
  EXPECT_GOLDEN_TEXT(WithoutVersion(text));
}

TEST(TextRows, OthersExcludeTimeWithoutAnInstruction) {
  const std::string text = SummaryText(ViewOf(FourOps()), {.by = By::kOp, .width = 120, .rows = 1});
  // Two ops, 3 ms of 6.25, five launches.
  EXPECT_THAT(NumbersBehind(WordsOf(text, "[2 others]"), "others]"), ElementsAre(3, 48, 96, 5));
}

TEST(TextRows, PhasesSumTheTimesOfTheirOps) {
  const RunView view = ViewOf(FourOps());
  const std::string csv = SummaryCsv(view, {.by = By::kPhase});
  // Three steady steps of two devices.
  EXPECT_NE(csv.find("forward,18000000,3000000,48"), std::string::npos) << csv;
  EXPECT_NE(csv.find("backward,12000000,2000000,32"), std::string::npos) << csv;
  EXPECT_NE(csv.find("optimizer,6000000,1000000,16"), std::string::npos) << csv;
  EXPECT_NE(csv.find("unknown,1500000,250000,4"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("loss,"), std::string::npos) << csv;
}

TEST(TextRows, TimeWithoutAPhaseIsSplitIntoCollectivesAndCopies) {
  RunView view = ViewOf(FourOps());
  view.path = "run.db";
  view.unphased_collectives_ns = 600'000;
  view.unphased_copies_ns = 300'000;
  const std::string text = SummaryText(view, {.by = By::kPhase, .width = 100});
  const auto numbers = NumbersOfLines(text);
  EXPECT_THAT(numbers, Contains(ElementsAre(0.1, 1.6)));
  // Transfers outside of any instruction are copies too: the remaining time.
  EXPECT_THAT(numbers, Contains(ElementsAre(0.15, 2.4)));
  EXPECT_GOLDEN_TEXT(WithoutVersion(text));
}

TEST(TextRows, CsvHasTheRequestedRowsWithRfc4180LineEnds) {
  const RunView view = ViewOf(FourOps());
  for (const size_t rows : {1, 2, 3}) {
    const std::string csv = SummaryCsv(view, {.by = By::kPhase, .rows = rows});
    size_t ends = 0;
    for (size_t at = 0; (at = csv.find("\r\n", at)) != std::string::npos; at += 2) ++ends;
    EXPECT_EQ(ends, rows + 1) << csv;
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), static_cast<ptrdiff_t>(ends));
  }
}

TEST(TextRows, MarkdownHasTheSameFigures) {
  const std::string text = SummaryMarkdown(ViewOf(FourOps()), {.by = By::kOp, .rows = 1});
  const auto gemm = WordsOf(text, "| `gemm.1` |");
  ASSERT_GE(gemm.size(), 2u);
  EXPECT_EQ(std::stod(gemm[gemm.size() - 2]), 3);
  EXPECT_EQ(std::stod(gemm.back()), 48);
  // Time without an instruction is one of the others here: 2 + 1 + 0.25 ms.
  const auto others = WordsOf(text, "others");
  EXPECT_EQ(std::stod(others[others.size() - 2]), 3.25);
  EXPECT_EQ(std::stod(others.back()), 52);
  EXPECT_THAT(NumbersOfLines(text), Contains(ElementsAre(6.25, 100)));
  // 8 ms per step, of which the device is idle for 1.75 ms.
  const auto idle = WordsOf(text, "| idle ");
  EXPECT_EQ(std::stod(idle[idle.size() - 2]), 1.75);
  EXPECT_NEAR(std::stod(idle.back()), 21.875, 0.05);
  EXPECT_GOLDEN_TEXT(text);  // Three steps of 8.00 ms, busy for 78 %.
}

TEST(TextRows, NamesWithBarsKeepTheTableInMarkdown) {
  SampleRun run = FourOps();
  run.ops[0].instruction = "a|b";
  const std::string text = SummaryMarkdown(ViewOf(run), {.by = By::kOp, .rows = 1});
  EXPECT_NE(text.find("`a\\|b`"), std::string::npos) << text;
}

}  // namespace
}  // namespace xlatrace::report
