// SPDX-License-Identifier: Apache-2.0

// Why a row changed: each cause with a row that has it and a row that only looks like it.

#include "compare/causes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/row_builder.h"
#include "tests/compare/run_case.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::compare {
namespace {

using RunRows = Run;  // Test::Run hides it.

// All ops of both sides as one row.
std::vector<Cause> Causes(std::vector<Op> before, std::vector<Op> after,
                          Level level = Level::kProgram) {
  const RunRows base = MakeRun(std::move(before), "x");
  const RunRows now = MakeRun(std::move(after), "y");
  Row row;
  row.level = level;
  for (size_t i = 0; i < base.ops.size(); ++i) {
    row.base.push_back(i);
    row.base_ns += base.ops[i].ns;
    row.base_calls += base.PerStep(base.ops[i].calls);
  }
  for (size_t i = 0; i < now.ops.size(); ++i) {
    row.now.push_back(i);
    row.now_ns += now.ops[i].ns;
    row.now_calls += now.PerStep(now.ops[i].calls);
  }
  return CausesOf(base, now, row);
}

bool Has(const std::vector<Cause>& causes, CauseKind kind) {
  return std::any_of(causes.begin(), causes.end(),
                     [&](const Cause& cause) { return cause.kind == kind; });
}

Op Dot(int64_t ns, std::string shape = {}) {
  Op op = MakeOp("dot.1", "jit(f)/a/dot_general", ns);
  op.shape = std::move(shape);
  return op;
}

TEST(Causes, RenumberedInstructionIsNotAKernelChange) {
  const auto reduce = [](const std::string& number) {
    Op op = MakeOp("reduce." + number, "jit(f)/a/reduce_sum", 100, "reduction");
    op.opcode = "reduce";
    op.kernels.push_back({.name = "reduce_" + number, .ns = 1000, .calls = 10});
    return op;
  };
  EXPECT_TRUE(Causes({reduce("7")}, {reduce("9")}).empty());
}

TEST(Causes, OpInAGraphHasNoCauseAboutKernels) {
  Op in_graph = Dot(100);
  in_graph.kernels = {{.name = "CudaGraph", .ns = 1000, .calls = 10, .graph = true}};
  Op by_itself = Dot(200);
  by_itself.kernels = {{.name = "sm90_xmma_gemm", .ns = 2000, .calls = 10}};
  for (const Op& before : {in_graph, by_itself}) {
    Op after = in_graph;
    after.ns = 150;
    const std::vector<Cause> causes = Causes({before}, {after});
    EXPECT_FALSE(Has(causes, CauseKind::kKernel));
    ASSERT_EQ(causes.size(), 1u);
    EXPECT_GOLDEN_TEXT(causes[0].text);
  }
  const std::vector<Cause> graph_first = Causes({in_graph}, {by_itself});
  EXPECT_FALSE(Has(graph_first, CauseKind::kKernel));
}

TEST(Causes, HelperOfALibraryKernelIsNotAKernelChange) {
  const auto with_helper = [](const std::string& helper) {
    Op op = Dot(100);
    op.kernels = {{.name = "ampere_sgemm_128x64_nn", .ns = 990, .calls = 10},
                  {.name = helper, .ns = 10, .calls = 10}};
    return op;
  };
  EXPECT_TRUE(Causes({with_helper("splitKreduce_kernel")}, {with_helper("memset_zero")}).empty());
}

// One op became two, each run as often. Reads of the value between the two are not a separate
// cause.
TEST(Causes, SplitIsReportedAsItsOnlyCause) {
  Op whole = Dot(100), half = Dot(60);
  whole.bytes = half.bytes = 1000;
  const auto causes = Causes({whole}, {half, half});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, CauseKind::kSplit);
}

TEST(Causes, TransposedResultIsNotAShapeChange) {
  const auto causes = Causes({Dot(100, "f32[8,16]{1,0}")}, {Dot(100, "f32[16,8]{1,0}")});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, CauseKind::kLayout);
  EXPECT_EQ(causes[0].text, "transposed: f32[8,16] -> f32[16,8]");
}

TEST(Causes, LayoutOfAVectorIsNotAChange) {
  EXPECT_TRUE(Causes({Dot(100, "f32[8]{0}")}, {Dot(100, "f32[8]")}).empty());
}

