// SPDX-License-Identifier: Apache-2.0
#include "correlator/graph_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::correlator {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;

// The graph that explains a row best, and whether all others are improbable.
struct Choice {
  uint32_t graph = 0;
  bool sure = true;
};

std::vector<Choice> Choose(const std::vector<GraphRows>& rows, const std::vector<double>& costs) {
  const std::vector<std::vector<double>> worse = ChooseGraphs(rows, costs);
  EXPECT_EQ(worse.size(), rows.size());
  std::vector<Choice> choices;
  for (size_t r = 0; r < worse.size(); ++r) {
    EXPECT_THAT(worse[r], Each(Ge(-1e-9)));
    size_t best = 0;
    for (size_t k = 1; k < worse[r].size(); ++k) {
      if (worse[r][k] < worse[r][best]) best = k;
    }
    Choice choice{rows[r].among[best]};
    for (size_t k = 0; k < worse[r].size(); ++k) {
      choice.sure &= k == best || worse[r][k] >= kImprobableCost;
    }
    choices.push_back(choice);
  }
  choices.resize(rows.size());
  return choices;
}

TEST(GraphChoice, GraphsAreNumberedAsTheirModulesWereCompiled) {
  // Twice as slow as the costs, and the second one 1.2 times more: the third module never ran.
  const auto choices =
      Choose({{20'000, {0, 1, 2}}, {240'000, {0, 1, 2}}}, {10'000, 100'000, 11'000});
  EXPECT_EQ(choices[0].graph, 0u);
  EXPECT_EQ(choices[1].graph, 1u);
  EXPECT_TRUE(choices[1].sure);
}

TEST(GraphChoice, RowsOfEqualTimeBelongToOneReinstantiatedGraph) {
  const auto choices =
      Choose({{20'000, {0, 1}}, {200'000, {0, 1}}, {20'100, {0, 1}}}, {10'000, 100'000});
  EXPECT_EQ(choices[0].graph, 0u);
  EXPECT_EQ(choices[1].graph, 1u);
  EXPECT_EQ(choices[2].graph, 0u);
}

TEST(GraphChoice, TimesDecideIfTheCompilationOrderDiffers) {
  // In the order of numbers one is a hundredth and the other a hundredfold of its cost.
  const auto choices = Choose({{1'000'000, {0, 1}}, {10'000, {0, 1}}}, {10'000, 1'000'000});
  EXPECT_EQ(choices[0].graph, 1u);
  EXPECT_EQ(choices[1].graph, 0u);
  EXPECT_TRUE(choices[0].sure);
}

TEST(GraphChoice, EqualGraphsWithoutHintsStayAmbiguous) {
  const auto choices = Choose({{20'000, {0, 1}}}, {10'000, 10'000});
  EXPECT_FALSE(choices[0].sure);
}

TEST(GraphChoice, OtherEvidenceDecidesBetweenEqualTimes) {
  const auto choices =
      Choose({{20'000, {0, 1}, {0, 6}}, {20'000, {0, 1}, {6, 0}}, {20'000, {0, 1}, {0, 6}}},
             {10'000, 10'000});
  EXPECT_EQ(choices[0].graph, 0u);
  EXPECT_EQ(choices[1].graph, 1u);
  EXPECT_EQ(choices[2].graph, 0u);
  EXPECT_TRUE(choices[1].sure);
}

TEST(GraphChoice, UnexplainedTimesChooseNoGraph) {
  // A thousandth of what either costs.
  EXPECT_THAT(ChooseGraphs(std::vector<GraphRows>{{1'000, {0, 1}}},
                           std::vector<double>{1'000'000, 2'000'000}),
              IsEmpty());
  EXPECT_THAT(ChooseGraphs({}, std::vector<double>{1}), IsEmpty());
}

}  // namespace
}  // namespace xlatrace::correlator
