// SPDX-License-Identifier: Apache-2.0
#include "importers/common/op_annotation.h"

#include <gtest/gtest.h>

#include "importers/common/xla_ranges.h"
#include "tests/importers/memory_sink.h"

namespace xlatrace::importers {
namespace {

TEST(OpAnnotation, NameAndTypeOfAnOpAreParsed) {
  const OpAnnotation op = ParseOpAnnotation("gradient_tape/dense_2/MatMul/MatMul:MatMul");
  EXPECT_EQ(op.name, "gradient_tape/dense_2/MatMul/MatMul");
  EXPECT_EQ(op.type, "MatMul");
  const OpAnnotation send = ParseOpAnnotation("IteratorGetNext/_3:_Send#from=/job:a,to=/job:b#");
  EXPECT_EQ(send.name, "IteratorGetNext/_3");
  EXPECT_EQ(send.type, "_Send");
}

TEST(OpAnnotation, OtherRangesAreNotOpAnnotations) {
  for (const char* text :
       {"", ":", "a:", ":MatMul", "Thunk:#hlo_op=add.3#", "XlaModule:#hlo_module=jit_f#",
        "XlaModule:", "ThunkExecutor::Execute", "jit_f:XLA GPU module", "epoch 3: forward", "step",
        "jit(f)/jit(main)/add:Add", "#edge_name=edge_3_x#"}) {
    EXPECT_EQ(ParseOpAnnotation(text).name, "") << text;
  }
}

class OpRangesTest : public testing::Test {
 protected:
  model::Hint At(int64_t time) {
    const XlaRanges::Found found = ranges_.At(1, time, model::Evidence::kRange);
    return found.thunk_hint == 0 ? model::Hint()
                                 : sink_.hints[static_cast<size_t>(found.thunk_hint) - 1];
  }

  MemorySink sink_;
  XlaRanges ranges_{sink_};
};

TEST_F(OpRangesTest, InnermostOpCountsUnlessAModuleIsInside) {
  ranges_.Add(1, 0, 100, "outer/PartitionedCall:PartitionedCall", true);
  ranges_.Add(1, 10, 20, "dense/MatMul:MatMul", true);
  ranges_.Add(1, 30, 90, "cluster_0_1/xla_run:_XlaRun", true);
  ranges_.Add(1, 40, 80, "XlaModule:#hlo_module=cluster_0,program_id=7#", true);
  ranges_.Add(1, 50, 60, "Thunk:#hlo_op=fusion.1#", true);
  ranges_.Finish();
  EXPECT_EQ(At(5).op_name, "outer/PartitionedCall");
  EXPECT_EQ(At(15).op_name, "dense/MatMul");
  EXPECT_EQ(At(15).op_type, "MatMul");
  EXPECT_EQ(At(15).evidence, model::Evidence::kOpRange);
  EXPECT_EQ(At(25).op_name, "outer/PartitionedCall");
  EXPECT_EQ(At(35).op_name, "cluster_0_1/xla_run");
  EXPECT_EQ(At(55).instruction, "fusion.1");
  EXPECT_EQ(At(55).module_name, "cluster_0");
  EXPECT_EQ(At(55).enclosing, "");    // Ops are no thunks.
  EXPECT_EQ(At(70).instruction, "");  // In the module, outside of its thunks: no op's.
  EXPECT_EQ(At(70).op_name, "");
}

TEST_F(OpRangesTest, ThunksAroundAThunkAreNamedFromTheOutermostIn) {
  ranges_.Add(1, 0, 100, "XlaModule:#hlo_module=jit_f,program_id=7#");
  ranges_.Add(1, 10, 90, "Thunk:#hlo_op=while.1#");
  ranges_.Add(1, 20, 80, "Thunk:#hlo_op=conditional.2#");
  ranges_.Add(1, 30, 70, "Thunk:#hlo_op=add.3#");
  ranges_.Finish();
  EXPECT_EQ(At(50).instruction, "add.3");
  EXPECT_EQ(At(50).enclosing, "while.1/conditional.2");
  EXPECT_EQ(At(25).enclosing, "while.1");
  EXPECT_EQ(At(15).enclosing, "");
}

// A call that starts when a range ends is outside. A coarse clock makes ranges without length.
TEST_F(OpRangesTest, CallThatStartsWhenTheRangeEndsIsOutside) {
  ranges_.Add(1, 0, 100, "XlaModule:#hlo_module=jit_f,program_id=7#");
  ranges_.Add(1, 10, 20, "Thunk:#hlo_op=add.1#");
  ranges_.Add(1, 20, 30, "Thunk:#hlo_op=add.2#");
  ranges_.Add(1, 40, 40, "Thunk:#hlo_op=add.3#");
  ranges_.Finish();
  EXPECT_EQ(At(19).instruction, "add.1");
  EXPECT_EQ(At(20).instruction, "add.2");
  EXPECT_EQ(At(30).instruction, "");
  EXPECT_EQ(At(40).instruction, "add.3");
  EXPECT_EQ(At(100).module_name, "");
}

// XLA since August 2026 gives op_names whole; before, what follows the module's prefix.
TEST_F(OpRangesTest, OnlyAPartialOpNameGetsTheModulePrefix) {
  ranges_.Add(1, 0, 100, "XlaModule:#prefix=jit(f),hlo_module=jit_f,program_id=7#");
  ranges_.Add(1, 10, 20, "Thunk:#name=mul,hlo_op=mul.1#");
  ranges_.Add(1, 30, 40, "Thunk:#hlo_op=add.2,op_name=jit(f)/add,op_type=add#");
  ranges_.Finish();
  EXPECT_EQ(At(15).op_name, "jit(f)/mul");
  EXPECT_EQ(At(35).op_name, "jit(f)/add");
}

TEST_F(OpRangesTest, UserRangesAreNotOps) {
  ranges_.Add(1, 0, 100, "phase:Forward");
  ranges_.Finish();
  EXPECT_TRUE(ranges_.empty());
}

}  // namespace
}  // namespace xlatrace::importers
