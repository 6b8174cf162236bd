// SPDX-License-Identifier: Apache-2.0

// Kernels that a framework runs outside of XLA, attributed to their op.

#include <gtest/gtest.h>

#include "correlator/framework_ops.h"
#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using model::Confidence;
using model::Evidence;
using model::Origin;
using model::Reason;

LoadedModule JitF() {
  return {.hlo = MakeModule("jit_f", {{"main", {{"loop_add_fusion", "fusion"}}}}, 7)};
}

class OpRangeTest : public testing::Test {
 protected:
  uint32_t Op(std::string name, std::string type) {
    return run_.Hint(
        {.evidence = Evidence::kOpRange, .op_name = std::move(name), .op_type = std::move(type)});
  }

  const model::InstructionRow& RowOf(size_t activity) const {
    return tables_.instructions[static_cast<size_t>(LabelOf(tables_, activity).instruction_id) - 1];
  }

  RunBuilder run_;
  model::AttributionTables tables_;
};

TEST_F(OpRangeTest, KernelInAnOpRangeIsExact) {
  run_.AddLane(run_.AddDevice());
  run_.Activity(run_.Kernel("main_kernel"), Op("dense_0/Gelu/Erfc", "Erfc"));
  run_.Activity(run_.Kernel("main_kernel"), Op("dense_0/Gelu/Neg", "Neg"));
  run_.Activity(run_.CopyToDevice(), Op("IteratorGetNext/_3", "_Send"));
  tables_ = run_.Attribute();
  for (size_t i = 0; i < 3; ++i) {
    const model::Label& label = LabelOf(tables_, i);
    EXPECT_EQ(label.evidence, Evidence::kOpRange);
    EXPECT_EQ(label.confidence, Confidence::kExact);
    EXPECT_EQ(label.origin, Origin::kFramework);
    EXPECT_EQ(label.module_id, 0);
    EXPECT_EQ(RowOf(i).module_id, 0);
  }
  EXPECT_EQ(RowOf(0).op_name, "dense_0/Gelu/Erfc");
  EXPECT_EQ(RowOf(0).op_type, "Erfc");
  EXPECT_EQ(RowOf(1).op_name, "dense_0/Gelu/Neg");
  EXPECT_EQ(RowOf(2).op_kind, model::OpKind::kCopy);
  EXPECT_EQ(tables_.executions.size(), 0u);
}

TEST_F(OpRangeTest, OpOnSeveralDevicesHasOneRow) {
  run_.AddLane(run_.AddDevice());
  run_.AddLane(run_.AddDevice(run_.AddProcess()));
  run_.Activity(run_.Kernel("sgemm"), Op("dense/MatMul", "MatMul"), 0, 1);
  run_.Activity(run_.Kernel("sgemm"), Op("dense/MatMul", "MatMul"), 0, 2);
  run_.Activity(run_.Kernel("sgemm"), Op("dense/MatMul", "Einsum"), 0, 2);
  tables_ = run_.Attribute();
  EXPECT_EQ(LabelOf(tables_, 0).instruction_id, LabelOf(tables_, 1).instruction_id);
  EXPECT_NE(LabelOf(tables_, 0).instruction_id, LabelOf(tables_, 2).instruction_id);
}

TEST_F(OpRangeTest, KernelOutsideOfXlaKeepsItsFrameworkOp) {
  run_.AddLane(run_.AddDevice());
  run_.AddModule("jit_f", 7, JitF);
  run_.Activity(run_.Kernel("loop_add_fusion"), run_.Annotation("jit_f", 7, "loop_add_fusion"));
  run_.Activity(run_.Kernel("ampere_sgemm_128x64_nn"), Op("dense/MatMul", "MatMul"));
  run_.Activity(run_.Kernel("loop_add_fusion"), run_.Annotation("jit_f", 7, "loop_add_fusion"));
  tables_ = run_.Attribute();
  EXPECT_EQ(Says(run_, tables_, 0), "jit_f/loop_add_fusion");
  EXPECT_EQ(RowOf(1).op_name, "dense/MatMul");
  EXPECT_EQ(Says(run_, tables_, 2), "jit_f/loop_add_fusion");
}

TEST_F(OpRangeTest, CallOpYieldsToTheKernelSymbol) {
  run_.AddLane(run_.AddDevice());
  run_.AddModule("jit_f", 7, JitF);
  run_.Activity(run_.Kernel("loop_add_fusion"), Op("cluster_0/xla_run", "_XlaRun"));
  run_.Activity(run_.Copy(model::CopyKind::kDeviceToDevice), Op("cluster_0/xla_run", "_XlaRun"));
  tables_ = run_.Attribute();
  EXPECT_EQ(Says(run_, tables_, 0), "jit_f/loop_add_fusion");
  EXPECT_EQ(RowOf(1).op_name, "cluster_0/xla_run");
}

TEST_F(OpRangeTest, CudnnTrialsBelongToTheirOp) {
  run_.AddLane(run_.AddDevice());
  const char* const check = "stream_executor::redzone_checker";
  run_.Activity(run_.Kernel(check), Op("stem/Conv2D", "Conv2D"));
  run_.Activity(run_.Kernel(check), Op("cluster_0/xla_compile", "_XlaCompile"));
  tables_ = run_.Attribute();
  EXPECT_EQ(RowOf(0).op_name, "stem/Conv2D");
  EXPECT_EQ(LabelOf(tables_, 1).reason, Reason::kAutotuning);
}

