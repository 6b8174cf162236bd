// SPDX-License-Identifier: Apache-2.0
#include "correlator/fusion_shares.h"

#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/derived.h"
#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LargestRemainder, PartsSumToTheWhole) {
  EXPECT_THAT(LargestRemainder({}), IsEmpty());
  EXPECT_THAT(LargestRemainder(std::vector<double>{3.0}), ElementsAre(1'000'000));
  // A third each is 333,333.3: the first gets the millionth that is left.
  EXPECT_THAT(LargestRemainder(std::vector<double>{1, 1, 1}),
              ElementsAre(333'334, 333'333, 333'333));
  // 1/6 = 166,666.67 and 5/6 = 833,333.33: the larger remainder gets it.
  EXPECT_THAT(LargestRemainder(std::vector<double>{1, 5}), ElementsAre(166'667, 833'333));
}

TEST(LargestRemainder, RestGoesToTheLargestRemainder) {
  // A third is 333,333.3 millionths, two thirds 666,666.7.
  EXPECT_EQ(LargestRemainder(std::vector<double>{1, 2}), (std::vector<int64_t>{333'333, 666'667}));
  EXPECT_EQ(LargestRemainder(std::vector<double>{2, 1}), (std::vector<int64_t>{666'667, 333'333}));
}

TEST(GroupPieces, GroupIsNamedAfterItsHeaviestPiece) {
  const model::HloModule module = MakeModule("m", {{"e",
                                                    {{"a", "parameter"},
                                                     {"b", "add", "n", {"a"}},
                                                     {"c", "add", "n", {"a"}},
                                                     {"d", "add", "n", {"a"}},
                                                     {"o", "add", "other", {"a"}}}}});
  for (const uint32_t heaviest : {1u, 2u, 3u}) {
    std::vector<Piece> pieces = {{4, "other", 1}};
    for (const uint32_t i : {1u, 2u, 3u}) pieces.push_back({i, "n", i == heaviest ? 5.0 : 2.0});
    const std::vector<Share> shares = GroupPieces(module, pieces);
    ASSERT_EQ(shares.size(), 2u);
    EXPECT_EQ(shares[0].share_ppm, 900'000);
    EXPECT_EQ(shares[0].from, heaviest);
    EXPECT_EQ(shares[1].share_ppm, 100'000);
    EXPECT_EQ(shares[1].from, 4u);
  }
}

TEST(LargestRemainder, ImpossibleWeightsCountAsZero) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(LargestRemainder(std::vector<double>{-1, nan, 2, inf}),
              ElementsAre(0, 0, 1'000'000, 0));
  EXPECT_THAT(LargestRemainder(std::vector<double>{0, 0}), ElementsAre(500'000, 500'000));
  const double huge = std::numeric_limits<double>::max();
  EXPECT_THAT(LargestRemainder(std::vector<double>{huge, huge}), ElementsAre(500'000, 500'000));
}

TEST(LargestRemainder, ManySmallPartsSumToTheWhole) {
  std::vector<double> weights(7777);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0 / static_cast<double>(i + 1);
  const auto parts = LargestRemainder(weights);
  EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), int64_t{0}), model::kWholeSharePpm);
}

model::HloModule FusionOf(std::vector<Op> body, std::string own_name = {}) {
  return MakeModule("jit_f",
                    {{"fused", std::move(body)},
                     {"main", {{"fusion", "fusion", std::move(own_name), {}, {"fused"}}}}});
}

// Each addition and multiplication costs one pass over its elements.
TEST(ShareSplitter, SharesAreProportionalToOpCosts) {
  model::HloModule module = FusionOf({{"p", "parameter"},
                                      {"a", "add", "jit(f)/a", {"p", "p"}},
                                      {"b", "multiply", "jit(f)/b", {"a", "a"}},
                                      {"c", "add", "jit(f)/a", {"b", "b"}}});
  const auto shares = ShareSplitter(&module).Split(At(module, "fusion"));
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].op_name, "jit(f)/a");
  EXPECT_EQ(shares[0].share_ppm, 666'667);
  EXPECT_EQ(shares[1].op_name, "jit(f)/b");
  EXPECT_EQ(shares[1].share_ppm, 333'333);
}

TEST(ShareSplitter, XlaNamesTheLabelUnlessAnotherOpCostsTwice) {
  std::vector<Op> body = {{"p", "parameter"},
                          {"a", "add", "jit(f)/a", {"p", "p"}},
                          {"b", "multiply", "jit(f)/b", {"a", "a"}},
                          {"c", "add", "jit(f)/b", {"b", "b"}},
                          {"d", "add", "jit(f)/a", {"c", "c"}},
                          {"e", "add", "jit(f)/a", {"d", "d"}}};
  model::HloModule three_to_two = FusionOf(body, "jit(f)/b");
  const auto named = ShareSplitter(&three_to_two).Split(At(three_to_two, "fusion"));
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].op_name, "jit(f)/b");
  EXPECT_EQ(named[0].share_ppm, 400'000);

  body.push_back({"g", "add", "jit(f)/a", {"e", "e"}});
  model::HloModule four_to_two = FusionOf(body, "jit(f)/b");
  const auto dominated = ShareSplitter(&four_to_two).Split(At(four_to_two, "fusion"));
  EXPECT_EQ(dominated.at(0).op_name, "jit(f)/a");
}

