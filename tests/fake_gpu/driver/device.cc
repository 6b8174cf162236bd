// SPDX-License-Identifier: Apache-2.0

// Devices and contexts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "driver/call.h"
#include "driver/life.h"
#include "driver/objects.h"
#include "driver/timeline.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

struct Registry {
  std::mutex lock;
  Device devices[kMaxDevices];
  std::vector<CUcontext> contexts;
  std::vector<CUstream> streams;
  std::atomic<uint32_t> next_context_id{1};
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

CUcontext NewContext(int device, bool primary, unsigned flags) {
  Registry& registry = TheRegistry();
  auto* context = new CUctx_st;
  context->id = registry.next_context_id++;
  context->device = device;
  context->primary = primary;
  context->flags = flags;
  context->limits[CU_LIMIT_STACK_SIZE] = 1024;
  context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
  context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
  auto* stream = new CUstream_st;
  stream->id = 7;  // as CUPTI numbers every context's default stream
  stream->context = context;
  stream->legacy = true;
  context->null_stream = stream;
  {
    std::lock_guard guard(registry.lock);
    registry.contexts.push_back(context);
    registry.streams.push_back(stream);
  }
  FakeGpuResource created{};
  created.id = 1;
  created.context = context;
  ReportResource(created);
  created.id = 3;
  created.stream = stream;
  ReportResource(created);
  return context;
}

void DestroyContext(CUcontext context) {
  FakeGpuResource starting{};
  starting.id = 2;
  starting.context = context;
  ReportResource(starting);
  uint64_t effect = 0;
  SleepUntil(ContextReady(context, &effect));
  WaitEffect(effect);
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  std::erase(registry.contexts, context);
  std::erase_if(registry.streams, [&](CUstream stream) { return stream->context == context; });
  context->mark = kDead;  // its memory stays: streams and modules point to it
}

bool ValidDevice(CUdevice device) { return device >= 0 && device < DeviceCount(); }

}  // namespace

int DeviceCount() {
  static const int count = [] {
    const char* text = std::getenv("FAKE_GPU_DEVICES");
    if (text == nullptr || *text == '\0') return 1;
    return std::clamp(std::atoi(text), 0, kMaxDevices);
  }();
  return count;
}

Device* FindDevice(CUdevice ordinal) {
  if (!ValidDevice(ordinal)) return nullptr;
  Device* device = &TheRegistry().devices[ordinal];
  device->ordinal = ordinal;
  return device;
}

size_t DeviceMemory() {
  static const size_t bytes = [] {
    const char* text = std::getenv("FAKE_GPU_MEMORY_MIB");
    const size_t mib = text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : 81559;
    return mib << 20;
  }();
  return bytes;
}

// The limits of an H100 SXM (public figures); what occupancy and roofline need is all there.
int DeviceAttribute(CUdevice_attribute attribute) {
  switch (static_cast<int>(attribute)) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 49152;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1980000;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 132;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
      return 1;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 2619000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 5120;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 52428800;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 3;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
      return 1;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return 0;
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 233472;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
      return 1;
    case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
      return 0;
    case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
      return 2;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
      return 1;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
      return 1;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 232448;
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
      return 32768000;
    case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE:
      return 134213632;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
      return 1;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
      return 1;
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_NUMA_ID:
      return -1;
    default:
      return 0;
  }
}

CUcontext CurrentContext() {
  const ThreadState& thread = Thread();
  return thread.context_count == 0 ? nullptr : thread.contexts[thread.context_count - 1];
}

std::vector<CUcontext> Contexts() {
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  return registry.contexts;
}

std::vector<CUstream> Streams() {
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  return registry.streams;
}

void AddStream(CUstream stream) {
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  stream->id = stream->context->next_stream_id++;
  registry.streams.push_back(stream);
}

void RemoveStream(CUstream stream) {
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  std::erase(registry.streams, stream);
}

namespace impl {

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = DeviceCount();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int room, CUdevice device) {
  if (name == nullptr || room <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  const char* slice = std::getenv("FAKE_GPU_MIG");
  const bool mig = slice != nullptr && *slice != '\0';
  std::snprintf(name, static_cast<size_t>(room),
                mig ? "xlatrace fake GPU MIG %s" : "xlatrace fake GPU", mig ? slice : "");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* id, CUdevice device) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(id->bytes, "xlatrace-fake-gp", 16);
  id->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* id, CUdevice device) {
  return impl::cuDeviceGetUuid_v2(id, device);
}