TEST_F(OpRangeTest, KernelOutsideOfAllOpsRanEagerly) {
  run_.AddLane(run_.AddDevice());
  const uint32_t outside = run_.Hint({.evidence = Evidence::kOpRange});
  run_.Activity(run_.Kernel("Mul_GPU_DT_FLOAT_DT_FLOAT_kernel"), outside);
  run_.Activity(run_.CopyToDevice(), outside);
  run_.Activity(run_.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), outside);
  tables_ = run_.Attribute();
  EXPECT_EQ(LabelOf(tables_, 0).reason, Reason::kEager);
  EXPECT_EQ(LabelOf(tables_, 0).origin, Origin::kFramework);
  EXPECT_EQ(LabelOf(tables_, 1).reason, Reason::kTransfer);
  EXPECT_EQ(LabelOf(tables_, 2).reason, Reason::kNotXla);  // NCCL has threads of its own.
}

TEST_F(OpRangeTest, CallsInFrontOfANameAreNotShown) {
  run_.AddLane(run_.AddDevice());
  run_.Activity(run_.Kernel("a"), Op("StatefulPartitionedCall_2/PartitionedCall/a/Mul", "Mul"));
  run_.Activity(run_.Kernel("b"), Op("StatefulPartitionedCall/b/Mul", "Mul"));
  run_.Activity(run_.Kernel("b"), Op("b/Mul", "Mul"));
  run_.Activity(run_.Kernel("c"), Op("StatefulPartitionedCall", "Mul"));
  tables_ = run_.Attribute();
  EXPECT_EQ(RowOf(0).name, "a/Mul:Mul");
  EXPECT_EQ(RowOf(0).op_name, "StatefulPartitionedCall_2/PartitionedCall/a/Mul");
  EXPECT_EQ(RowOf(1).name, "StatefulPartitionedCall/b/Mul:Mul");  // Another one is called that.
  EXPECT_EQ(RowOf(2).name, "b/Mul:Mul");
  EXPECT_EQ(RowOf(3).name, "StatefulPartitionedCall:Mul");
}

class LooseCollectives : public OpRangeTest {
 protected:
  void SetUp() override {
    run_.AddLane(run_.AddDevice());
    run_.AddLane(run_.AddDevice());
  }
  void AllReduces() {
    for (const uint32_t lane : {2u, 1u}) {
      run_.Activity(run_.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
                    run_.Hint({.evidence = Evidence::kOpRange}), 0, lane);
    }
    tables_ = run_.Attribute();
  }
};

TEST_F(LooseCollectives, OpsAreAssignedToDevicesInOrderOfNumbers) {
  Op("sync/CollectiveReduceV2_1", "CollectiveReduceV2");
  Op("sync/CollectiveReduceV2", "CollectiveReduceV2");
  Op("sync/CollectiveGatherV2", "CollectiveGatherV2");
  AllReduces();
  EXPECT_EQ(RowOf(0).op_name, "sync/CollectiveReduceV2_1");
  EXPECT_EQ(RowOf(1).op_name, "sync/CollectiveReduceV2");
  EXPECT_EQ(RowOf(1).op_kind, model::OpKind::kCollective);
  EXPECT_EQ(LabelOf(tables_, 0).evidence, Evidence::kOpRange);
  EXPECT_EQ(LabelOf(tables_, 0).confidence, Confidence::kInferred);
}

TEST_F(LooseCollectives, MoreOpsThanDevicesGiveNoLabel) {
  for (const char* name : {"CollectiveReduceV2", "CollectiveReduceV2_1", "CollectiveReduceV2_2"}) {
    Op(name, "CollectiveReduceV2");
  }
  AllReduces();
  EXPECT_EQ(LabelOf(tables_, 0).reason, Reason::kNotXla);
}

TEST_F(LooseCollectives, OpsWithoutANumberedSeriesGiveNoLabel) {
  Op("first/CollectiveReduceV2", "CollectiveReduceV2");
  Op("second/CollectiveReduceV2", "CollectiveReduceV2");
  AllReduces();
  EXPECT_EQ(LabelOf(tables_, 0).reason, Reason::kNotXla);
}

TEST_F(LooseCollectives, OpsOfAnotherCollectiveKindGiveNoLabel) {
  Op("CollectiveGatherV2", "CollectiveGatherV2");
  Op("CollectiveGatherV2_1", "CollectiveGatherV2");
  AllReduces();
  EXPECT_EQ(LabelOf(tables_, 0).instruction_id, 0);
}

TEST(KindOfOpType, KindFollowsFromTheOpType) {
  EXPECT_EQ(KindOfOpType("MatMul"), model::OpKind::kGemm);
  EXPECT_EQ(KindOfOpType("_FusedMatMul"), model::OpKind::kGemm);
  EXPECT_EQ(KindOfOpType("Conv2DBackpropFilter"), model::OpKind::kConvolution);
  EXPECT_EQ(KindOfOpType("Sum"), model::OpKind::kReduction);
  EXPECT_EQ(KindOfOpType("AddV2"), model::OpKind::kElementwiseFusion);
  EXPECT_EQ(KindOfOpType("NcclAllReduce"), model::OpKind::kCollective);
  EXPECT_EQ(KindOfOpType("ResourceGather"), model::OpKind::kScatterGather);
  EXPECT_EQ(KindOfOpType("SomethingOfMine"), model::OpKind::kOther);
}

}  // namespace
}  // namespace xlatrace::correlator
