// SPDX-License-Identifier: Apache-2.0
// Kernels: registered by nvcc's start-up code or loaded as a library, queried, launched.
#include <cupti_runtime_cbid.h>
#include <elf.h>
#include <generated_cuda_runtime_api_meta.h>

#include <cstring>

#include "tests/fake_gpu/libraries/cudart/runtime.h"
#include "tests/fake_gpu/libraries/export.h"

using xlatrace::fake::AddKernel;
using xlatrace::fake::Error;
using xlatrace::fake::FindKernel;
using xlatrace::fake::Image;
using xlatrace::fake::Kernel;

namespace {

// The struct that nvcc's start-up code passes (fatbinary_section.h).
struct FatBinaryWrapper {
  int magic;
  int version;
  const void* data;
  void* more;
};

struct PushedConfiguration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<PushedConfiguration> pushed;

CUresult FunctionOf(const void* symbol, CUfunction* function) {
  Kernel* const kernel = FindKernel(symbol);
  return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : kernel->Function(function);
}

const char* NameOf(const void* symbol) {
  const Kernel* const kernel = FindKernel(symbol);
  return kernel == nullptr ? nullptr : kernel->name();
}

CUresult Launch(const void* symbol, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                void** arguments, cudaLaunchAttribute* attributes, unsigned attribute_count) {
  CUfunction function = nullptr;
  const CUresult result = FunctionOf(symbol, &function);
  if (result != CUDA_SUCCESS) return result;
  CUlaunchConfig config = {};
  config.gridDimX = grid.x;
  config.gridDimY = grid.y;
  config.gridDimZ = grid.z;
  config.blockDimX = block.x;
  config.blockDimY = block.y;
  config.blockDimZ = block.z;
  config.sharedMemBytes = static_cast<unsigned>(shared_bytes);
  config.hStream = stream;
  // The two APIs' attributes have one layout and the same numbers.
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
  config.attrs = reinterpret_cast<CUlaunchAttribute*>(attributes);
  config.numAttrs = attribute_count;
  return DRIVER(cuLaunchKernelEx, &config, function, arguments, nullptr);
}

// Size of an ELF image: its section headers come last.
size_t ElfBytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
}

}  // namespace

FAKE_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
  const auto* fat_binary = static_cast<const FatBinaryWrapper*>(wrapper);
  return reinterpret_cast<void**>(new Image(fat_binary->data));
}
FAKE_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
// Contexts are usually gone by then; the image stays.
FAKE_EXPORT void __cudaUnregisterFatBinary(void**) {}

FAKE_EXPORT void __cudaRegisterFunction(void** image, const char* symbol, char*, const char* name,
                                        int, uint3*, uint3*, dim3*, dim3*, int*) {
  AddKernel(symbol, new Kernel(reinterpret_cast<Image*>(image), name));
}
FAKE_EXPORT void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
FAKE_EXPORT void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int,
                                          int) {}
FAKE_EXPORT void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
FAKE_EXPORT char __cudaInitModule(void**) { return 1; }

FAKE_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                                 CUstream_st* stream) {
  pushed.push_back({grid, block, shared_bytes, stream});
  return 0;
}
FAKE_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                   void* stream) {
  if (pushed.empty()) return Error(cudaErrorMissingConfiguration);
  *grid = pushed.back().grid;
  *block = pushed.back().block;
  *shared_bytes = pushed.back().shared_bytes;
  *static_cast<cudaStream_t*>(stream) = pushed.back().stream;
  pushed.pop_back();
  return cudaSuccess;
}

FAKE_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* symbol) {
  *kernel = reinterpret_cast<cudaKernel_t>(FindKernel(symbol));
  return Error(*kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess);
}
FAKE_EXPORT cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* symbol) {
  return __cudaGetKernel(kernel, symbol);
}
FAKE_EXPORT cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return Error(FunctionOf(symbol, function));
}
FAKE_EXPORT cudaError_t cudaFuncGetName(const char** name, const void* symbol) {
  *name = NameOf(symbol);
  return Error(*name == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess);
}

FAKE_EXPORT cudaError_t cudaLaunchKernel(const void* symbol, dim3 grid, dim3 block,
                                         void** arguments, size_t shared_bytes,
                                         cudaStream_t stream) {
  const cudaLaunchKernel_v7000_params params = {symbol,    grid,         block,
                                                arguments, shared_bytes, stream};
  xlatrace::fake::Announced call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                                 "cudaLaunchKernel", &params, NameOf(symbol));
  return call.Return(Launch(symbol, grid, block, shared_bytes, stream, arguments, nullptr, 0));
}
// Code that nvcc of CUDA 13 emits for <<<>>>: the kernel handle in place of the host symbol.
FAKE_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                           void** arguments, size_t shared_bytes,
                                           cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