TEST(Causes, RecomputedOpHasTheCauseRecomputed) {
  Op again = Dot(100);
  again.phase = model::Phase::kRecompute;
  const auto causes = Causes({}, {again});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, CauseKind::kRecomputed);
  EXPECT_TRUE(Has(Causes({again}, {}), CauseKind::kLost));
}

TEST(Causes, TimeIsFasterOrSlowerByAFactor) {
  const auto faster = Causes({Dot(1000)}, {Dot(500)});
  ASSERT_EQ(faster.size(), 1u);
  EXPECT_GOLDEN_TEXT(faster[0].text);  // 2.00 times.
  EXPECT_FALSE(faster[0].certain);
  const auto slower = Causes({Dot(500)}, {Dot(1000)});
  ASSERT_EQ(slower.size(), 1u);
  EXPECT_GOLDEN_TEXT(slower[0].text);  // 2.00 times.
}

TEST(Causes, OnlyCollectivesWaitForOtherRanks) {
  EXPECT_GOLDEN_TEXT(Causes({Dot(500)}, {Dot(1000)})[0].text);
  Op sum = Dot(500), longer = Dot(1000);
  sum.op_kind = longer.op_kind = "collective";
  EXPECT_GOLDEN_TEXT(Causes({sum}, {longer})[0].text);
}

TEST(Rows, OpInSeveralGroupsIsInOneRow) {
  const RunRows base = MakeRun({MakeOp("dot.1", "", 100), MakeOp("dot.2", "", 50)}, "x");
  const RunRows now = MakeRun({MakeOp("dot.1", "", 90), MakeOp("dot.2", "", 40)}, "y");
  ModulePair pair;
  pair.by_content = true;
  pair.groups = {{{"dot.1"}, {"dot.1"}}, {{"dot.1", "dot.2"}, {"dot.1", "dot.2"}}};
  int64_t before = 0, after = 0;
  for (const Row& row : BuildRows(base, now, {pair})) {
    before += row.base_ns;
    after += row.now_ns;
  }
  EXPECT_EQ(before, 150);
  EXPECT_EQ(after, 130);
}

// The same kind of work in the same layer, of which the other side has none: each is lost.
TEST(Rows, OpsOfOnlyOneSideAreNotGrouped) {
  const RunRows base =
      MakeRun({MakeOp("dot.1", "jit(f)/a/x", 100), MakeOp("dot.2", "jit(f)/a/y", 50)}, "x");
  const RunRows now = MakeRun({MakeOp("sort.1", "jit(f)/b/sort", 90, "sort")}, "y");
  const auto rows = BuildRows(base, now, {});
  ASSERT_EQ(rows.size(), 3u);
  for (const Row& row : rows) EXPECT_EQ(row.level, Level::kNone);
}

TEST(Rows, InstancesAndNumbersAreOneFamilyOfKernels) {
  EXPECT_EQ(KernelFamily("cat<float, 4>(int*)"), "cat");
  EXPECT_EQ(KernelFamily("loop_add_fusion_12"), "loop_add_fusion");
  EXPECT_EQ(KernelFamily("gemm_128x64"), "gemm_128x64");
  EXPECT_EQ(KernelFamily("<lambda>"), "<lambda>");
  EXPECT_EQ(KernelFamily("void at::(anonymous namespace)::norm<float, 4>(int*)"),
            "at::(anonymous namespace)::norm");
  // The function that CUTLASS wraps is the kernel; its arguments belong to the instance.
  EXPECT_EQ(KernelFamily("void cutlass::Kernel2<cutlass_80_wmma_gemm_32x32_128x1_align8>(Params)"),
            "cutlass::Kernel2<cutlass_80_wmma_gemm_32x32_128x1_align8>");
  EXPECT_EQ(KernelFamily("void cutlass::device_kernel<enable_sm90<Gemm<int>>>(P)"),
            "cutlass::device_kernel<enable_sm90>");
  EXPECT_EQ(KernelFamily("cutlass::Kernel<cut"), "cutlass::Kernel<cut>");
  EXPECT_EQ(KernelFamily("(anonymous namespace)::index_12(long)"), "(anonymous namespace)::index");
}

}  // namespace
}  // namespace xlatrace::compare
