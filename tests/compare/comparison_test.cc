// SPDX-License-Identifier: Apache-2.0
#include "compare/comparison.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/kernel_class.h"
#include "compare/breakdown.h"
#include "compare/causes.h"
#include "compare/circumstances.h"
#include "compare/common_ratio.h"
#include "compare/op_identity.h"
#include "hlo/text/text_reader.h"
#include "tests/compare/run_case.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::compare {
namespace {

using RunRows = Run;  // Test::Run hides it.

TEST(Compare, SameRecordingHasNoDifference) {
  const RunRows run = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 100)}, "x");
  const Comparison comparison = Compare(run, run);
  EXPECT_TRUE(comparison.identity.same_recording);
  EXPECT_EQ(comparison.delta(), 0);
  for (const Row& row : comparison.rows) EXPECT_EQ(row.delta(), 0);
  const auto changes = FindChanges(run, run, comparison);
  EXPECT_GOLDEN_TEXT(ComputeVerdict(run, run, comparison, changes, {&run}, {&run}).sentence);
}

std::shared_ptr<const model::HloModule> Program(int rows) {
  const std::string shape = "f32[" + std::to_string(rows) + ",64]{1,0}";
  auto read = hlo::ReadText(std::make_shared<const std::string>(
      "HloModule m, is_scheduled=true\nENTRY e {\n  x = " + shape +
      " parameter(0)\n  w = f32[64,64]{1,0} parameter(1)\n  dot.1 = " + shape +
      " dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
      "metadata={op_name=\"jit(f)/a/dot_general\"}\n  ROOT tanh.1 = " +
      shape + " tanh(dot.1), metadata={op_name=\"jit(f)/a/tanh\"}\n}\n"));
  EXPECT_TRUE(read.has_value());
  return std::make_shared<const model::HloModule>(std::move(*read));
}

// NEW has a second program of the function, for other shapes: both together do the work of the one.
TEST(Compare, ProgramsOfOneFunctionAreComparedTogether) {
  RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1000),
                          MakeOp("tanh.1", "jit(f)/a/tanh", 500, "elementwise_fusion")},
                         "x");
  RunRows now = base;
  now.content_id = "y";
  now.ops = {MakeOp("dot.1", "jit(f)/a/dot_general", 600),
             MakeOp("tanh.1", "jit(f)/a/tanh", 300, "elementwise_fusion"),
             MakeOp("dot.1", "jit(f)/a/dot_general", 410),
             MakeOp("tanh.1", "jit(f)/a/tanh", 190, "elementwise_fusion")};
  for (RunRows* run : {&base, &now}) {
    for (Op& op : run->ops) {
      if (op.instruction == "tanh.1") op.phase = model::Phase::kRecompute;
    }
  }
  now.modules.push_back(now.modules[0]);
  now.modules[1].name = "train_step.2";
  base.modules[0].hlo = now.modules[0].hlo = Program(64);
  base.modules[0].fingerprint = now.modules[0].fingerprint = "one";
  now.modules[1].hlo = Program(96);
  now.modules[1].fingerprint = "two";
  for (size_t i = 0; i < 4; ++i) now.ops[i].calls = i < 2 ? 6 : 4;
  now.ops[2].module = now.ops[3].module = 1;
  for (const bool turned : {false, true}) {
    const Comparison comparison = turned ? Compare(now, base) : Compare(base, now);
    ASSERT_EQ(comparison.rows.size(), 2u);
    const Row& row = comparison.rows[0];  // dot.1 by 10; tanh.1 by -10 has less time.
    EXPECT_EQ(row.base.size() + row.now.size(), 3u);
    EXPECT_EQ(row.delta(), turned ? -10 : 10);
    EXPECT_DOUBLE_EQ(row.base_calls, 1);
    EXPECT_DOUBLE_EQ(row.now_calls, 1);
    ASSERT_FALSE(row.causes.empty());
    EXPECT_GOLDEN_TEXT(row.causes[0].text);
    EXPECT_EQ(comparison.modules.size(), 1u);
    const auto changes =
        turned ? FindChanges(now, base, comparison) : FindChanges(base, now, comparison);
    // The amount of recomputation is the same.
    for (const Change& change : changes) EXPECT_NE(change.id, "recompute") << change.text;
  }
}

