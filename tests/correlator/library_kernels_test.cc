// SPDX-License-Identifier: Apache-2.0

// Kernels of the libraries that XLA calls, under names that their profilers show.

#include <gtest/gtest.h>

#include "correlator/origin.h"
#include "correlator/thunk_order/program/launch_kind.h"

namespace xlatrace::correlator {
namespace {

using model::Origin;

struct Kernel {
  const char* library;
  const char* symbol;
  LaunchKind kind;
};

// Symbols from traces of A100, H100, B200 and MI300, mangled or as a profiler prints them, some
// with their argument lists cut.
const Kernel kKernels[] = {
    {"cuBLAS", "ampere_sgemm_128x64_nn", LaunchKind::kGemm},
    {"cuBLAS", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT", LaunchKind::kGemm},
    {"cuBLAS", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", LaunchKind::kGemm},
    {"cuBLAS", "void gemmk1_kernel<int, float, 256, 5, false, false>(cublasGemmk1Params<float>)",
     LaunchKind::kGemm},
    {"cuBLAS", "void gemv2T_kernel_val<int, int, float, 128, 16, 4, 4, false, false>",
     LaunchKind::kGemm},
    {"cuBLAS", "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb1EEv", LaunchKind::kGemmPart},
    {"cuDNN", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x64x64",
     LaunchKind::kLibrary},
    {"cuDNN", "cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1", LaunchKind::kConvolution},
    {"cuDNN", "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw",
     LaunchKind::kConvolution},
    {"cuDNN", "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
     LaunchKind::kConvolution},
    {"cuDNN", "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false>",
     LaunchKind::kConvolution},
    {"cuDNN", "void cask_cudnn::computeOffsetsKernel<false, false>", LaunchKind::kConvolution},
    {"cuFFT", "void regular_fft<256u, EPT<16u>, 16u, 16u, (padding_t)1>", LaunchKind::kLibrary},
    {"cuFFT", "_Z10vector_fftILj64ELj0Ec2cEvi18kernel_arguments_t", LaunchKind::kLibrary},
    {"cuSPARSE", "void cusparse::csrmm_alg2_kernel<cusparse::CsrMMPolicy<128u>, false>",
     LaunchKind::kLibrary},
    {"cuSOLVER", "void potrf_alg2_cta_upper<float, float, 5>(int, int, float*)",
     LaunchKind::kLibrary},
    {"cuSOLVER", "void getrf_pivot<float, float>(int, int, int*)", LaunchKind::kLibrary},
    {"cuSOLVER", "void trsm_left_kernel<float, 256, 4, false, false, false, true>",
     LaunchKind::kLibrary},
    {"CUTLASS", "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>",
     LaunchKind::kGemm},
    {"CUTLASS", "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversal", LaunchKind::kGemm},
    {"NCCL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     LaunchKind::kCollective},
    {"NCCL", "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)", LaunchKind::kCollective},
    {"NCCL", "ncclSymDevKernel_AllGather_ST(ncclSymDevArgs)", LaunchKind::kCollective},
    {"CUB", "void cub::DeviceRadixSortOnesweepKernel<>", LaunchKind::kLibrary},
    {"TransformerEngine",
     "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<float, 4096>",
     LaunchKind::kLibrary},
    {"TransformerEngine",
     "_ZN18transformer_engine72_GLOBAL__N__cast_transpose_optimized_kernelILb0E",
     LaunchKind::kLibrary},
    {"hipBLASLt", "Cijk_Ailk_Bljk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1.kd",
     LaunchKind::kGemm},
    {"hipBLASLt", "Custom_Cijk_Alik_Bljk_BBS_BH_Bias_AS_SAV_UserArgs_MT256x256x64_SK3.kd",
     LaunchKind::kGemm},
    {"MIOpen", "miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1.kd", LaunchKind::kConvolution},
    {"MIOpen", "naive_conv_ab_nonpacked_fwd_nchw_half_double_half.kd", LaunchKind::kConvolution},
    {"MIOpen", "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex0_bt256x128x32.kd", LaunchKind::kConvolution},
    {"RCCL", "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>) [clone .kd]",
     LaunchKind::kCollective},
    {"RCCL", "rcclKernel_AllReduce_RING_LL_Sum_bf16(ncclDevComm*)", LaunchKind::kCollective},
    {"composable kernel", "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl>",
     LaunchKind::kGemm},
    {"composable kernel",
     "_ZN2ck16tensor_operation6device12_GLOBAL__N_130kernel_grouped_conv_fwd_xdl_cshuffle",
     LaunchKind::kConvolution},
    {"composable kernel", "_ZN7ck_tile6kentryILi256ELi2ENS_13FmhaFwdKernelI", LaunchKind::kLibrary},
    {"rocFFT", "fft_rtc_fwd_len256_factors_8_8_4_wgs_64_tpt_32_sp_op_CI_CI.kd",
     LaunchKind::kLibrary},
    {"rocPRIM", "void rocprim::detail::onesweep_iteration_kernel<rocprim::default_config>",
     LaunchKind::kLibrary},
};

model::LaunchConfig Config(const char* symbol) {
  model::LaunchConfig config;
  config.kind = model::ActivityKind::kKernel;
  config.symbol = symbol;
  return config;
}

TEST(KernelsOfLibraries, LibraryKernelInsideAModuleBelongsToXla) {
  model::InstructionRow call;
  call.opcode = "custom-call";
  for (const Kernel& kernel : kKernels) {
    SCOPED_TRACE(std::string(kernel.library) + ": " + kernel.symbol);
    EXPECT_EQ(LaunchKindOf(Config(kernel.symbol)), kernel.kind);
    EXPECT_EQ(OriginInModule(Config(kernel.symbol), &call), Origin::kXlaLibrary);
  }
}

TEST(KernelsOfLibraries, LibraryKernelOutsideModulesDoesNotBelongToXla) {
  for (const Kernel& kernel : kKernels) {
    SCOPED_TRACE(std::string(kernel.library) + ": " + kernel.symbol);
    EXPECT_EQ(WithoutModule(Config(kernel.symbol), false).origin, Origin::kFramework);
    EXPECT_EQ(WithoutModule(Config(kernel.symbol), true).origin, Origin::kOther);
  }
}

// An unknown kernel of a custom call is the user's own: Triton, pallas, FFI.
TEST(KernelsOfLibraries, UserKernelOfACustomCallIsNoLibraryKernel) {
  model::InstructionRow call;
  call.opcode = "custom-call";
  for (const char* symbol :
       {"_attn_fwd", "triton_poi_fused_add_0", "my_tanh_kernel", "add_vectors_kernel__1",
        "mosaic_gpu_kernel", "void user::rms_norm<float>(float*)", "void block::count(int*)"}) {
    EXPECT_EQ(LaunchKindOf(Config(symbol)), LaunchKind::kOtherKernel) << symbol;
    EXPECT_EQ(OriginInModule(Config(symbol), &call), Origin::kXla) << symbol;
  }
}

TEST(KernelsOfLibraries, KernelsInsideXlaItselfBelongToXla) {
  model::InstructionRow call;
  call.opcode = "custom-call";
  for (const char* symbol : {"_ZN15stream_executor4cuda3RunILm16EfjEEvPT0_iS3_Pji",
                             "void stream_executor::cuda::Run<16ul, float, unsigned int>"}) {
    EXPECT_EQ(LaunchKindOf(Config(symbol)), LaunchKind::kLibrary) << symbol;
    EXPECT_EQ(LibraryOf(symbol), LibraryOf("__gpu$TopK")) << symbol;
    EXPECT_EQ(OriginInModule(Config(symbol), &call), Origin::kXla) << symbol;
  }
}

// XLA's own kernel, independent of words in the instruction's name.
TEST(KernelsOfLibraries, GeneratedKernelIsNotALibraryKernel) {
  model::InstructionRow fusion;
  fusion.opcode = "fusion";
  for (const char* symbol :
       {"loop_gemv_fusion", "input_fft_fusion_2", "gemm_fusion_dot_12", "wrapped_convolution",
        "loop_topk_fusion", "triton_softmax_3", "sort_3__1", "all_reduce_start_2_fusion"}) {
    EXPECT_EQ(LaunchKindOf(Config(symbol)), LaunchKind::kXlaKernel) << symbol;
    EXPECT_EQ(OriginInModule(Config(symbol), &fusion), Origin::kXla) << symbol;
  }
}

}  // namespace
}  // namespace xlatrace::correlator
