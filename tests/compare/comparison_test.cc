#include "compare/comparison.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compare/breakdown.h"
#include "compare/causes.h"
#include "compare/changes.h"
#include "compare/circumstances.h"
#include "compare/common_ratio.h"
#include "compare/op_identity.h"
#include "compare/verdict.h"

namespace xlatrace::compare {
namespace {

using RunRows = Run;  // Test::Run hides it.

Op MakeOp(std::string instruction, std::string op_name, int64_t ns, std::string kind = "gemm") {
  Op op;
  op.module = 0;
  op.handle = "o1";
  op.instruction = std::move(instruction);
  op.op_name = std::move(op_name);
  op.op_kind = std::move(kind);
  op.opcode = "dot";
  op.ns = ns;
  op.calls = 10;
  op.phase = model::Phase::kForward;
  return op;
}

// A run of one module without HLO, 10 steady steps; its step is its device time.
RunRows MakeRun(std::vector<Op> ops, std::string id) {
  RunRows run;
  run.content_id = std::move(id);
  run.path = run.content_id + ".db";
  run.devices = {{"Test", 1}};
  run.device_count = run.processes = 1;
  run.granularity = "kernel";
  run.steady = true;
  run.step_devices = 10;
  Module& module = run.modules.emplace_back();
  module.name = module.function = "train_step";
  module.role = "main";
  for (const Op& op : ops) run.device_ns += op.ns;
  run.step_ns = run.device_ns;
  run.steps.assign(10, run.step_ns);
  module.ns = run.device_ns;
  run.ops = std::move(ops);
  return run;
}

TEST(Compare, TheSameRecordingIsSaidToBeIt) {
  const RunRows run = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 100)}, "x");
  const Comparison comparison = Compare(run, run);
  EXPECT_TRUE(comparison.identity.same_recording);
  EXPECT_EQ(comparison.delta(), 0);
  for (const Row& row : comparison.rows) EXPECT_EQ(row.delta(), 0);
  const auto changes = FindChanges(run, run, comparison);
  EXPECT_EQ(Judge(run, run, comparison, changes, {&run}, {&run}).sentence,
            "The same recording: no difference.");
}

TEST(Compare, EveryGroupingSumsOnBothSidesAndTurnsItsSign) {
  std::vector<Op> old_ops = {MakeOp("dot.1", "jit(f)/a/dot_general", 1001),
                             MakeOp("dot.2", "jit(f)/b/dot_general", 77),
                             MakeOp("copy.1", "", 13, "copy")};
  std::vector<Op> new_ops = {MakeOp("dot.8", "jit(f)/b/dot_general", 91),
                             MakeOp("dot.9", "jit(f)/a/dot_general", 1500),
                             MakeOp("sort.1", "jit(f)/c/sort", 7, "sort")};
  Op kernel;
  kernel.reason = "not_xla";
  kernel.ns = 5;
  kernel.kernels.push_back({.name = "k<int>(x)", .ns = 50, .calls = 10});
  old_ops.push_back(kernel);
  kernel.ns = 6;
  new_ops.push_back(kernel);
  const RunRows base = MakeRun(old_ops, "x");
  const RunRows now = MakeRun(new_ops, "y");
  const Comparison there = Compare(base, now);
  const Comparison back = Compare(now, base);
  for (size_t by = 0; by < ByTexts().size(); ++by) {
    const auto rows = Breakdown(base, now, there, static_cast<By>(by));
    const auto turned = Breakdown(now, base, back, static_cast<By>(by));
    int64_t a = 0, b = 0, sum = 0;
    for (const BreakdownRow& row : rows) {
      a += row.base_ns;
      b += row.now_ns;
      sum += row.delta();
    }
    EXPECT_EQ(a, base.device_ns) << ByTexts()[by];
    EXPECT_EQ(b, now.device_ns) << ByTexts()[by];
    EXPECT_EQ(sum, there.delta()) << ByTexts()[by];
    std::multiset<std::pair<int64_t, int64_t>> forth, again;
    for (const BreakdownRow& row : rows) forth.emplace(row.base_ns, row.now_ns);
    for (const BreakdownRow& row : turned) again.emplace(row.now_ns, row.base_ns);
    EXPECT_EQ(forth, again) << ByTexts()[by];
  }
}

