// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_split.h"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

// A label of several instructions, and instructions of several scopes, at random.
class TimeSplitTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::mt19937 random(static_cast<unsigned>(GetParam()));
    const auto parts = [&](size_t count) {
      std::vector<int64_t> ppm(count, 0);
      for (int64_t left = 1'000'000; left > 0; left -= 100'000) ppm[random() % count] += 100'000;
      return ppm;
    };
    const size_t instructions = 1 + random() % 4;
    for (size_t i = 1; i <= instructions; ++i) {
      model::InstructionRow& row = attribution_.instructions.emplace_back();
      row.op_name = "scope_0";
      const std::vector<int64_t> ppm = parts(1 + random() % 3);
      for (size_t s = 0; s < ppm.size(); ++s) {
        if (ppm[s] == 0) continue;
        model::ShareRow& share = attribution_.shares.emplace_back();
        share.instruction_id = static_cast<model::Id>(i);
        share.op_name = "scope_" + std::to_string(s);
        share.share_ppm = ppm[s];
        share_of_[i]["scope_" + std::to_string(s)] = ppm[s];
      }
    }
    attribution_.labels.emplace_back().instruction_id = 1;
    const std::vector<int64_t> ppm = parts(instructions);
    for (size_t i = 1; i <= instructions; ++i) {
      if (ppm[i - 1] == 0) continue;
      attribution_.label_shares.push_back({1, static_cast<model::Id>(i), ppm[i - 1]});
      for (const auto& [scope, share] : share_of_[i]) {
        expected_[scope] += ppm[i - 1] * share / 1'000'000;
      }
    }
  }

  model::AttributionTables attribution_;
  std::map<size_t, std::map<std::string, int64_t>> share_of_;  // By instruction.
  std::map<std::string, int64_t> expected_;  // Shares of the label, in millionths.
};

INSTANTIATE_TEST_SUITE_P(Random, TimeSplitTest, testing::Range(0, 50));

TEST_P(TimeSplitTest, ScopeHasItsShareOfTheShareOfItsInstruction) {
  const TimeSplit split(attribution_);
  std::map<std::string, int64_t> actual;
  int64_t sum = 0;
  split.Split(1, 1'000'000, [&](const Piece& piece, int64_t ns) {
    actual[split.scopes()[piece.scope].op_name] += ns;
    sum += ns;
  });
  EXPECT_EQ(sum, 1'000'000);
  EXPECT_EQ(actual, expected_);
}

}  // namespace
}  // namespace xlatrace::analysis
