// What two runs, or many, say of each other: gate's outputs, and a run as compare sees it.

#include <algorithm>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/compare/gate_output.h"
#include "report/compare/load_run.h"
#include "report/run_view.h"
#include "sample_run.h"
#include "store/run_db.h"
#include "temporary_folder.h"

namespace xlatrace::report {
namespace {

using compare::Outcome;
using testing::HasSubstr;
using testing::Not;

compare::GateResult ResultOf(std::initializer_list<Outcome> outcomes) {
  compare::GateResult result;
  result.sentence = "so it is";
  for (const Outcome outcome : outcomes) {
    result.checks.push_back({.name = "check " + std::to_string(result.checks.size()),
                             .outcome = outcome,
                             .text = "why"});
  }
  return result;
}

// What is not established passes in the gate itself, unless it is asked to be strict.
TEST(GateOutput, WhatIsNotEstablishedIsASkippedTest) {
  const compare::GateResult result = ResultOf({Outcome::kNotEstablished, Outcome::kPass});
  EXPECT_THAT(GateJunit(result, false), HasSubstr("failures=\"0\" skipped=\"1\""));
  EXPECT_THAT(GateJunit(result, true), HasSubstr("failures=\"1\" skipped=\"0\""));
  EXPECT_THAT(GateJunit(ResultOf({Outcome::kRegression, Outcome::kNotComparable}), false),
              HasSubstr("failures=\"2\" skipped=\"0\""));
}

TEST(GateOutput, ChecksThatPassedAndAreLeftOutAreCounted) {
  constexpr Outcome kPass = Outcome::kPass;
  const compare::GateResult result =
      ResultOf({Outcome::kRegression, kPass, kPass, kPass, kPass, kPass, kPass, kPass, kPass});
  EXPECT_THAT(GateMarkdown(result), HasSubstr("| 2 more | ok |"));
  EXPECT_THAT(GateText(result, false, 80), HasSubstr("ok      2 more"));
  EXPECT_THAT(GateMarkdown(ResultOf({kPass, kPass})), Not(HasSubstr("more")));
}

TEST(LoadCompareRun, IdleTimeIsThatOfAStepOfOneDevice) {
  SampleRun sample = TransformerRun();
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteSampleRun(sample, folder.File("run.db")));
  auto db = store::RunDb::Open(folder.File("run.db"));
  ASSERT_TRUE(db);
  const auto view = LoadRunView(*db);
  ASSERT_TRUE(view);
  const auto run = LoadCompareRun(*db, *view);
  ASSERT_TRUE(run);
  int64_t idle = 0;
  for (const auto& gap : run->gaps) idle += gap.ns;
  EXPECT_EQ(idle, sample.idle_ns);  // Every step of every device ends with it.
}

}  // namespace
}  // namespace xlatrace::report
