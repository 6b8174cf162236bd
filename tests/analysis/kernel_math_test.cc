// SPDX-License-Identifier: Apache-2.0
#include "analysis/kernel_math.h"

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

// Names as recorded by profilers on A100, H100, B200 and MI300X.
TEST(KernelMath, NumberTypeFollowsFromLibraryNames) {
  for (const char* name :
       {"cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_tn_align8",
        "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x64_warpgroupsize1x1x1",
        "cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN",
        "Cijk_Ailk_Bljk_BBS_BH_MT256x224x64_MI16x16x16x1_SN", "flash_fwd_kernel"}) {
    EXPECT_EQ(MathOfKernel(name), KernelMath::kTensorCores) << name;
  }
  for (const char* name :
       {"ampere_sgemm_128x64_nn", "gemmk1_kernel", "cudnn_ampere_scudnn_128x64_relu_small_nn_v1",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_"
        "aligna4"}) {
    EXPECT_EQ(MathOfKernel(name), KernelMath::kVectorUnits) << name;
  }
  for (const char* name : {"loop_add_fusion", "splitKreduce_kernel", "gemm_fusion_dot_12", ""}) {
    EXPECT_EQ(MathOfKernel(name), KernelMath::kUnknown) << name;
  }
}

}  // namespace
}  // namespace xlatrace::analysis
