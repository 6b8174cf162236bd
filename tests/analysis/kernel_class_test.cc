// SPDX-License-Identifier: Apache-2.0
#include "analysis/kernel_class.h"

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

// Names from public recordings; what they do is in their libraries' sources.
TEST(KernelClass, LibraryNamesGiveTheKernelClass) {
  EXPECT_EQ(KernelClassOf("flash_fwd_kernel"), KernelClass::kAttention);
  EXPECT_EQ(KernelClassOf("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal"),
            KernelClass::kAttention);
  EXPECT_EQ(KernelClassOf("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN"), KernelClass::kProduct);
  EXPECT_EQ(KernelClassOf("Cijk_Ailk_Bljk_BBS_BH_MT128x32x64"), KernelClass::kProduct);
  EXPECT_EQ(KernelClassOf("ncclDevKernel_SendRecv"), KernelClass::kCollective);
  EXPECT_EQ(KernelClassOf("cudnn::bn_bw_1C11_kernel_new"), KernelClass::kNorm);
  EXPECT_EQ(KernelClassOf("MIOpenBatchNormFwdTrainSpatial"), KernelClass::kNorm);
  EXPECT_EQ(KernelClassOf("void vllm::fused_add_rms_norm_kernel<c10::BFloat16>"),
            KernelClass::kNorm);
  EXPECT_EQ(KernelClassOf("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc"),
            KernelClass::kConvolution);
  EXPECT_EQ(KernelClassOf("at::native::vectorized_elementwise_kernel"), KernelClass::kElementwise);
  // Beside attention, and none; of positions, and no table is looked up.
  EXPECT_EQ(KernelClassOf("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>"),
            KernelClass::kElementwise);
  EXPECT_EQ(KernelClassOf("void vllm::rotary_embedding_kernel<c10::BFloat16, true>"),
            KernelClass::kElementwise);
  EXPECT_EQ(KernelClassOf("embedding_backward_feature_kernel"), KernelClass::kEmbedding);
  EXPECT_EQ(KernelClassOf("my_own_kernel"), KernelClass::kOther);
}

TEST(KernelClass, ProductsOnCudaCoresAreDetected) {
  EXPECT_TRUE(IsCudaCoreProduct("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_ffma_x"));
  EXPECT_TRUE(IsCudaCoreProduct("ampere_sgemm_128x64_nn"));
  EXPECT_FALSE(IsCudaCoreProduct("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n"));
  EXPECT_FALSE(IsCudaCoreProduct("nvjet_tst_64x64"));
}

}  // namespace
}  // namespace xlatrace::analysis