// Without HLO the kinds of work are told by the names of kernels, as on the first screen.
TEST(Compare, KindsOfKernelsWithoutInstructionsAreToldByTheirNames) {
  const auto kernel = [](std::string name, int64_t ns, std::string reason = "not_xla") {
    Op op;
    op.reason = std::move(reason);
    op.ns = ns;
    op.calls = 1;
    op.kernels.push_back({.name = std::move(name), .ns = ns, .calls = 1});
    return op;
  };
  const auto names = [](const RunRows& base, const RunRows& now) {
    std::set<std::string> found;
    for (const BreakdownRow& row : Breakdown(base, now, Compare(base, now), By::kOpKind)) {
      found.insert(row.name);
    }
    return found;
  };
  const std::vector<Op> ops = {kernel("flash_fwd_kernel", 5), kernel("sm90_xmma_gemm_f16", 7),
                               kernel("mine", 3), kernel("Memcpy HtoD", 2, "transfer")};
  const RunRows bare = MakeRun(ops, "x");
  EXPECT_EQ(names(bare, bare), (std::set<std::string>{"fused attention", "matrix products",
                                                      "other kernels", "copies"}));
  std::vector<Op> with = ops;
  with.push_back(MakeOp("dot.1", "jit(f)/a/dot_general", 100));
  EXPECT_EQ(names(bare, MakeRun(with, "y")),
            (std::set<std::string>{"(not_xla)", "(transfer)", "gemm"}));
}

const Row* RowOf(const Comparison& comparison, const Run& now, const std::string& instruction) {
  for (const Row& row : comparison.rows) {
    for (const size_t i : row.now) {
      if (now.ops[i].instruction == instruction) return &row;
    }
  }
  return nullptr;
}

TEST(Compare, MatchesByNameWhereThereIsNoHlo) {
  // The numbers of the instructions say nothing: dot.1 and dot.2 have changed places.
  const RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/jit(main)/a/dot_general[x=1]", 100),
                                MakeOp("dot.2", "jit(f)/jit(main)/b/dot_general[x=1]", 10)},
                               "x");
  const RunRows now = MakeRun(
      {MakeOp("dot.2", "jit(f)/a/dot_general", 120), MakeOp("dot.1", "jit(f)/b/dot_general", 10)},
      "y");
  const Comparison comparison = Compare(base, now);
  const Row* row = RowOf(comparison, now, "dot.2");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->level, Level::kName);
  EXPECT_EQ(row->base_ns, 100);
  EXPECT_EQ(row->now_ns, 120);
}

CauseKind FirstCause(Op old_op, Op new_op) {
  const RunRows base = MakeRun({std::move(old_op)}, "x");
  const RunRows now = MakeRun({std::move(new_op)}, "y");
  const Comparison comparison = Compare(base, now);
  EXPECT_EQ(comparison.rows.size(), 1u);
  EXPECT_FALSE(comparison.rows[0].causes.empty());
  return comparison.rows[0].causes.empty() ? CauseKind::kLost : comparison.rows[0].causes[0].kind;
}

TEST(Compare, NamesACauseByItsEvidence) {
  const Op op = MakeOp("dot.1", "jit(f)/a/dot_general", 100);
  Op other = MakeOp("dot.1", "jit(f)/a/dot_general", 150);
  EXPECT_EQ(FirstCause(op, other), CauseKind::kTime);
  Op more = other;
  more.calls = 20;
  EXPECT_EQ(FirstCause(op, more), CauseKind::kExecutions);
  Op typed = op, retyped = other;
  typed.shape = "bf16[8,8]{1,0}";
  retyped.shape = "f32[8,8]{1,0}";
  EXPECT_EQ(FirstCause(typed, retyped), CauseKind::kPrecision);
  retyped.shape = "bf16[16,8]{1,0}";
  EXPECT_EQ(FirstCause(typed, retyped), CauseKind::kShapes);
  retyped.shape = "bf16[8,8]{0,1}";
  EXPECT_EQ(FirstCause(typed, retyped), CauseKind::kLayout);
  Op kernel = op, rekernel = other;
  kernel.kernels.push_back({.name = "ampere_sgemm_128x64_nn", .ns = 1000, .calls = 10});
  rekernel.kernels.push_back({.name = "ampere_sgemm_32x32_nn", .ns = 1500, .calls = 10});
  EXPECT_EQ(FirstCause(kernel, rekernel), CauseKind::kKernel);
  Op work = op, rework = other;
  work.bytes = 1000;
  rework.bytes = 2000;
  EXPECT_EQ(FirstCause(work, rework), CauseKind::kWork);
}

