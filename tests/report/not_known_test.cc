// SPDX-License-Identifier: Apache-2.0

#include "report/not_known.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_run.h"
#include "temporary_folder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using model::Phase;

TEST(NotKnownTest, EachLimitHasItsTime) {
  SampleRun run;
  run.ops = {{.instruction = "dot.1", .phase = Phase::kForward, .ns = 300'000'000},
             {.instruction = "mul.3", .phase = Phase::kBackward, .ns = 400'000'000},
             {.instruction = "", .ns = 1'000'000}};
  run.ops[1].other_ppm = 500'000;
  run.ops[1].other_phase = Phase::kLoss;
  RunView view = ViewOf(run);
  const std::vector<Sentence> not_known = NotKnown(view);
  ASSERT_EQ(not_known.size(), 3u);
  std::string text;
  for (const Sentence& sentence : not_known) text += PlainText(sentence) + "\n";
  EXPECT_GOLDEN_TEXT(text);  // 1.00 ms (0.1 %), 400 ms, 3 steps.
}

}  // namespace
}  // namespace xlatrace::report
