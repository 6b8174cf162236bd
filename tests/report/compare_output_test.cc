// SPDX-License-Identifier: Apache-2.0

// Outputs of the gate, and a run as the comparison sees it.

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

// An unestablished change passes in the gate itself, except in strict mode.
TEST(GateOutput, UnestablishedChangeIsASkippedTestUnlessStrict) {
  const compare::GateResult result = ResultOf({Outcome::kNotEstablished, Outcome::kPass});
  EXPECT_THAT(GateJunit(result, false), HasSubstr("failures=\"0\" skipped=\"1\""));
  EXPECT_THAT(GateJunit(result, true), HasSubstr("failures=\"1\" skipped=\"0\""));
  EXPECT_THAT(GateJunit(ResultOf({Outcome::kRegression, Outcome::kNotComparable}), false),
              HasSubstr("failures=\"2\" skipped=\"0\""));
}

TEST(GateOutput, OmittedPassedChecksAreCounted) {
  constexpr Outcome kPass = Outcome::kPass;
  const compare::GateResult result =
      ResultOf({Outcome::kRegression, kPass, kPass, kPass, kPass, kPass, kPass, kPass, kPass});
  EXPECT_THAT(GateMarkdown(result), HasSubstr("| 2 more | ok |"));
  EXPECT_THAT(GateText(result, false, 80), HasSubstr("ok      2 more"));
  EXPECT_THAT(GateMarkdown(ResultOf({kPass, kPass})), Not(HasSubstr("more")));
}

compare::Run Loaded(const SampleRun& sample) {
  const TemporaryFolder folder;
  EXPECT_TRUE(WriteSampleRun(sample, folder.File("run.db")));
  auto db = store::RunDb::Open(folder.File("run.db"));
  EXPECT_TRUE(db);
  const auto view = LoadRunView(*db);
  EXPECT_TRUE(view);
  const auto run = LoadCompareRun(*db, *view);
  EXPECT_TRUE(run);
  return run ? *run : compare::Run();
}

TEST(LoadCompareRun, IdleTimeIsPerStepAndDevice) {
  const SampleRun sample = TransformerRun();
  const compare::Run run = Loaded(sample);
  int64_t idle = 0;
  for (const auto& gap : run.gaps) idle += gap.ns;
  EXPECT_EQ(idle, sample.idle_ns);  // Every step of every device ends with it.
}

const compare::Op& Named(const compare::Run& run, const std::string& instruction) {
  const auto op = std::find_if(run.ops.begin(), run.ops.end(), [&](const compare::Op& one) {
    return one.instruction == instruction;
  });
  EXPECT_NE(op, run.ops.end()) << instruction;
  return *op;
}

// For the same program, kernels or only graphs are known: the bytes are equal.
TEST(LoadCompareRun, OpInAGraphHasTheCallsOfSingleLaunches) {
  SampleRun kernels;
  kernels.devices = 2;
  kernels.ops = {{.instruction = "fusion.1", .ns = 600, .bytes = 4'000},
                 {.instruction = "fusion.2", .ns = 401, .bytes = 1'000}};
  SampleRun graphs = kernels;
  for (SampleOp& op : graphs.ops) op.calls = 0;
  // 1,001 ns are divided into 600.6 and 400.4, rounded for each launch and not for their sum.
  graphs.graphs = {{.parts = {{0, 600'000, 601}, {1, 400'000, 400}}}};
  for (const SampleRun& sample : {kernels, graphs}) {
    const compare::Run run = Loaded(sample);
    EXPECT_EQ(run.bytes, 5'000.0);
    EXPECT_EQ(run.PerStep(Named(run, "fusion.1").calls), 1);
    EXPECT_EQ(run.PerStep(Named(run, "fusion.2").calls), 1);
  }
  const compare::Run run = Loaded(graphs);
  EXPECT_EQ(run.launches, 1.0);
  int64_t calls = 0;
  for (const auto& [name, ns] : {std::pair("fusion.1", 601), std::pair("fusion.2", 400)}) {
    const compare::Op& op = Named(run, name);
    EXPECT_EQ(op.ns, ns);
    ASSERT_EQ(op.kernels.size(), 1u);
    EXPECT_TRUE(op.kernels[0].graph);
    EXPECT_EQ(op.kernels[0].ns, 2 * 3 * ns);  // 2 devices, 3 steady steps.
    calls += op.kernels[0].calls;
  }
  EXPECT_EQ(calls, 2 * 3);  // A graph is launched once, also if several ops share it.
}

TEST(LoadCompareRun, OpOfTwoKernelsCountsOneCallPerRun) {
  SampleRun sample;
  sample.ops = {{.instruction = "dot.1", .ns = 900, .calls = 2, .bytes = 7'000}};
  EXPECT_EQ(Loaded(sample).bytes, 14'000.0);
  sample.ops[0].second_kernel_ns = 50;
  const compare::Run run = Loaded(sample);
  EXPECT_EQ(run.bytes, 14'000.0);
  EXPECT_EQ(run.PerStep(Named(run, "dot.1").calls), 2);
  EXPECT_EQ(run.launches, 4.0);
}

}  // namespace
}  // namespace xlatrace::report