FAKE_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol,
                                            void** arguments) {
  const cudaLaunchKernelExC_v11060_params params = {config, symbol, arguments};
  xlatrace::fake::Announced call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
                                 "cudaLaunchKernelExC", &params, NameOf(symbol));
  return call.Return(Launch(symbol, config->gridDim, config->blockDim, config->dynamicSmemBytes,
                            config->stream, arguments, config->attrs, config->numAttrs));
}

FAKE_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* symbol, dim3 grid, dim3 block,
                                                    void** arguments, size_t shared_bytes,
                                                    cudaStream_t stream) {
  const cudaLaunchCooperativeKernel_v9000_params params = {symbol,    grid,         block,
                                                           arguments, shared_bytes, stream};
  xlatrace::fake::Announced call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
                                 "cudaLaunchCooperativeKernel", &params, NameOf(symbol));
  cudaLaunchAttribute cooperative = {};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  return call.Return(Launch(symbol, grid, block, shared_bytes, stream, arguments, &cooperative, 1));
}

FAKE_EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* symbol) {
  CUfunction function = nullptr;
  const CUresult result = FunctionOf(symbol, &function);
  if (result != CUDA_SUCCESS) return Error(result);
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    DRIVER(cuFuncGetAttribute, &value, which, function);
    return value;
  };
  *attributes = {};
  attributes->sharedSizeBytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  attributes->constSizeBytes = attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  attributes->localSizeBytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  attributes->maxThreadsPerBlock = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  attributes->numRegs = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  attributes->ptxVersion = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  attributes->binaryVersion = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  attributes->maxDynamicSharedSizeBytes =
      attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  // CUB picks its tuning by these and refuses 0.
  if (attributes->ptxVersion == 0) attributes->ptxVersion = 90;
  if (attributes->binaryVersion == 0) attributes->binaryVersion = 90;
  return cudaSuccess;
}
FAKE_EXPORT cudaError_t cudaFuncSetAttribute(const void* symbol, cudaFuncAttribute attribute,
                                             int value) {
  CUfunction function = nullptr;
  const CUresult result = FunctionOf(symbol, &function);
  if (result != CUDA_SUCCESS) return Error(result);
  return Error(DRIVER(cuFuncSetAttribute, function,
                      static_cast<CUfunction_attribute>(static_cast<int>(attribute)), value));
}
FAKE_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* symbol, int block_size, size_t shared_bytes, unsigned flags) {
  CUfunction function = nullptr;
  const CUresult result = FunctionOf(symbol, &function);
  if (result != CUDA_SUCCESS) return Error(result);
  return Error(DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function,
                      block_size, shared_bytes, flags));
}
FAKE_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                      const void* symbol,
                                                                      int block_size,
                                                                      size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, symbol, block_size,
                                                                shared_bytes, 0);
}

FAKE_EXPORT cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code,
                                            cudaJitOption*, void**, unsigned, cudaLibraryOption*,
                                            void**, unsigned) {
  const char* const bytes = static_cast<const char*>(code);
  const size_t size = ElfBytes(code);
  Image* const image =
      size != 0 ? new Image(std::vector<char>(bytes, bytes + size)) : new Image(code);
  *library = reinterpret_cast<cudaLibrary_t>(image);
  return cudaSuccess;
}
// Kernels keep pointing at their image.
FAKE_EXPORT cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaSuccess; }
FAKE_EXPORT cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                             const char* name) {
  *kernel = reinterpret_cast<cudaKernel_t>(
      AddKernel(nullptr, new Kernel(reinterpret_cast<Image*>(library), name)));
  return cudaSuccess;
}
FAKE_EXPORT cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                        cudaFuncAttribute attribute, int value,
                                                        int) {
  return cudaFuncSetAttribute(kernel, attribute, value);
}

// For the other fakes of this folder: a kernel of a library, with no code behind it.
FAKE_EXPORT cudaKernel_t fakeCudartLibraryKernel(const char* name, unsigned registers,
                                                 unsigned static_shared_bytes) {
  const FakeGpuTable* const gpu = xlatrace::fake::Gpu();
  if (gpu == nullptr) return nullptr;
  const CUkernel made_up = gpu->named_kernel(name, registers, static_shared_bytes);
  return reinterpret_cast<cudaKernel_t>(AddKernel(nullptr, new Kernel(made_up, name)));
}
