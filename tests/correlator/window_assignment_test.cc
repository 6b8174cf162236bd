// SPDX-License-Identifier: Apache-2.0

// The content between two known thunks, and the visible properties of a launch.

#include "correlator/thunk_order/fill/window_assignment.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlator/thunk_order/program/launch_kind.h"

namespace xlatrace::correlator {
namespace {

using model::ActivityKind;
using ::testing::ElementsAre;

std::vector<uint32_t> Chosen(const std::vector<ThunkKind>& thunks,
                             const std::vector<LaunchKind>& launches, bool* unique) {
  std::vector<WindowToken> tokens(thunks.size());
  for (size_t t = 0; t < thunks.size(); ++t) tokens[t].thunk.kind = thunks[t];
  std::vector<WindowActivity> activities(launches.size());
  for (size_t a = 0; a < launches.size(); ++a) activities[a].kind = launches[a];
  std::vector<uint32_t> chosen;
  *unique = true;
  for (const WindowChoice& choice : AssignWindow(tokens, activities)) {
    chosen.push_back(choice.token);
    *unique &= choice.IsOnly();
  }
  return chosen;
}

TEST(WindowAssignment, EqualNumbersOfProductsAndCallsArePaired) {
  bool unique = false;
  EXPECT_THAT(
      Chosen({ThunkKind::kGemm, ThunkKind::kGemm}, {LaunchKind::kGemm, LaunchKind::kGemm}, &unique),
      ElementsAre(0, 1));
  EXPECT_TRUE(unique);
}

TEST(WindowAssignment, SplitReductionBelongsToTheProductBeforeIt) {
  bool unique = false;
  EXPECT_THAT(Chosen({ThunkKind::kGemm, ThunkKind::kGemm},
                     {LaunchKind::kGemm, LaunchKind::kGemmPart, LaunchKind::kGemm}, &unique),
              ElementsAre(0, 0, 1));
  EXPECT_TRUE(unique);
}

TEST(WindowAssignment, OneKernelForTwoCallsIsNotUnique) {
  bool unique = true;
  Chosen({ThunkKind::kGemm, ThunkKind::kGemm}, {LaunchKind::kGemm}, &unique);
  EXPECT_FALSE(unique);
}

TEST(WindowAssignment, CollectiveKernelsMatchCollectiveCalls) {
  std::vector<WindowToken> tokens(2);
  tokens[0].thunk.kind = tokens[1].thunk.kind = ThunkKind::kCollective;
  tokens[0].thunk.collective = CollectiveKind::kAllGather;
  tokens[1].thunk.collective = CollectiveKind::kReduceScatter;
  const std::vector<WindowActivity> activities = {
      {LaunchKind::kCollective,
       CollectiveOfSymbol("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL")}};
  const auto choices = AssignWindow(tokens, activities);
  EXPECT_EQ(choices[0].token, 1u);
}

TEST(WindowAssignment, KernelsMatchOnlyCallsOfTheirLibrary) {
  std::vector<WindowToken> tokens(2);
  tokens[0].thunk.kind = tokens[1].thunk.kind = ThunkKind::kLibrary;
  tokens[0].thunk.library = LibraryOf("triangular-solve");
  tokens[1].thunk.library = LibraryOf("cusolver_potrf_ffi");
  std::vector<WindowActivity> activities;
  for (const char* symbol : {"trsm_left_kernel", "trsm_left_kernel", "potrf_alg2", "potrf_alg2"}) {
    activities.push_back({LaunchKind::kLibrary, CollectiveKind::kAny, LibraryOf(symbol)});
  }
  const auto choices = AssignWindow(tokens, activities);
  EXPECT_EQ(choices[0].token, 0u);
  EXPECT_TRUE(choices[0].IsOnly());
  EXPECT_EQ(choices[3].token, 1u);
  EXPECT_TRUE(choices[3].IsOnly());
  // A factorization solves triangles as well.
  EXPECT_FALSE(choices[1].IsOnly());
}

TEST(WindowAssignment, CopyThatMayReplaceALostOneIsNotUnique) {
  std::vector<WindowToken> tokens(2);
  tokens[0].thunk.kind = tokens[1].thunk.kind = ThunkKind::kCopy;
  const std::vector<WindowActivity> one = {{LaunchKind::kDeviceCopy}};
  const std::vector<WindowActivity> two = {{LaunchKind::kDeviceCopy}, {LaunchKind::kDeviceCopy}};
  EXPECT_TRUE(AssignWindow(tokens, two)[0].IsOnly());
  tokens[0].thunk.optional = true;  // For example in a branch.
  const auto choices = AssignWindow(tokens, one);
  EXPECT_EQ(choices[0].token, 1u);
  EXPECT_FALSE(choices[0].IsOnly());
}

TEST(WindowAssignment, DeviceCopiesDoNotMatchCopiesToTheHost) {
  std::vector<WindowToken> tokens(2);
  tokens[0].thunk.kind = ThunkKind::kCopy;
  tokens[1].thunk.kind = ThunkKind::kHostCopy;
  tokens[1].thunk.optional = true;
  for (const LaunchKind kind : {LaunchKind::kHostCopy, LaunchKind::kPredicate}) {
    const std::vector<WindowActivity> activities = {{LaunchKind::kDeviceCopy}, {kind}};
    const auto choices = AssignWindow(tokens, activities);
    EXPECT_EQ(choices[0].token, 0u);
    EXPECT_EQ(choices[1].token, 1u);
    EXPECT_TRUE(choices[1].IsOnly());
  }
}

TEST(LaunchKindOf, KernelsThatReadPredicatesAreTheirOwnKind) {
  for (const char* symbol : {"set_case_condition", "set_while_condition", "set_if_condition"}) {
    model::LaunchConfig config;
    config.kind = ActivityKind::kKernel;
    config.symbol = symbol;
    EXPECT_EQ(LaunchKindOf(config), LaunchKind::kPredicate) << symbol;
  }
}

}  // namespace
}  // namespace xlatrace::correlator
