// SPDX-License-Identifier: Apache-2.0
#include "importers/common/compile_stage.h"

#include <gtest/gtest.h>

namespace xlatrace::importers {
namespace {

using model::CompileStage;

// Texts from captures of JAX on H100 and A100.
TEST(CompilerRangeOf, PassHasItsNameModuleAndStage) {
  const auto range =
      CompilerRangeOf("XlaPass:#name=gemm-algorithm-picker,module=jit_train_step,program_id=16#");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->name, "XlaPass: gemm-algorithm-picker");
  EXPECT_EQ(range->module, "jit_train_step");
  EXPECT_EQ(range->program_id, 16);
  EXPECT_EQ(range->stage, CompileStage::kAutotune);
  EXPECT_EQ(range->SpanName(), "XlaPass: gemm-algorithm-picker");
}

TEST(CompilerRangeOf, CompilationIsNamedByItsModule) {
  const auto range = CompilerRangeOf("XlaCompile:#module=jit_add#");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->stage, CompileStage::kCompile);
  EXPECT_EQ(range->program_id, std::nullopt);
  EXPECT_EQ(range->SpanName(), "jit_add");
}

TEST(CompilerRangeOf, StagesOfGpuCompilationAreKnown) {
  const auto stage = [](std::string_view text) { return CompilerRangeOf(text)->stage; };
  EXPECT_EQ(stage("XlaPassPipeline:#name=fusion,module=jit_f,program_id=3#"),
            CompileStage::kPasses);
  EXPECT_EQ(stage("XlaMemoryScheduler:#module=jit_f,program_id=3#"), CompileStage::kPasses);
  EXPECT_EQ(stage("XlaDumpHloModule:#module=jit_f,program_id=3#"), CompileStage::kPasses);
  EXPECT_EQ(stage("XlaCompileBackend:#module=jit_f,program_id=3#"), CompileStage::kCodegen);
  EXPECT_EQ(stage("XlaOptimizeLlvmIr:#module=jit_f#"), CompileStage::kCodegen);
  EXPECT_EQ(stage("XlaEmitGpuAsm:#module=jit_f#"), CompileStage::kCodegen);
  EXPECT_EQ(stage("XlaCreateGpuExecutable:#module=jit_f#"), CompileStage::kLoad);
  EXPECT_EQ(stage("XlaAutotunerMeasurement:#hlo_op=custom-call.36#"), CompileStage::kAutotune);
}

TEST(CompilerRangeOf, RangesOfExecutionAndOfTheUserAreNone) {
  EXPECT_FALSE(CompilerRangeOf("XlaModule:#hlo_module=jit_f,program_id=3#"));
  EXPECT_FALSE(CompilerRangeOf("Thunk:#name=dot,hlo_op=dot.1#"));
  EXPECT_FALSE(CompilerRangeOf("XlaCompile"));
  EXPECT_FALSE(CompilerRangeOf("train step 3"));
}

}  // namespace
}  // namespace xlatrace::importers
