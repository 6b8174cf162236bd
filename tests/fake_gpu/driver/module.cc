// SPDX-License-Identifier: Apache-2.0

// Modules, libraries, functions and kernels.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>

#include "driver/call.h"
#include "driver/life.h"
#include "driver/memory.h"
#include "driver/objects.h"
#include "driver/timeline.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

std::atomic<uint32_t> next_module_id{1};

// One lock for the small tables behind modules, libraries and kernels.
std::recursive_mutex& ModuleLock() {
  static auto* const lock = new std::recursive_mutex;
  return *lock;
}

void ReportModule(int id, CUmodule module) {
  FakeGpuResource resource{};
  resource.id = id;
  resource.context = module->context;
  resource.module_id = module->id;
  resource.cubin = module->image->bytes.data();
  resource.cubin_size = module->image->bytes.size();
  ReportResource(resource);
}

const KernelImage* FindKernelImage(Image* image, std::string_view name) {
  for (const KernelImage& kernel : image->kernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

// The assumed content of an image that could not be read.
const KernelImage* InventKernel(std::string_view name) {
  auto* kernel = new KernelImage;
  kernel->name = name;
  return kernel;
}

CUfunction MakeFunction(CUmodule module, const KernelImage* image) {
  auto* function = new CUfunc_st;
  function->image = image;
  function->module = module;
  function->duration = KernelDuration(image->name);
  module->functions[image->name] = function;
  return function;
}

CUfunction GetFunction(CUmodule module, std::string_view name) {
  std::lock_guard guard(ModuleLock());
  const auto known = module->functions.find(name);
  if (known != module->functions.end()) return known->second;
  const KernelImage* image = FindKernelImage(module->image.get(), name);
  if (image == nullptr && module->image->opaque) image = InventKernel(name);
  return image != nullptr ? MakeFunction(module, image) : nullptr;
}

CUkernel GetKernel(CUlibrary library, std::string_view name) {
  std::lock_guard guard(ModuleLock());
  const auto known = library->kernels.find(name);
  if (known != library->kernels.end()) return known->second;
  const KernelImage* image = FindKernelImage(library->image.get(), name);
  if (image == nullptr && library->image->opaque) image = InventKernel(name);
  if (image == nullptr) return nullptr;
  auto* kernel = new CUkern_st;
  kernel->image = image;
  kernel->library = library;
  library->kernels[std::string(name)] = kernel;
  return kernel;
}

// The library's module in `context`, loaded when it is first needed there.
CUmodule ModuleOf(CUlibrary library, CUcontext context) {
  {
    std::lock_guard guard(ModuleLock());
    const auto known = library->modules.find(context);
    if (known != library->modules.end()) return known->second;
  }
  CUmodule module = nullptr;
  if (LoadModule(&module, library->image, context) != CUDA_SUCCESS) return nullptr;
  std::lock_guard guard(ModuleLock());
  return library->modules.emplace(context, module).first->second;
}

CUresult GetGlobal(CUmodule module, const char* name, CUdeviceptr* pointer, size_t* bytes) {
  std::lock_guard guard(ModuleLock());
  auto known = module->globals.find(std::string_view(name));
  if (known == module->globals.end()) {
    const auto& globals = module->image->globals;
    const auto global = std::find_if(globals.begin(), globals.end(),
                                     [&](const GlobalImage& g) { return g.name == name; });
    if (global == globals.end()) return CUDA_ERROR_NOT_FOUND;
    const CUdeviceptr address = AllocateDevice(std::max<size_t>(global->size, 1), module->context);
    if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    std::memcpy(reinterpret_cast<void*>(address), global->content.data(), global->content.size());
    known = module->globals.emplace(name, std::pair(address, global->size)).first;
  }
  if (pointer != nullptr) *pointer = known->second.first;
  if (bytes != nullptr) *bytes = known->second.second;
  return CUDA_SUCCESS;
}

// Attributes that a function and a kernel share.
template <typename Handle>
CUresult GetAttribute(Handle handle, CUfunction_attribute attribute, int* value) {
  const KernelImage& image = *handle->image;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: {
      const uint32_t by_registers = 65536 / std::max(1u, (image.registers + 7) / 8 * 8) / 32 * 32;
      *value = static_cast<int>(std::min({image.max_threads, by_registers, 1024u}));
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(image.static_smem);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(image.local_per_thread);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = static_cast<int>(image.registers);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = 90;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = handle->max_dynamic_smem;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = handle->carveout;
      return CUDA_SUCCESS;
    default:
      *value = 0;
      return CUDA_SUCCESS;
  }
}

template <typename Handle>
CUresult SetAttribute(Handle handle, CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value + static_cast<int>(handle->image->static_smem) > 232448)
        return CUDA_ERROR_INVALID_VALUE;
      handle->max_dynamic_smem = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      handle->carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult ParameterInfo(const KernelImage& image, size_t index, size_t* offset, size_t* size) {
  if (index >= image.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  if (offset != nullptr) *offset = image.parameters[index].offset;
  if (size != nullptr) *size = image.parameters[index].size;
  return CUDA_SUCCESS;
}

// Blocks that fit on one multiprocessor: CUDA's occupancy rules for compute capability 9.0.
int ActiveBlocks(const KernelImage& image, int threads, size_t dynamic_smem) {
  if (threads <= 0 || threads > 1024) return 0;
  const int warps = (threads + 31) / 32;
  int blocks = std::min(32, 64 / warps);
  if (image.registers != 0) {
    const int per_warp = static_cast<int>((image.registers * 32 + 255) / 256 * 256);
    const int warps_by_registers = 16384 / per_warp * 4;  // four partitions of 16 K registers
    blocks = std::min(blocks, warps_by_registers / warps);
  }
  const size_t smem = (image.static_smem + dynamic_smem + 1024 + 127) / 128 * 128;
  return std::min(blocks, static_cast<int>(233472 / smem));
}

const KernelImage* ImageOf(CUfunction handle) {
  if (handle == nullptr) return nullptr;
  if (handle->mark == kFunction) return handle->image;
  auto* kernel = reinterpret_cast<CUkernel>(handle);
  return kernel->mark == kKernel ? kernel->image : nullptr;
}

std::vector<char> ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  bytes.push_back('\0');
  return bytes;
}

}  // namespace

CUresult LoadModule(CUmodule* module, std::shared_ptr<Image> image, CUcontext context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  auto* made = new CUmod_st;
  made->id = next_module_id++;
  made->context = context;
  made->image = std::move(image);
  *module = made;
  ReportModule(6, made);
  return CUDA_SUCCESS;
}

CUresult LoadModule(CUmodule* module, const void* image, CUcontext context) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return LoadModule(module, ReadImage(image), context);
}