TEST(ShareSplitter, SharesOfDifferentSourceLinesStaySeparate) {
  model::HloModule module = FusionOf({{"p", "parameter"},
                                      {"a", "add", "jit(f)/add", {"p", "p"}, {}, "model.py", 10},
                                      {"b", "add", "jit(f)/add", {"p", "a"}, {}, "model.py", 20},
                                      {"c", "add", "jit(f)/add", {"b", "a"}, {}, "model.py", 10}});
  const auto shares = ShareSplitter(&module).Split(At(module, "fusion"));
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].share_ppm, 666'667);
  EXPECT_EQ(module.instructions[shares[0].from].metadata.source_line, 10);
}

TEST(ShareSplitter, UnnamedWorkGetsTheNameOfTheFusion) {
  const std::vector<Op> body = {
      {"p", "parameter"}, {"a", "add", "jit(f)/a", {"p", "p"}}, {"x", "add", "", {"a", "p"}}};
  model::HloModule named = FusionOf(body, "jit(f)/own");
  const auto shares = ShareSplitter(&named).Split(At(named, "fusion"));
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].share_ppm, 500'000);
  EXPECT_EQ(shares[1].share_ppm, 500'000);
  EXPECT_THAT(
      (std::vector<std::string>{std::string(shares[0].op_name), std::string(shares[1].op_name)}),
      ::testing::UnorderedElementsAre("jit(f)/a", "jit(f)/own"));

  // Without an own name, the named work carries it.
  model::HloModule unnamed = FusionOf(body);
  const auto rest = ShareSplitter(&unnamed).Split(At(unnamed, "fusion"));
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].op_name, "jit(f)/a");
}

TEST(ShareSplitter, NameOfAReducerIsNeverUsed) {
  model::HloModule module = MakeModule(
      "jit_f",
      {{"region",
        {{"x", "parameter"}, {"y", "parameter"}, {"sum", "add", "reduce_sum", {"x", "y"}}}},
       {"fused",
        {{"p", "parameter"},
         {"zero", "constant"},
         {"r", "reduce", "jit(f)/layer/reduce_sum", {"p", "zero"}, {"region"}}}},
       {"main", {{"fusion", "fusion", "", {}, {"fused"}}}}});
  const auto shares = ShareSplitter(&module).Split(At(module, "fusion"));
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].op_name, "jit(f)/layer/reduce_sum");
  EXPECT_EQ(shares[0].share_ppm, model::kWholeSharePpm);
}

TEST(ShareSplitter, NestedFusionsAndAsyncWrappersAreDivided) {
  model::HloModule module = MakeModule(
      "jit_f",
      {{"inner", {{"p", "parameter"}, {"a", "add", "jit(f)/inner", {"p", "p"}}}},
       {"outer", {{"q", "parameter"}, {"f", "fusion", "", {"q"}, {"inner"}}}},
       {"wrapped", {{"r", "parameter"}, {"ar", "all-reduce", "jit(f)/psum", {"r"}}}},
       {"main",
        {{"fusion", "fusion", "", {}, {"outer"}}, {"start", "async-start", "", {}, {"wrapped"}}}}});
  ShareSplitter splitter(&module);
  EXPECT_EQ(splitter.Split(At(module, "fusion")).at(0).op_name, "jit(f)/inner");
  EXPECT_EQ(splitter.Split(At(module, "start")).at(0).op_name, "jit(f)/psum");
}

TEST(ShareSplitter, CombinedCollectivesAreDividedByBytes) {
  model::HloModule module =
      MakeModule("jit_f", {{"main",
                            {{"a", "add", "", {}, {}, "", 0, "f32[3,10]"},
                             {"b", "add", "", {}, {}, "", 0, "f32[10]"},
                             {"ar", "all-reduce", "jit(f)/(jvp(x)/dot:jvp(y)/dot)", {"b", "a"}}}}});
  ShareSplitter splitter(&module);  // The names in its shares are its own.
  const auto shares = splitter.Split(At(module, "ar"));
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].op_name, "jit(f)/jvp(y)/dot");
  EXPECT_EQ(shares[0].share_ppm, 750'000);
  EXPECT_EQ(shares[1].op_name, "jit(f)/jvp(x)/dot");
}

TEST(ShareSplitter, LoopsAndNamelessBodiesAreNotDivided) {
  model::HloModule module = MakeModule(
      "jit_f", {{"body", {{"p", "parameter"}, {"a", "add", "jit(f)/while/body/add", {"p", "p"}}}},
                {"nameless", {{"q", "parameter"}, {"b", "add", "", {"q", "q"}}}},
                {"main",
                 {{"w", "while", "jit(f)/while", {}, {"body"}},
                  {"fusion", "fusion", "", {}, {"nameless"}},
                  {"c", "copy", "jit(f)/copy"}}}});
  ShareSplitter splitter(&module);
  EXPECT_THAT(splitter.Split(At(module, "w")), IsEmpty());
  EXPECT_THAT(splitter.Split(At(module, "fusion")), IsEmpty());
  EXPECT_THAT(splitter.Split(At(module, "c")), IsEmpty());
}

TEST(ShareSplitter, CyclicBodiesTerminate) {
  model::HloModule module =
      MakeModule("m", {{"body", {{"f", "fusion"}, {"g", "fusion"}, {"a", "add", "n"}}},
                       {"main", {{"fusion", "fusion", "", {}, {"body"}}}}});
  // Calls of oneself, which no reader produces and no file may use to hang us.
  module.called_pool.push_back(0);
  const auto self = static_cast<uint32_t>(module.called_pool.size()) - 1;
  module.instructions[0].called_computations = {self, 1};
  module.instructions[1].called_computations = {self, 1};
  EXPECT_EQ(ShareSplitter(&module).Split(At(module, "fusion")).size(), 1u);
}

}  // namespace
}  // namespace xlatrace::correlator