// An XLA fusion's kernel is named after its instruction, whose number means nothing.
TEST(Compare, NamesAreWithoutTheParametersOfPrimitives) {
  EXPECT_EQ(LeafOf("jit(f)/mlp/dot_general[dimension_numbers=(((2,), (0,)), ((), ())) x=a/b]"),
            "dot_general");
  EXPECT_EQ(LeafOf("jit(f)/mlp/add"), "add");
  EXPECT_EQ(LeafOf("params['w'][0]"), "params['w'][0]");
  EXPECT_EQ(LeafOf(""), "");
}

TEST(Compare, ARenumberedFusionKernelIsNoOtherKernel) {
  Op op = MakeOp("loop_add_fusion.9", "jit(f)/a/add", 100, "elementwise_fusion");
  op.opcode = "fusion";
  op.kernels.push_back({.name = "loop_add_fusion_9", .ns = 1000, .calls = 10});
  Op other = MakeOp("loop_add_fusion.31", "jit(f)/a/add", 100, "elementwise_fusion");
  other.opcode = "fusion";
  other.kernels.push_back({.name = "loop_add_fusion_31", .ns = 1000, .calls = 10});
  const RunRows base = MakeRun({op}, "x");
  const RunRows now = MakeRun({other}, "y");
  const Comparison comparison = Compare(base, now);
  ASSERT_EQ(comparison.rows.size(), 1u);
  EXPECT_TRUE(comparison.rows[0].causes.empty());
}

TEST(Compare, OtherDevicesAreRefused) {
  const RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 100)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 90)}, "y");
  now.devices = {{"Other", 1}};
  const Comparison comparison = Compare(base, now);
  EXPECT_FALSE(comparison.identity.comparable());
  const Verdict verdict = Judge(base, now, comparison, {}, {&base}, {&now});
  EXPECT_TRUE(verdict.sentence.starts_with("Not comparable: other devices")) << verdict.sentence;
}

TEST(Compare, LossesAndMissingStepsAreSaid) {
  const RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 100)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 90)}, "y");
  now.lost = 12;
  now.steady = false;
  const auto said = Compare(base, now).identity.qualifications;
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("lost 12 records"), std::string::npos);
  EXPECT_NE(said[1].find("no steady steps"), std::string::npos);
}

// Loaded as a whole, because the other side has no steps: it still has them.
TEST(Compare, SaysWhichRunHasNoSteps) {
  RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 100)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 120)}, "y");
  base.steady = now.steady = false;
  now.has_steps = true;
  const auto said = [](const Comparison& comparison, std::string_view text) {
    return std::any_of(comparison.identity.qualifications.begin(),
                       comparison.identity.qualifications.end(),
                       [&](const std::string& one) { return one.starts_with(text); });
  };
  EXPECT_TRUE(said(Compare(base, now), "BASE has no steady steps"));
  EXPECT_TRUE(said(Compare(now, base), "NEW has no steady steps"));
}

TEST(Changes, OneMoreLayerIsToldAsThat) {
  std::vector<Op> ops;
  for (int i = 0; i < 2; ++i) {
    Op op = MakeOp("dot." + std::to_string(i), "jit(f)/layer_" + std::to_string(i) + "/dot", 100);
    op.layer = "layer_" + std::to_string(i);
    op.layer_group = "layer_*";
    ops.push_back(op);
  }
  const RunRows base = MakeRun(ops, "x");
  Op third = MakeOp("dot.7", "jit(f)/layer_2/dot", 100);
  third.layer = "layer_2";
  third.layer_group = "layer_*";
  ops.push_back(third);
  const RunRows now = MakeRun(ops, "y");
  const Comparison comparison = Compare(base, now);
  const auto changes = FindChanges(base, now, comparison);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0].text, "1 layer more: layer_2");
  EXPECT_EQ(changes[0].delta_ns, 100);
}

