// SPDX-License-Identifier: Apache-2.0

// The figures of a run: equal to what SQL over the public views gives, and to what was written.

#include "report/run_view.h"

#include <cstdint>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "sample_run.h"
#include "store/run_db.h"
#include "temporary_folder.h"

namespace xlatrace::report {
namespace {

using model::Phase;
using model::StepPart;

// 3 steady steps of 2 devices. Per step: forward 2 x 300, backward 1,000 of which a quarter is
// forward, a copy of 50 that has no instruction, then 150 idle. Device time 1,650, wall 1,800.
SampleRun SmallRun() {
  SampleRun run;
  run.devices = 2;
  run.steps = 5;
  run.idle_ns = 150;
  run.ops.push_back({.instruction = "dot.1",
                     .kind = model::OpKind::kGemm,
                     .phase = Phase::kForward,
                     .layer = "net/layer_1/mlp",
                     .op_name = "jit(f)/net/layer_1/mlp/dot_general",
                     .source_file = "/a/b/net.py",
                     .source_line = 7,
                     .ns = 300,
                     .calls = 2});
  run.ops.push_back({.instruction = "fusion.2",
                     .phase = Phase::kBackward,
                     .layer = "net/layer_2/mlp",
                     .op_name = "jit(f)/transpose(net)/layer_2/mlp/mul",
                     .source_file = "/a/b/net.py",
                     .source_line = 9,
                     .ns = 1000,
                     .confidence = model::Confidence::kInferred,
                     .other_ppm = 250'000,
                     .other_phase = Phase::kForward});
  run.ops.push_back({.instruction = "", .ns = 50});
  return run;
}

int64_t Sum(const PhaseTimes& phases) {
  return std::accumulate(phases.begin(), phases.end(), int64_t{0});
}

TEST(RunViewTest, StepFiguresCountSteadyStepsPerDevice) {
  const RunView view = ViewOf(SmallRun());
  EXPECT_TRUE(view.basis.steady);
  EXPECT_EQ(view.basis.step_devices, 6);
  EXPECT_EQ(view.steps.all.size(), 5u);
  EXPECT_EQ(view.steps.steady_count, 3);
  EXPECT_EQ(view.steps.typical_ns, 1800);
  EXPECT_EQ(view.steps.min_ns, 1800);
  EXPECT_EQ(view.steps.max_ns, 1800);
  EXPECT_EQ(view.steps.wall_ns, 6 * 1800);
  EXPECT_EQ(view.steps.busy_ns, 6 * 1650);
}

TEST(RunViewTest, PartsOfTheStepSumToIt) {
  const RunView view = ViewOf(SmallRun());
  const auto part = [&view](StepPart p) { return view.step_parts[static_cast<size_t>(p)]; };
  EXPECT_EQ(part(StepPart::kForward), 6 * (600 + 250));
  EXPECT_EQ(part(StepPart::kBackward), 6 * 750);
  EXPECT_EQ(part(StepPart::kUnknown), 6 * 50);
  EXPECT_EQ(part(StepPart::kIdle), 6 * 150);
  int64_t sum = 0;
  for (const int64_t ns : view.step_parts) sum += ns;
  EXPECT_EQ(sum, view.steps.wall_ns);
}

TEST(RunViewTest, LabelsPhasesOpsLayersAndKernelsSumToDeviceTime) {
  for (const SampleRun& run : {SmallRun(), TransformerRun()}) {
    const RunView view = ViewOf(run);
    const Coverage& coverage = view.coverage;
    EXPECT_EQ(coverage.exact_ns + coverage.inferred_ns + coverage.none_ns, coverage.device_ns);
    EXPECT_EQ(Sum(view.phases), coverage.device_ns);
    int64_t ops = coverage.none_ns;
    for (const OpFigure& op : view.ops) ops += op.ns;
    EXPECT_EQ(ops, coverage.device_ns);
    for (const auto* scopes : {&view.layers, &view.sources}) {
      int64_t sum = coverage.none_ns;
      for (const ScopeFigure& scope : *scopes) {
        sum += scope.ns;
        EXPECT_EQ(Sum(scope.phases), scope.ns) << scope.name;
      }
      EXPECT_EQ(sum, coverage.device_ns);
    }
    int64_t kernels = 0;
    for (const NamedFigure& kernel : view.kernels) kernels += kernel.ns;
    EXPECT_EQ(kernels, coverage.device_ns);
    int64_t kinds = coverage.none_ns;
    for (const NamedFigure& kind : view.kinds) kinds += kind.ns;
    EXPECT_EQ(kinds, coverage.device_ns);
  }
}

TEST(RunViewTest, CoverageCountsExactInferredAndNoneWithReasons) {
  const RunView view = ViewOf(SmallRun());
  EXPECT_EQ(view.coverage.device_ns, 6 * 1650);
  EXPECT_EQ(view.coverage.exact_ns, 6 * 600);
  EXPECT_EQ(view.coverage.inferred_ns, 6 * 1000);
  EXPECT_EQ(view.coverage.none_ns, 6 * 50);
  EXPECT_EQ(view.coverage.activities, 6 * 4);
  ASSERT_EQ(view.coverage.reasons.size(), 1u);
  EXPECT_EQ(view.coverage.reasons[0].reason, "transfer");
  EXPECT_EQ(view.coverage.reasons[0].ns, 6 * 50);
  // The whole run holds 10 step-devices.
  EXPECT_EQ(view.run_coverage.device_ns, 10 * 1650);
}

TEST(RunViewTest, OpsAreByTimeWithTheirCallsOfSteadySteps) {
  const RunView view = ViewOf(SmallRun());
  ASSERT_EQ(view.ops.size(), 2u);
  EXPECT_EQ(view.ops[0].handle, "o1");
  EXPECT_EQ(view.ops[0].instruction, "fusion.2");
  EXPECT_EQ(view.ops[0].ns, 6 * 1000);
  EXPECT_EQ(view.ops[0].calls, 6);
  EXPECT_EQ(view.ops[0].confidence, "inferred");
  EXPECT_TRUE(view.ops[0].estimated);
  EXPECT_EQ(view.ops[1].calls, 12);
  EXPECT_EQ(view.ops[1].source_line, 7);
}

TEST(RunViewTest, LayersAreFoldedAndSharesSplitThem) {
  const RunView view = ViewOf(SmallRun());
  ASSERT_EQ(view.layers.size(), 1u);
  EXPECT_EQ(view.layers[0].name, "net/layer_*/mlp");
  EXPECT_EQ(view.layers[0].ns, 6 * 1600);
  EXPECT_EQ(view.layers[0].phases[static_cast<size_t>(Phase::kForward)], 6 * 850);
  EXPECT_EQ(view.layers[0].phases[static_cast<size_t>(Phase::kBackward)], 6 * 750);
  EXPECT_EQ(view.layers[0].estimated_ns, 6 * 1000);
  ASSERT_EQ(view.sources.size(), 2u);
  EXPECT_EQ(view.sources[0].line, 9);
}

TEST(RunViewTest, FiguresEqualPlainSql) {
  const TemporaryFolder folder;
  const std::string path = folder.File("run.db");
  ASSERT_TRUE(WriteSampleRun(TransformerRun(), path));
  auto db = store::RunDb::Open(path);
  ASSERT_TRUE(db);
  const auto view = LoadRunView(*db);
  ASSERT_TRUE(view) << view.error().message;
  const auto number = [&db](const std::string& sql) {
    const auto table = db->Select(sql);
    EXPECT_TRUE(table) << sql;
    return table ? std::get<int64_t>(table->rows[0][0]) : -1;
  };
  EXPECT_EQ(view->coverage.device_ns, number("SELECT sum(device_ns) FROM step WHERE steady"));
  EXPECT_EQ(view->run_coverage.device_ns, number("SELECT sum(self_ns) FROM activity"));
  EXPECT_EQ(view->coverage.none_ns,
            number("SELECT sum(self_ns) FROM activity WHERE instruction IS NULL AND step IN"
                   " (SELECT step FROM step WHERE steady)"));
  EXPECT_EQ(view->steps.wall_ns,
            number("SELECT sum(wall_ns) FROM step_part JOIN step USING (device_id, step)"
                   " WHERE steady"));
  EXPECT_EQ(view->phases[static_cast<size_t>(Phase::kBackward)],
            number("SELECT sum(self_ns) FROM phase_time JOIN step USING (device_id, step)"
                   " WHERE steady AND phase = 'backward'"));
  EXPECT_EQ(view->ops[0].ns, number("SELECT max(steady_ns) FROM op_time"));
}

TEST(RunViewTest, WithoutSteadyStepsFiguresAreOfTheWholeRun) {
  SampleRun run = SmallRun();
  run.steps = 2;
  const RunView view = ViewOf(run);
  EXPECT_FALSE(view.basis.steady);
  EXPECT_EQ(view.steps.all.size(), 2u);
  EXPECT_EQ(view.coverage.device_ns, 4 * 1650);
  EXPECT_EQ(view.coverage.device_ns, view.run_coverage.device_ns);
  EXPECT_EQ(Sum(view.phases), view.coverage.device_ns);
  EXPECT_EQ(view.ops[0].ns, 4 * 1000);
  EXPECT_DOUBLE_EQ(view.PerStep(view.ops[0].ns), 4000);
}

TEST(RunViewTest, ARunWithoutModulesIsAllUnattributed) {
  SampleRun run = SmallRun();
  run.module = false;
  const RunView view = ViewOf(run);
  EXPECT_TRUE(view.modules.empty());
  EXPECT_EQ(view.MainModule(), nullptr);
  EXPECT_TRUE(view.ops.empty());
  EXPECT_TRUE(view.layers.empty());
  EXPECT_EQ(view.coverage.none_ns, view.coverage.device_ns);
  ASSERT_EQ(view.coverage.reasons.size(), 2u);
  EXPECT_EQ(view.coverage.reasons[0].reason, "no_module");
}

TEST(RunViewTest, AnEmptyRunHasNoFigures) {
  SampleRun run;
  run.steps = 0;
  run.module = false;
  const RunView view = ViewOf(run);
  EXPECT_EQ(view.run_coverage.activities, 0);
  EXPECT_FALSE(view.basis.steady);
  EXPECT_TRUE(view.kernels.empty());
}

TEST(RunViewTest, FactsOfTheRunAreRead) {
  SampleRun run = SmallRun();
  run.stats = {{"a", model::Severity::kInfo, "x", 1, ""},
               {"b", model::Severity::kDataLoss, "x", 5, "record less"},
               {"c", model::Severity::kDataLoss, "y", 2, ""}};
  const RunView view = ViewOf(run);
  EXPECT_EQ(view.title, "train.py");
  EXPECT_EQ(view.command, "python3 train.py --layers 8");
  EXPECT_EQ(view.DeviceText(), "2 x NVIDIA H100 80GB HBM3");
  EXPECT_EQ(view.framework, "jax 0.8.0");
  EXPECT_EQ(view.lost, 7);
  ASSERT_EQ(view.stats.size(), 3u);
  EXPECT_EQ(view.stats[0].name, "b");
  ASSERT_NE(view.MainModule(), nullptr);
  EXPECT_EQ(view.MainModule()->name, "jit_train_step");
  EXPECT_EQ(view.MainModule()->ns, 6 * 1600);
  EXPECT_EQ(view.gap_count, 6);
  ASSERT_EQ(view.gaps.size(), 1u);
  EXPECT_EQ(view.gaps[0].cause, "host");
  EXPECT_EQ(view.gaps[0].ns, 6 * 150);
}

}  // namespace
}  // namespace xlatrace::report