CUfunction FindFunction(CUfunction handle, CUcontext context) {
  if (handle == nullptr) return nullptr;
  if (handle->mark == kFunction) return handle;
  auto* kernel = reinterpret_cast<CUkernel>(handle);
  if (kernel->mark != kKernel) return nullptr;
  {
    std::lock_guard guard(ModuleLock());
    const auto known = kernel->functions.find(context);
    if (known != kernel->functions.end()) return known->second;
  }
  CUmodule module = ModuleOf(kernel->library, context);
  if (module == nullptr) return nullptr;
  CUfunction function = GetFunction(module, kernel->image->name);
  if (function == nullptr) return nullptr;
  std::lock_guard guard(ModuleLock());
  function->kernel = kernel;
  function->max_dynamic_smem = kernel->max_dynamic_smem;
  kernel->functions[context] = function;
  return function;
}

CUkernel NamedKernel(const char* name, uint32_t registers, uint32_t static_smem) {
  static CUlib_st* const library = [] {
    auto* made = new CUlib_st;
    made->image = std::make_shared<Image>();
    made->image->opaque = true;
    return made;
  }();
  std::lock_guard guard(ModuleLock());
  const std::string key =
      std::string(name) + '\n' + std::to_string(registers) + '\n' + std::to_string(static_smem);
  CUkernel& kernel = library->kernels[key];
  if (kernel == nullptr) {
    auto* image = new KernelImage;
    image->name = name;
    image->registers = registers;
    image->static_smem = static_smem;
    kernel = new CUkern_st;
    kernel->image = image;
    // A library of its own: two kernels of one name and different figures stay apart.
    kernel->library = new CUlib_st;
    kernel->library->image = std::make_shared<Image>();
    kernel->library->image->kernels.push_back(*image);
  }
  return kernel;
}

namespace impl {

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadModule(module, image, CurrentContext());
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*,
                            void**) {
  return LoadModule(module, image, CurrentContext());
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return LoadModule(module, image, CurrentContext());
}
CUresult cuModuleLoad(CUmodule* module, const char* path) {
  const std::vector<char> bytes = ReadFile(path);
  if (bytes.size() <= 1) return CUDA_ERROR_FILE_NOT_FOUND;
  return LoadModule(module, bytes.data(), CurrentContext());
}