TEST(Changes, ALostGraphAndAStallAreNotOps) {
  RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1000)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1000)}, "y");
  const auto idle = static_cast<size_t>(model::StepPart::kIdle);
  base.has_parts = now.has_parts = true;
  base.step_ns = 1100;
  base.parts[idle] = 100;
  now.step_ns = 1600;
  now.parts[idle] = 600;
  now.gaps.push_back({"host", 500, 1});
  auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0].id, "idle");
  EXPECT_EQ(changes[0].delta_ns, 500);
  EXPECT_NE(changes[0].text.find("mostly because the host is late"), std::string::npos);
  base.graph_share = 0.9;
  now.graph_share = 0.0;
  changes = FindChanges(base, now, Compare(base, now));
  EXPECT_EQ(changes[0].id, "graphs");
  EXPECT_TRUE(changes[0].text.starts_with("CUDA graphs are gone")) << changes[0].text;
  // Graphs that appeared make no device wait.
  std::swap(base.graph_share, now.graph_share);
  changes = FindChanges(base, now, Compare(base, now));
  EXPECT_EQ(changes[0].id, "idle");
  // More launches in the graphs that there are: as many host calls as before.
  base.graph_share = 0.6;
  now.graph_share = 0.5;
  base.host_calls = now.host_calls = 23;
  changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].id, "idle");
}

// Three ops with names of their own, which take these times.
RunRows ThreeOps(int64_t a, int64_t b, int64_t c, std::string id) {
  return MakeRun(
      {MakeOp("dot.1", "jit(f)/a/dot_general", a), MakeOp("dot.2", "jit(f)/b/dot_general", b),
       MakeOp("dot.3", "jit(f)/c/dot_general", c)},
      std::move(id));
}

std::string SentenceOf(const RunRows& base, const RunRows& now) {
  const Comparison comparison = Compare(base, now);
  return Judge(base, now, comparison, FindChanges(base, now, comparison), {&base}, {&now}).sentence;
}

TEST(Verdict, ASlowerStepIsLedByALossAndAFasterOneByAGain) {
  // A certain gain of 400 (half as many executions) beside a measured loss of 600.
  RunRows base = ThreeOps(1000, 1000, 1000, "x");
  RunRows now = ThreeOps(600, 1600, 1000, "y");
  now.ops[0].calls = 5;
  const Comparison comparison = Compare(base, now);
  const auto changes = FindChanges(base, now, comparison);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].delta_ns, 600);
  EXPECT_EQ(changes[1].delta_ns, -400);
  const std::string slower = SentenceOf(base, now);
  EXPECT_LT(slower.find("+600 ns"), slower.find("-400 ns")) << slower;
  // The certain one is told all the same: it may be of interest.
  EXPECT_NE(slower.find("executions a step instead of 1"), std::string::npos) << slower;
  // The other way round everything turns.
  const auto turned = FindChanges(now, base, Compare(now, base));
  EXPECT_EQ(turned[0].delta_ns, -600);
  EXPECT_EQ(turned[1].delta_ns, 400);
}