TEST(Compare, EveryGroupingSumsToTheTotalOnBothSides) {
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

// Without HLO the kind of work follows from the names of kernels, as on the first screen.
TEST(Compare, KindsOfKernelsWithoutInstructionsFollowFromTheirNames) {
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
  using analysis::KernelClass;
  const std::set<std::string> found = names(bare, bare);
  EXPECT_EQ(found.size(), 4u);
  EXPECT_THAT(found, testing::IsSupersetOf({std::string(Text(KernelClass::kAttention)),
                                            std::string(Text(KernelClass::kProduct))}));
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

TEST(Compare, OpsWithoutHloAreMatchedByName) {
  // The numbers of the instructions are no evidence: dot.1 and dot.2 have changed places.
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

TEST(Compare, CauseIsNamedWithItsEvidence) {
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

TEST(Compare, RenumberedFusionIsNotAKernelChange) {
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

// Instances of one template without an instruction are one op: which of them is largest changes.
TEST(Compare, LaunchOnBothSidesIsNoLaunchChange) {
  const auto kernels = [](int64_t ns16, int64_t ns18, std::string id) {
    Op op;
    op.reason = "not_xla";
    op.calls = 10;
    op.ns = ns16 + ns18;
    op.kernels = {{.name = "cat", .ns = ns16, .calls = 5, .block = {128, 1, 1}, .registers = 16},
                  {.name = "cat", .ns = ns18, .calls = 5, .block = {128, 1, 1}, .registers = 18}};
    if (ns18 > ns16) std::swap(op.kernels[0], op.kernels[1]);
    return MakeRun({op}, std::move(id));
  };
  const RunRows base = kernels(600, 500, "x");
  const auto causes = [&](const RunRows& now) {
    const Comparison comparison = Compare(base, now);
    EXPECT_EQ(comparison.rows.size(), 1u);
    return comparison.rows.front().causes;
  };
  for (const Cause& cause : causes(kernels(650, 700, "y"))) {
    EXPECT_NE(cause.kind, CauseKind::kLaunch) << cause.text;
  }
  RunRows spilled = kernels(650, 700, "z");
  for (KernelUse& use : spilled.ops[0].kernels) use.registers = 255;
  const std::vector<Cause> other = causes(spilled);
  ASSERT_FALSE(other.empty());
  EXPECT_EQ(other[0].kind, CauseKind::kLaunch);
  EXPECT_GOLDEN_TEXT(other[0].text);  // 255 registers instead of 16.
}

TEST(Compare, OtherDevicesAreRefused) {
  const RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 100)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 90)}, "y");
  now.devices = {{"Other", 1}};
  const Comparison comparison = Compare(base, now);
  EXPECT_FALSE(comparison.identity.comparable());
  const Verdict verdict = ComputeVerdict(base, now, comparison, {}, {&base}, {&now});
  EXPECT_GOLDEN_TEXT(verdict.sentence);
}

TEST(Compare, LossesAndMissingStepsAreQualifications) {
  const RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 100)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 90)}, "y");
  now.lost = 12;
  now.steady = false;
  const auto said = Compare(base, now).identity.qualifications;
  ASSERT_EQ(said.size(), 2u);
  EXPECT_GOLDEN_TEXT(said[0] + "\n" + said[1]);  // 12 records.
}

// NEW has steps, but is loaded as a whole run because BASE has none.
TEST(Compare, QualificationNamesTheRunWithoutSteps) {
  RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 100)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 120)}, "y");
  base.steady = now.steady = false;
  now.has_steps = true;
  const auto said = [](const Comparison& comparison) {
    std::string text;
    for (const std::string& one : comparison.identity.qualifications) text += one + "\n";
    return text;
  };
  EXPECT_GOLDEN_TEXT(said(Compare(base, now)));
  EXPECT_GOLDEN_TEXT(said(Compare(now, base)));
}

