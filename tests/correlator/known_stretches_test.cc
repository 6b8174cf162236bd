// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/align/known_stretches.h"

#include <gtest/gtest.h>

namespace xlatrace::correlator {
namespace {

using Cases = std::vector<uint32_t>;

class KnownStretchesTest : public testing::Test {
 protected:
  uint32_t Pattern(const Cases& cases) {
    const uint32_t stretch = known_.Add(cases, std::vector<Outcome>(cases.size()));
    known_.MakePattern(stretch);
    return stretch;
  }
  KnownStretches known_;
};

// eval = 1 2 3, helper = 9, and an unknown program: 1 2 3 9 4 5.
TEST_F(KnownStretchesTest, ProgramWithAKnownPrefixIsNotTheKnownProgram) {
  const uint32_t eval = Pattern({1, 2, 3});
  Pattern({9});
  const Cases known = {1, 2, 3, 9, 1, 2, 3, 9, 1, 2, 3, 9};
  size_t followed = 0;
  EXPECT_EQ(known_.FindPrefix(known, 6, &followed), eval);
  const Cases fresh = {1, 2, 3, 9, 4, 5, 1, 2, 3, 9};
  followed = 0;
  EXPECT_EQ(known_.FindPrefix(fresh, 6, &followed), KnownStretches::kNoIndex);
}

// The next search need not repeat the steps of the previous one.
TEST_F(KnownStretchesTest, SearchContinuesFromThePreviousEnd) {
  Pattern({1, 2});
  Pattern({3});
  const Cases cases = {1, 2, 3, 1, 2, 3, 7, 7};
  size_t followed = 0;
  EXPECT_NE(known_.FindPrefix(cases, 4, &followed), KnownStretches::kNoIndex);
  EXPECT_EQ(followed, 3U) << "5 launches, less the 2 of the pattern";
  const std::span<const uint32_t> rest = std::span(cases).subspan(2);
  EXPECT_EQ(known_.FindPrefix(rest, 4, &followed), KnownStretches::kNoIndex) << "7 begins nothing";
}

TEST_F(KnownStretchesTest, CutLaunchesAreKeptApartFromWholeOnes) {
  const Cases cases = {1, 2};
  const uint32_t whole = known_.Add(cases, {{}, {}});
  EXPECT_EQ(known_.Find(cases), whole);
  EXPECT_EQ(known_.Find(cases, nullptr, 2), KnownStretches::kNoIndex);
  const uint32_t cut = known_.Add(cases, {{}, {}}, 2);
  EXPECT_EQ(known_.Find(cases, nullptr, 2), cut);
  EXPECT_EQ(known_.Find(cases), whole);
}

}  // namespace
}  // namespace xlatrace::correlator