CUresult cuDeviceGetLuid(char*, unsigned int*, CUdevice) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = DeviceMemory();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? 1 + device : DeviceAttribute(attribute);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int room, CUdevice device) {
  if (text == nullptr || room < 13) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(text, static_cast<size_t>(room), "0000:%02x:00.0", 1 + device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  if (device == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned domain = 0, bus = 0;
  if (std::sscanf(text, "%x:%x", &domain, &bus) != 2) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(static_cast<int>(bus) - 1)) return CUDA_ERROR_INVALID_DEVICE;
  *device = static_cast<int>(bus) - 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType, CUdevice) {
  *supported = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (!ValidDevice(device) || !ValidDevice(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice a,
                                 CUdevice b) {
  if (!ValidDevice(a) || !ValidDevice(b) || a == b) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 0 : 1;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int) {
  return Checked(peer, kContext) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return Checked(peer, kContext) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static std::mutex* const lock = new std::mutex;  // one thread creates it, others wait
  std::lock_guard guard(*lock);
  if (device->primary == nullptr)
    device->primary = NewContext(ordinal, true, device->primary_flags);
  ++device->primary_references;
  *context = device->primary;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary_references == 0) {
    DestroyContext(device->primary);
    device->primary = nullptr;
  }
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return impl::cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary != nullptr) DestroyContext(device->primary);
  device->primary = nullptr;
  device->primary_references = 0;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return impl::cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags) {
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  device->primary_flags = flags;
  if (device->primary != nullptr) device->primary->flags = flags;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return impl::cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int* flags, int* active) {
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *flags = device->primary_flags;
  *active = device->primary != nullptr;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (Checked(context, kContext) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ThreadState& thread = Thread();
  if (thread.context_count == static_cast<int>(std::size(thread.contexts))) {
    return CUDA_ERROR_UNKNOWN;
  }
  thread.contexts[thread.context_count++] = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  ThreadState& thread = Thread();
  if (thread.context_count == 0) return CUDA_ERROR_INVALID_CONTEXT;
  CUcontext popped = thread.contexts[--thread.context_count];
  if (context != nullptr) *context = popped;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  ThreadState& thread = Thread();
  if (context == nullptr) {
    if (thread.context_count != 0) --thread.context_count;
    return CUDA_SUCCESS;
  }
  if (Checked(context, kContext) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (thread.context_count == 0) thread.context_count = 1;
  thread.contexts[thread.context_count - 1] = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = CurrentContext();
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = NewContext(device, false, flags);
  return impl::cuCtxPushCurrent_v2(*context);
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned int flags,
                        CUdevice device) {
  return impl::cuCtxCreate_v2(context, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned int flags,
                        CUdevice device) {
  return impl::cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  if (Checked(context, kContext) == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  ThreadState& thread = Thread();
  if (CurrentContext() == context) --thread.context_count;
  DestroyContext(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  if (context == nullptr) return impl::cuCtxGetDevice(device);
  if (Checked(context, kContext) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *flags = context->flags;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetFlags(unsigned int flags) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  if (context == nullptr) context = CurrentContext();
  if (Checked(context, kContext) == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned int* version) {
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (static_cast<size_t>(limit) >= std::size(context->limits)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (static_cast<size_t>(limit) >= std::size(context->limits)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *value = context->limits[limit];
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *config = context->cache;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  context->cache = config;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig) { return CUDA_SUCCESS; }
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}
CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

// A null handle means the current context.
CUresult cuCtxSynchronize_v2(CUcontext context) {
  if (context == nullptr) context = CurrentContext();
  if (Checked(context, kContext) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  FakeGpuSync sync{};
  sync.type = FAKE_GPU_SYNC_CONTEXT;
  sync.context = context;
  sync.context_id = context->id;
  sync.stream_id = 0xffffffff;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE
  sync.event_id = 0xffffffff;
  sync.start = Now();
  uint64_t effect = 0;
  SleepUntil(ContextReady(context, &effect));
  WaitEffect(effect);
  sync.end = Now();
  ReportSync(sync);
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return impl::cuCtxSynchronize_v2(nullptr); }

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget,
                                    CUflushGPUDirectRDMAWritesScope) {
  return CUDA_SUCCESS;
}

}  // namespace impl
}  // namespace fakegpu
