// SPDX-License-Identifier: Apache-2.0
#include "compare/run_record.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace xlatrace::compare {
namespace {

RunRecord Sample() {
  RunRecord record;
  record.label = "abc \"quoted\"\n";
  record.unix_seconds = 1234;
  record.content_id = "0123";
  record.devices = "2 x GPU";
  record.program = "train_step";
  record.inputs = "3 beef";
  record.steady = true;
  record.device_ns = 77;
  record.steps = {1, 2, 3};
  record.calls = {4, 5};
  record.phases = {{"backward", 5}};
  record.ops = {{"layer/dot [gemm]", 9}};
  record.facts = {{"launches", 12.5}};
  record.accepted = "needed";
  return record;
}

TEST(RunRecord, RecordRoundTripsAsText) {
  const std::string text = RecordText(Sample());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto read = ParseRecord(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(RecordText(*read), text);
  EXPECT_EQ(read->steps, Sample().steps);
  EXPECT_EQ(read->calls, Sample().calls);
  EXPECT_EQ(read->accepted, "needed");
}

// A run of 1,000 steps that becomes slower: its record has the mean of all steps.
TEST(RunRecord, VariationAboveOneIsRead) {
  RunRecord record;
  record.usual_variation = 2.5;  // A busy machine.
  const auto read = ParseRecord(RecordText(record));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->usual_variation, 2.5);
}

TEST(RunRecord, LongRunKeepsStepsOfItsWholeLength) {
  compare::Run run;
  run.steady = true;
  run.step_devices = 1000;
  for (int64_t i = 0; i < 1000; ++i) run.steps.push_back(1'000'000 + 1'000 * i);
  const RunRecord record = RecordOf(run);
  ASSERT_GE(record.steps.size(), 32u);
  EXPECT_TRUE(std::is_sorted(record.steps.begin(), record.steps.end()));
  EXPECT_NEAR(record.StepMean(), 1'500'000, 20'000);
  EXPECT_LE(record.steps.front(), 1'020'000);
  EXPECT_GE(record.steps.back(), 1'980'000);
}

TEST(RunRecord, DamagedRecordIsAnError) {
  const std::string text = RecordText(Sample());
  for (size_t end = 0; end < text.size(); ++end) EXPECT_FALSE(ParseRecord(text.substr(0, end)));
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'\0', '"', '}', '9', '\xff'}) {
      std::string broken = text;
      broken[at] = c;
      (void)ParseRecord(broken);
    }
  }
  EXPECT_FALSE(ParseRecord("{\"version\":2}"));
  EXPECT_FALSE(ParseRecord("{\"version\":1,\"steps\":[1],\"label\":3}"));
  EXPECT_FALSE(ParseRecord("[]"));
}

}  // namespace
}  // namespace xlatrace::compare
