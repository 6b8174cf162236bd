// SPDX-License-Identifier: Apache-2.0
#include "correlator/kernel_symbols.h"

#include <gtest/gtest.h>

namespace xlatrace::correlator {
namespace {

// Expected values by hand from SanitizeFunctionName (xla/service/llvm_ir/llvm_util.cc).
TEST(KernelSymbols, SymbolIsTheInstructionNameWithUnderscores) {
  EXPECT_EQ(SymbolOfInstruction("fusion"), "fusion");
  EXPECT_EQ(SymbolOfInstruction("loop_add_fusion.3"), "loop_add_fusion_3");
  EXPECT_EQ(SymbolOfInstruction("wrapped_dynamic-slice.1"), "wrapped_dynamic_slice_1");
  EXPECT_EQ(SymbolOfInstruction("3d.conv"), "_3d_conv");
  EXPECT_EQ(SymbolOfInstruction("."), "__");
  EXPECT_EQ(SymbolOfInstruction(""), "__unnamed");
  EXPECT_EQ(SymbolOfInstruction("a$b"), "a$b");
}

TEST(KernelSymbols, SuffixesOfXlaAndAmdAreRemoved) {
  EXPECT_EQ(WithoutUniqueTail("sort_3__2"), "sort_3");
  EXPECT_EQ(WithoutUniqueTail("sort_3"), "sort_3");
  EXPECT_EQ(WithoutUniqueTail("sort__"), "sort__");
  EXPECT_EQ(WithoutUniqueTail("__2"), "__2");
  EXPECT_EQ(PlainSymbol("loop_add_fusion.kd"), "loop_add_fusion");
  EXPECT_EQ(PlainSymbol("loop_add_fusion"), "loop_add_fusion");
}

TEST(KernelSymbols, SymbolsBelongToFamilies) {
  for (const char* symbol :
       {"fusion", "fusion_12", "loop_add_fusion_3", "input_reduce_fusion", "wrapped_convert",
        "gemm_fusion_dot_2", "triton_gemm_dot_5", "triton_softmax", "sort_3__1", "copy_fusion_1",
        "rng_get_and_update_state_2", "loop_gemv_fusion", "set_while_condition",
        "loop_add_fusion.kd", "redzone_fusion"}) {
    EXPECT_EQ(FamilyOf(symbol), SymbolFamily::kXla) << symbol;
  }
  for (const char* symbol :
       {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllGather_RING_LL_Sum_int8_t", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT",
        "ampere_sgemm_128x64_nn", "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n",
        "void splitKreduce_kernel<32, 16, int, float>", "cutlass::Kernel2<cutlass_80_tensorop>",
        "Cijk_Ailk_Bljk_SB_MT128x128x8_SE", "cudnn_generated_fort_native_sdpa_sm80_flash_fprop",
        "void cub::DeviceRadixSortOnesweepKernel<>"}) {
    EXPECT_EQ(FamilyOf(symbol), SymbolFamily::kLibrary) << symbol;
  }
  for (const char* symbol :
       {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
        "_ZN10tensorflow7functor15FillPhiloxRandom"}) {
    EXPECT_EQ(FamilyOf(symbol), SymbolFamily::kFramework) << symbol;
  }
  for (const char* symbol : {"redzone_checker", "stream_executor::RedzoneAllocatorKernelImpl",
                             "void xla_fp_comparison<float>"}) {
    EXPECT_EQ(FamilyOf(symbol), SymbolFamily::kAutotune) << symbol;
  }
  EXPECT_EQ(FamilyOf("__amd_rocclr_copyBuffer.kd"), SymbolFamily::kTransfer);
  for (const char* symbol :
       {"my_kernel", "my_gemm_kernel", "triton_poi_fused_add_0", "", "copying"}) {
    EXPECT_EQ(FamilyOf(symbol), SymbolFamily::kOther) << symbol;
  }
}

}  // namespace
}  // namespace xlatrace::correlator