TEST(Verdict, WhatIsCertainButMovesNothingIsNoReason) {
  const RunRows base = ThreeOps(1'000'000, 1'000'000, 1'000'000, "x");
  RunRows now = ThreeOps(999'000, 1'600'000, 1'000'000, "y");
  now.ops[0].calls = 5;  // Half as many executions: 1 us of 599.
  const std::string sentence = SentenceOf(base, now);
  EXPECT_NE(sentence.find("+600 us"), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find("executions a step"), std::string::npos) << sentence;
}

// Twice as long a recording of a program that takes a tenth more in every call.
TEST(Verdict, RematThatIsGoneIsToldThoughTheStepIsSlower) {
  RunRows base = ThreeOps(1'000'000, 1'000'000, 1'000'000, "x");
  RunRows now = ThreeOps(1'000'000, 1'000'000, 1'000'000, "y");
  // What was computed twice is read now, by a fusion and a sort that were not there.
  Op again = MakeOp("dot.9", "jit(f)/transpose(jvp(a))/rematted_computation/dot_general", 300'000);
  again.phase = model::Phase::kRecompute;
  base.ops.push_back(again);
  now.ops.push_back(MakeOp("sort.1", "jit(f)/d/sort", 900'000, "sort"));
  now.ops.push_back(MakeOp("reduce.1", "jit(f)/e/reduce_sum", 500'000, "reduction"));
  for (RunRows* run : {&base, &now}) {
    run->device_ns = 0;
    for (const Op& op : run->ops) run->device_ns += op.ns;
    run->step_ns = run->device_ns;
    run->steps.assign(10, run->step_ns);
    run->modules[0].ns = run->device_ns;
  }
  const Comparison comparison = Compare(base, now);
  const auto changes = FindChanges(base, now, comparison);
  const std::string sentence = Judge(base, now, comparison, changes, {&base}, {&now}).sentence;
  const size_t sort = sentence.find("sort that BASE does not do");
  const size_t remat =
      sentence.find("recomputation (remat) is gone: 1 operation no longer run twice");
  ASSERT_NE(sort, std::string::npos) << sentence;
  ASSERT_NE(remat, std::string::npos) << sentence;
  EXPECT_LT(sort, remat);
}

TEST(Verdict, WithoutStepsCallsAreCompared) {
  const auto run = [](int64_t calls, int64_t ns, std::string id) {
    RunRows rows = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", calls * ns),
                            MakeOp("dot.2", "jit(f)/b/dot_general", calls * 500'000)},
                           std::move(id));
    rows.steady = false;
    rows.steps.clear();
    rows.step_ns = 0;
    rows.step_devices = 1;
    for (Op& op : rows.ops) op.calls = calls;
    rows.modules[0].executions = calls;
    rows.modules[0].run_ns = rows.device_ns;
    return rows;
  };
  const RunRows base = run(100, 500'000, "a");
  const RunRows now = run(200, 600'000, "b");
  const Comparison comparison = Compare(base, now);
  const Verdict verdict =
      Judge(base, now, comparison, FindChanges(base, now, comparison), {&base}, {&now});
  EXPECT_TRUE(verdict.sentence.starts_with(
      "Device time of a call of the main program 1.00 ms -> 1.10 ms, +10.0%"))
      << verdict.sentence;
  EXPECT_EQ(verdict.sentence.find("as often"), std::string::npos) << verdict.sentence;
  EXPECT_NE(verdict.noise.find("100 in BASE, 200 in NEW"), std::string::npos) << verdict.noise;
  EXPECT_FALSE(verdict.established);
}

TEST(Compare, ATimeThatDiffersByLessThanItsDigitsShowIsSaidToBeAsBefore) {
  const auto text_of = [](int64_t ns) {
    const RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1'000'000)}, "a");
    const RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", ns)}, "b");
    const Comparison comparison = Compare(base, now);
    const auto causes = CausesOf(base, now, comparison.rows.at(0));
    return causes.empty() ? std::string() : causes[0].text;
  };
  EXPECT_EQ(text_of(1'004'000).rfind("as fast as before within 0.5%", 0), 0u) << text_of(1'004'000);
  EXPECT_EQ(text_of(996'000).rfind("as fast as before within 0.5%", 0), 0u) << text_of(996'000);
  EXPECT_EQ(text_of(1'010'000).rfind("slower by 1.01x", 0), 0u) << text_of(1'010'000);
}

// Fewer executions of everything, and one op that takes longer all the same.
TEST(Changes, WhatTakesLongerInFewerExecutionsIsNoRepetition) {
  const auto run = [](int64_t calls, int64_t slow_ns, std::string id) {
    RunRows rows = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", calls * 10'000),
                            MakeOp("send.1", "jit(f)/b/ppermute", calls * slow_ns, "collective")},
                           std::move(id));
    rows.steady = false;
    rows.steps.clear();
    rows.step_ns = 0;
    rows.step_devices = 1;
    for (Op& op : rows.ops) op.calls = calls;
    return rows;
  };
  const RunRows base = run(100, 1'000, "a");
  const RunRows now = run(90, 1'500, "b");
  const auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 2u);
  const auto slower = std::find_if(changes.begin(), changes.end(),
                                   [](const Change& change) { return change.id == "time"; });
  ASSERT_NE(slower, changes.end());
  EXPECT_EQ(slower->delta_ns, 90 * 1'500 - 100 * 1'000);
  EXPECT_FALSE(slower->certain);
  EXPECT_NE(
      slower->text.find("each execution takes 1.50x as long, waiting for other ranks included"),
      std::string::npos)
      << slower->text;
}

// A recording of as much time with fewer repetitions is of something that became slower.
TEST(Changes, FewerRepetitionsInAsMuchTimeAreNoShorterRecording) {
  const auto run = [](int64_t calls, int64_t span_ns, std::string id) {
    std::vector<Op> ops;
    for (int n = 0; n < 9; ++n) {
      ops.push_back(MakeOp(fmt::format("dot.{}", n), fmt::format("jit(f)/part_{}/dot_general", n),
                           calls * (10'000 + n)));
    }
    RunRows rows = MakeRun(std::move(ops), std::move(id));
    rows.steady = false;
    rows.steps.clear();
    rows.step_ns = 0;
    rows.step_devices = 1;
    rows.span_ns = span_ns;
    for (Op& op : rows.ops) op.calls = calls;
    return rows;
  };
  const auto text = [&](const RunRows& base, const RunRows& now) {
    const auto changes = FindChanges(base, now, Compare(base, now));
    return changes.size() == 1 ? changes[0].text : std::string();
  };
  const RunRows base = run(100, 2'000'000, "a");
  EXPECT_NE(text(base, run(80, 1'600'000, "b")).find("another number of steps was recorded"),
            std::string::npos);
  EXPECT_NE(text(base, run(80, 0, "c")).find("another number of steps was recorded"),
            std::string::npos);
  const std::string slower = text(base, run(80, 2'000'000, "d"));
  EXPECT_NE(
      slower.find("everything ran about 20.0% fewer times in the same 2.00 ms, which is slower;"),
      std::string::npos)
      << slower;
  EXPECT_NE(slower.find("per execution the same work takes as long"), std::string::npos) << slower;
  // 80 in 3 ms beside 100 in 2 ms: 8/15 of the rate.
  const std::string longer = text(base, run(80, 3'000'000, "e"));
  EXPECT_NE(longer.find(
                "46.7% fewer times in a second, over 3.00 ms instead of 2.00 ms, which is slower"),
            std::string::npos)
      << longer;
  const std::string thrice = text(base, run(300, 2'000'000, "f"));
  EXPECT_NE(
      thrice.find("everything ran about 3.00 times as often in the same 2.00 ms, which is faster"),
      std::string::npos)
      << thrice;
  EXPECT_EQ(slower.find("another number of steps"), std::string::npos) << slower;

  // Where some ran a little more often than the rest, nothing took longer.
  RunRows uneven = run(80, 2'000'000, "i");
  uneven.ops[0].calls = 84;
  uneven.ops[0].ns = 84 * 10'000;
  const auto even = FindChanges(base, uneven, Compare(base, uneven));
  ASSERT_FALSE(even.empty());
  EXPECT_NE(even[0].text.find("per execution the same work takes as long"), std::string::npos)
      << even[0].text;

  // What the device did not do meanwhile: it waited.
  RunRows before = run(100, 2'000'000, "g"), after = run(80, 2'000'000, "h");
  before.gaps = {{"host_late", 300'000, 10}, {"host_waits", 100'000, 5}};
  after.gaps = {{"host_late", 480'000, 10}, {"host_waits", 120'000, 5}};
  const auto idle = [](const RunRows& from, const RunRows& to) {
    for (const Change& change : FindChanges(from, to, Compare(from, to))) {
      if (change.id == "idle") return change;
    }
    return Change{};
  };
  // Causes that grew with it, the largest first.
  EXPECT_EQ(idle(before, after).text,
            "the devices together are idle for 600 us instead of 400 us: host_late +180 us, "
            "host_waits +20.0 us");
  EXPECT_EQ(idle(before, after).delta_ns, 200'000);
  EXPECT_TRUE(idle(before, after).wall);
  // The first word is what the rate says, although the device time is less.
  const Comparison compared = Compare(before, after);
  const Verdict verdict =
      Judge(before, after, compared, FindChanges(before, after, compared), {&before}, {&after});
  EXPECT_EQ(verdict.outcome, "Slower: the same work takes 25.0% longer");
  EXPECT_EQ(
      verdict.sentence,
      "Slower: the same work takes 25.0% longer. Everything ran about 20.0% fewer times in the "
      "same 2.00 ms, per execution it takes as long; the devices together are idle for 600 us "
      "instead of 400 us: host_late +180 us, host_waits +20.0 us.");
  EXPECT_NE(verdict.noise.find("how much was done, not how fast"), std::string::npos);
  // Where less is idle no cause is blamed, and recordings of another length say nothing.
  EXPECT_EQ(idle(after, before).text, "the devices together are idle for 400 us instead of 600 us");
  after.span_ns = 3'000'000;
  EXPECT_TRUE(idle(before, after).id.empty());
}

TEST(Verdict, AnEqualStepIsCalledThat) {
  const RunRows base = ThreeOps(100'000, 100'000, 100'000, "x");
  RunRows now = ThreeOps(90'000, 110'100, 100'000, "y");
  now.ops[0].calls = 5;
  const std::string sentence = SentenceOf(base, now);
  EXPECT_NE(sentence.find("<0.1%, about the same: "), std::string::npos) << sentence;
  // By weight alone: the certain one first.
  EXPECT_LT(sentence.find("-10.0 us"), sentence.find("+10.1 us")) << sentence;
}

TEST(Verdict, WhatNothingExplainsIsSaid) {
  // The step became longer, all that is known became shorter.
  const RunRows base = ThreeOps(1000, 1000, 1000, "x");
  RunRows now = ThreeOps(600, 1000, 1000, "y");
  now.step_ns = 5000;
  now.steps.assign(10, now.step_ns);
  const std::string sentence = SentenceOf(base, now);
  EXPECT_NE(sentence.find("nothing that was recorded explains it; what is different: "),
            std::string::npos)
      << sentence;
}

TEST(Changes, TheSameInAllLayersIsOneChange) {
  std::vector<Op> ops, slower;
  for (int i = 0; i < 6; ++i) {
    Op op = MakeOp("dot." + std::to_string(i),
                   "jit(f)/layer_" + std::to_string(i) + "/attention/dot_general", 100);
    op.layer = "layer_" + std::to_string(i) + "/attention";
    op.layer_group = "layer_*/attention";
    ops.push_back(op);
    op.ns = 130 + 20 * i;
    op.calls = 20;
    slower.push_back(op);
  }
  const RunRows base = MakeRun(ops, "x");
  const RunRows now = MakeRun(slower, "y");
  const auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].text.starts_with("layer_*/attention forward")) << changes[0].text;
  EXPECT_NE(changes[0].text.find("and 5 alike"), std::string::npos) << changes[0].text;
}

TEST(Changes, OpsWithoutNamesAreNotOne) {
  std::vector<Op> ops;
  for (int i = 0; i < 4; ++i) ops.push_back(MakeOp("fusion." + std::to_string(i), "", 100));
  std::vector<Op> slower = ops;
  slower[0].ns = 150;
  slower[1].ns = 120;
  const RunRows base = MakeRun(ops, "x");
  const RunRows now = MakeRun(slower, "y");
  const auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].delta_ns, 50);
}

TEST(Circumstances, AreNamedOnlyWhereTheyDifferAndAreKnown) {
  EXPECT_EQ(FlagDifference("--xla_a=1 --xla_b=2", "--xla_b=2 --xla_a=1 --xla_dump_to=/x"), "");
  EXPECT_EQ(FlagDifference("--xla_a=1", "--xla_a=0"), "--xla_a=1 before, 0 now");
  EXPECT_EQ(FlagDifference("", "--xla_a"), "--xla_a=true now, not set before");
  EXPECT_EQ(FlagDifference("--xla_a=3", ""), "--xla_a=3 before, not set now");
  RunRows base = ThreeOps(100, 100, 100, "x");
  RunRows now = base;
  EXPECT_EQ(CompilerReason(base, now), "");
  base.versions = {{"jaxlib_version", "0.7.2"}, {"driver", "550.1"}};
  now.versions = {{"jaxlib_version", "0.10.2"}};
  EXPECT_EQ(CompilerReason(base, now), "compiler: jaxlib: 0.7.2 before, 0.10.2 now");
  EXPECT_EQ(DeviceReason(base, now), "");  // One side does not say its driver.
  now.xla_flags = "--xla_a=1";
  EXPECT_EQ(CompilerReason(base, now), "compiler: jaxlib: 0.7.2 before, 0.10.2 now");
  base.flags_known = now.flags_known = true;
  EXPECT_EQ(CompilerReason(base, now), "XLA flags: --xla_a=1 now, not set before");
  base.clock_hz = 1'980'000'000;
  now.clock_hz = 1'410'000'000;
  EXPECT_EQ(DeviceReason(base, now), "the device's highest clock: 1980 MHz before, 1410 MHz now");
}

TEST(Circumstances, AreThePossibleReasonOfWhatTheyCanCause) {
  RunRows base = ThreeOps(1000, 1000, 1000, "x");
  RunRows now = ThreeOps(1000, 1500, 1000, "y");
  base.ops[1].kernels.push_back({.name = "ampere_sgemm_128x64_nn", .ns = 1000, .calls = 10});
  now.ops[1].kernels.push_back({.name = "ampere_sgemm_32x32_nn", .ns = 1500, .calls = 10});
  base.flags_known = now.flags_known = true;
  now.xla_flags = "--xla_gpu_autotune_level=0";
  const std::string sentence = SentenceOf(base, now);
  EXPECT_NE(sentence.find("(possible reason: XLA flags: --xla_gpu_autotune_level=0 now"),
            std::string::npos)
      << sentence;
  // A flag of the compiler makes no kernel slower that is the same.
  now.ops[1].kernels = base.ops[1].kernels;
  EXPECT_EQ(SentenceOf(base, now).find("possible reason"), std::string::npos);
}

TEST(CommonRatio, IsWhatMostShare) {
  std::vector<WeighedRatio> ratios(9, {1.2, 10});
  EXPECT_DOUBLE_EQ(CommonRatio(ratios, 0.03).value_or(0), 1.2);
  ratios.push_back({3, 10});
  EXPECT_DOUBLE_EQ(CommonRatio(ratios, 0.03).value_or(0), 1.2);
  ratios.push_back({3, 30});
  EXPECT_FALSE(CommonRatio(ratios, 0.03));  // 90 of 130.
  EXPECT_FALSE(CommonRatio(std::vector<WeighedRatio>(7, {1.2, 10}), 0.03));
  EXPECT_FALSE(CommonRatio({}, 0.03));
}

// Copies and elementwise kernels, which every program of PyTorch has, make no two programs one.
TEST(Identity, KernelsOfOtherProgramsAreNotCompared) {
  const auto run = [](int64_t attention, int64_t product, const std::string& id) {
    const auto kernel = [](const std::string& name, int64_t ns, const std::string& kind) {
      Op op;
      op.reason = kind == "copy" ? "transfer" : "not_xla";
      op.op_kind = kind;
      op.kernels = {{.name = name, .ns = ns}};
      op.ns = ns;
      op.calls = 10;
      return op;
    };
    RunRows rows = MakeRun({}, id);
    rows.modules.clear();
    rows.ops = {kernel("MemcpyH2D", 900'000, "copy"), kernel("elementwise", 10'000, "other")};
    if (attention > 0) rows.ops.push_back(kernel("flash_fwd_kernel", attention, "other"));
    if (product > 0) rows.ops.push_back(kernel("sm80_gemm", product, "other"));
    rows.device_ns = 910'000 + attention + product;
    return rows;
  };
  const auto refusals = [](const RunRows& a, const RunRows& b) {
    return Compare(a, b).identity.refusals;
  };
  const RunRows attention = run(100'000, 0, "a");
  const auto refused = refusals(attention, run(0, 100'000, "b"));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0], "other programs: 9.1% of the kernels' time is in kernels of both");
  EXPECT_TRUE(refusals(attention, run(20'000, 100'000, "c")).empty());
  EXPECT_TRUE(refusals(attention, run(1'000'000, 0, "d")).empty());
}

TEST(Verdict, OneRunASideNeverEstablishesATime) {
  const RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1000000)}, "x");
  const RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 2000000)}, "y");
  const Comparison comparison = Compare(base, now);
  const Verdict verdict =
      Judge(base, now, comparison, FindChanges(base, now, comparison), {&base}, {&now});
  EXPECT_FALSE(verdict.established);
  EXPECT_NE(verdict.noise.find("not established"), std::string::npos);
  EXPECT_TRUE(verdict.sentence.starts_with("Step 1.00 ms -> 2.00 ms, +100%")) << verdict.sentence;
}

}  // namespace
}  // namespace xlatrace::compare