TEST(Compare, DifferenceBelowTheShownDigitsIsCalledEqual) {
  const auto text_of = [](int64_t ns) {
    const RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1'000'000)}, "a");
    const RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", ns)}, "b");
    const Comparison comparison = Compare(base, now);
    const auto causes = CausesOf(base, now, comparison.rows.at(0));
    return causes.empty() ? std::string() : causes[0].text;
  };
  EXPECT_THAT(text_of(1'004'000), testing::HasSubstr("0.5%"));
  EXPECT_THAT(text_of(996'000), testing::HasSubstr("0.5%"));
  EXPECT_THAT(text_of(1'010'000), testing::HasSubstr(" 1.01x"));
  EXPECT_GOLDEN_TEXT(text_of(1'004'000) + "\n" + text_of(996'000) + "\n" + text_of(1'010'000));
}

TEST(Circumstances, KnownDifferentCircumstancesAreNamed) {
  EXPECT_EQ(FlagDifference("--xla_a=1 --xla_b=2", "--xla_b=2 --xla_a=1 --xla_dump_to=/x"), "");
  // If a flag occurs twice, the last one counts.
  EXPECT_EQ(FlagDifference("--xla_a=1 --xla_a=2", "--xla_a=2"), "");
  EXPECT_GOLDEN_TEXT(FlagDifference("--xla_a=1", "--xla_a=0"));
  EXPECT_GOLDEN_TEXT(FlagDifference("", "--xla_a"));
  EXPECT_GOLDEN_TEXT(FlagDifference("--xla_a=3", ""));
  RunRows base = ThreeOps(100, 100, 100, "x");
  RunRows now = base;
  EXPECT_EQ(CompilerReason(base, now), "");
  base.versions = {{"jaxlib_version", "0.7.2"}, {"driver", "550.1"}};
  now.versions = {{"jaxlib_version", "0.10.2"}};
  const std::string compiler = CompilerReason(base, now);
  EXPECT_GOLDEN_TEXT(compiler);            // jaxlib 0.7.2 and 0.10.2.
  EXPECT_EQ(DeviceReason(base, now), "");  // The driver of one side is not known.
  now.xla_flags = "--xla_a=1";
  EXPECT_EQ(CompilerReason(base, now), compiler);
  base.flags_known = now.flags_known = true;
  EXPECT_GOLDEN_TEXT(CompilerReason(base, now));
  base.clock_hz = 1'980'000'000;
  now.clock_hz = 1'410'000'000;
  EXPECT_GOLDEN_TEXT(DeviceReason(base, now));  // 1980 and 1410 MHz.
}

TEST(CommonRatio, CommonRatioIsTheRatioOfMostOps) {
  std::vector<WeighedRatio> ratios(9, {1.2, 10});
  EXPECT_DOUBLE_EQ(CommonRatio(ratios, 0.03).value_or(0), 1.2);
  ratios.push_back({3, 10});
  EXPECT_DOUBLE_EQ(CommonRatio(ratios, 0.03).value_or(0), 1.2);
  ratios.push_back({3, 30});
  EXPECT_FALSE(CommonRatio(ratios, 0.03));  // 90 of 130.
  EXPECT_FALSE(CommonRatio(std::vector<WeighedRatio>(7, {1.2, 10}), 0.03));
  EXPECT_FALSE(CommonRatio({}, 0.03));
}

TEST(Identity, ProgramsWithLittleInCommonAreNotCompared) {
  const RunRows base = ThreeOps(100, 100, 100, "x");
  const RunRows now = ThreeOps(100, 100, 100, "y");
  const auto refusals = [&](double in_common) {
    return Identify(base, now, {.programs = in_common}).refusals;
  };
  ASSERT_EQ(refusals(0.29).size(), 1u);
  EXPECT_GOLDEN_TEXT(refusals(0.29)[0]);  // 29.0 %.
  EXPECT_TRUE(refusals(0.31).empty());
  EXPECT_TRUE(refusals(-1).empty());  // Not known.
}

TEST(Identity, RecordingsWithoutAnIdAreDifferent) {
  EXPECT_FALSE(Identify(ThreeOps(1, 1, 1, ""), ThreeOps(1, 1, 1, ""), {}).same_recording);
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
  EXPECT_GOLDEN_TEXT(refused[0]);  // 9.1 %.
  EXPECT_TRUE(refusals(attention, run(20'000, 100'000, "c")).empty());
  EXPECT_TRUE(refusals(attention, run(1'000'000, 0, "d")).empty());
}

}  // namespace
}  // namespace xlatrace::compare