CUresult cuModuleUnload(CUmodule module) {
  if (Checked(module, kModule) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  ReportModule(7, module);
  std::lock_guard guard(ModuleLock());
  for (const auto& [name, global] : module->globals) impl::cuMemFree_v2(global.first);
  for (const auto& [name, function] : module->functions) function->mark = kDead;
  // Names stay: activities that are not delivered yet point to them.
  module->mark = kDead;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Checked(module, kModule) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *function = GetFunction(module, name);
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  if (Checked(module, kModule) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(module->image->kernels.size());
  return CUDA_SUCCESS;
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int room, CUmodule module) {
  if (Checked(module, kModule) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < std::min<size_t>(room, module->image->kernels.size()); ++i) {
    functions[i] = GetFunction(module, module->image->kernels[i].name);
  }
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, size_t* bytes, CUmodule module,
                              const char* name) {
  if (Checked(module, kModule) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return GetGlobal(module, name, pointer, bytes);
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                           unsigned int, CUlibraryOption*, void**, unsigned int) {
  if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *library = new CUlib_st;
  (*library)->image = ReadImage(code);
  return CUDA_SUCCESS;
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**,
                               unsigned int, CUlibraryOption*, void**, unsigned int) {
  const std::vector<char> bytes = ReadFile(path);
  if (bytes.size() <= 1) return CUDA_ERROR_FILE_NOT_FOUND;
  return impl::cuLibraryLoadData(library, bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
}
CUresult cuLibraryUnload(CUlibrary library) {
  if (Checked(library, kLibrary) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [context, module] : library->modules) impl::cuModuleUnload(module);
  std::lock_guard guard(ModuleLock());
  for (const auto& [name, kernel] : library->kernels) kernel->mark = kDead;
  library->mark = kDead;
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  if (Checked(library, kLibrary) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *kernel = GetKernel(library, name);
  return *kernel != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  if (Checked(library, kLibrary) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(library->image->kernels.size());
  return CUDA_SUCCESS;
}
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int room, CUlibrary library) {
  if (Checked(library, kLibrary) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < std::min<size_t>(room, library->image->kernels.size()); ++i) {
    kernels[i] = GetKernel(library, library->image->kernels[i].name);
  }
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  if (Checked(library, kLibrary) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *module = ModuleOf(library, context);
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUlibrary library,
                            const char* name) {
  CUmodule module = nullptr;
  const CUresult loaded = impl::cuLibraryGetModule(&module, library);
  return loaded == CUDA_SUCCESS ? GetGlobal(module, name, pointer, bytes) : loaded;
}
CUresult cuLibraryGetManaged(CUdeviceptr* pointer, size_t* bytes, CUlibrary library,
                             const char* name) {
  return impl::cuLibraryGetGlobal(pointer, bytes, library, name);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (Checked(kernel, kKernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *function = FindFunction(reinterpret_cast<CUfunction>(kernel), context);
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  if (Checked(kernel, kKernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *library = kernel->library;
  return CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  if (Checked(kernel, kKernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *name = kernel->image->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice) {
  if (Checked(kernel, kKernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return GetAttribute(kernel, attribute, value);
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice) {
  if (Checked(kernel, kKernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult set = SetAttribute(kernel, attribute, value);
  std::lock_guard guard(ModuleLock());
  for (const auto& [context, function] : kernel->functions) {
    function->max_dynamic_smem = kernel->max_dynamic_smem;
  }
  return set;
}
CUresult cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice) { return CUDA_SUCCESS; }
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  if (Checked(kernel, kKernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return ParameterInfo(*kernel->image, index, offset, size);
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  CUfunction function = FindFunction(handle, CurrentContext());
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *module = function->module;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction handle) {
  const KernelImage* image = ImageOf(handle);
  if (image == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *name = image->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (handle->mark == kKernel)
    return GetAttribute(reinterpret_cast<CUkernel>(handle), attribute, value);
  if (Checked(handle, kFunction) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return GetAttribute(handle, attribute, value);
}
CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  CUfunction function = FindFunction(handle, CurrentContext());
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return SetAttribute(function, attribute, value);
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuFuncSetSharedMemConfig(CUfunction, CUsharedconfig) { return CUDA_SUCCESS; }
CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  const KernelImage* image = ImageOf(handle);
  if (image == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return ParameterInfo(*image, index, offset, size);
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction) {
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle,
                                                              int threads, size_t dynamic_smem,
                                                              unsigned int) {
  const KernelImage* image = ImageOf(handle);
  if (image == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *blocks = ActiveBlocks(*image, threads, dynamic_smem);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads,
                                                     size_t dynamic_smem) {
  return impl::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads,
                                                                    dynamic_smem, 0);
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* threads, CUfunction handle,
                                                   CUoccupancyB2DSize smem_of, size_t dynamic_smem,
                                                   int limit, unsigned int) {
  const KernelImage* image = ImageOf(handle);
  if (image == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (limit <= 0 || limit > 1024) limit = 1024;
  int best = 0;
  for (int t = limit / 32 * 32; t > 0; t -= 32) {
    const int blocks = ActiveBlocks(*image, t, smem_of != nullptr ? smem_of(t) : dynamic_smem);
    if (blocks * t > best) {
      best = blocks * t;
      *threads = t;
      *grid = blocks * 132;
    }
  }
  return best != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* threads, CUfunction handle,
                                          CUoccupancyB2DSize smem_of, size_t dynamic_smem,
                                          int limit) {
  return impl::cuOccupancyMaxPotentialBlockSizeWithFlags(grid, threads, handle, smem_of,
                                                         dynamic_smem, limit, 0);
}
CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction, const CUlaunchConfig*) {
  *size = 8;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*) {
  *clusters = 16;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks,
                                                 int) {
  const KernelImage* image = ImageOf(handle);
  if (image == nullptr || blocks <= 0) return CUDA_ERROR_INVALID_VALUE;
  *bytes = static_cast<size_t>(233472 / blocks) / 128 * 128 - 1024 - image->static_smem;
  return CUDA_SUCCESS;
}

}  // namespace impl
}  // namespace fakegpu
