// SPDX-License-Identifier: Apache-2.0
#include "tests/fake_gpu/libraries/gemm_kernel.h"

#include <algorithm>
#include <string>

#include "tests/fake_gpu/libraries/library_kernel.h"

namespace xlatrace::fake {
namespace {

// A product this deep and this small leaves most of the device idle unless it is split along k.
constexpr long long kSplitDepth = 1024;
constexpr unsigned kSplits = 4;

LibraryKernel TensorCoreKernel(const GemmShape& shape, long long tile, const char* types) {
  LibraryKernel kernel;
  const bool wide = tile >= 128;
  const std::string layout = {shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N', 'N'};
  kernel.name = std::string("nvjet_sm90_") + types +
                (wide ? "_128x128_64x6_2x1_v_bz_coopA_" : "_64x64_64x13_1x1_h_bz_") + layout;
  kernel.registers = 168;
  kernel.block = {wide ? 384U : 256U, 1, 1};
  kernel.cluster = {wide ? 2U : 1U, 1, 1};
  kernel.dynamic_shared_bytes = wide ? 213'504 : 214'016;
  return kernel;
}

LibraryKernel SimtKernel(const GemmShape& shape, long long tile) {
  LibraryKernel kernel;
  const std::string layout = {shape.transpose_a ? 't' : 'n', shape.transpose_b ? 't' : 'n'};
  const std::string size = std::to_string(tile) + "x" + std::to_string(tile);
  kernel.name = "sm80_xmma_gemm_f32f32_f32f32_f32_" + layout + "_n_tilesize" + size +
                "x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__51_cublas";
  kernel.registers = tile >= 128 ? 216 : 96;
  kernel.block = {tile >= 128 ? 256U : 128U, 1, 1};
  kernel.dynamic_shared_bytes = static_cast<size_t>(tile) * 2 * 8 * 4 * 3;
  return kernel;
}

}  // namespace

cudaError_t LaunchGemm(const GemmShape& shape, cudaStream_t stream) {
  const long long tile = std::min(shape.m, shape.n) >= 128 ? 128 : 64;
  LibraryKernel kernel = shape.type == CUDA_R_16BF  ? TensorCoreKernel(shape, tile, "tst")
                         : shape.type == CUDA_R_16F ? TensorCoreKernel(shape, tile, "hsh")
                                                    : SimtKernel(shape, tile);
  // A grid is whole clusters.
  const unsigned rows = Blocks(shape.m, tile);
  kernel.grid.x = (rows + kernel.cluster.x - 1) / kernel.cluster.x * kernel.cluster.x;
  kernel.grid.y = Blocks(shape.n, tile);
  kernel.grid.z = static_cast<unsigned>(std::max(shape.batch, 1LL));
  const bool split =
      shape.k >= kSplitDepth && shape.k >= 8 * std::max(shape.m, shape.n) && shape.batch == 1;
  if (split) kernel.grid.z = kSplits;
  const cudaError_t error = Launch(kernel, stream);
  if (error != cudaSuccess || !split) return error;

  LibraryKernel reduce;
  reduce.name =
      "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EifffLb0EEEvNS_18cublasSplitKParamsIfEEPKT4_"
      "PKT3_";
  reduce.registers = 40;
  reduce.grid = {Blocks(shape.m, 32), Blocks(shape.n, 16), 1};
  reduce.block = {32, 16, 1};
  return Launch(reduce, stream);
}

}  // namespace xlatrace::fake
