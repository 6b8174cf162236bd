// SPDX-License-Identifier: Apache-2.0
#include "driver/memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <sys/mman.h>

#include "driver/call.h"
#include "driver/memory_state.h"
#include "driver/predicates.h"
#include "driver/timeline.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

constexpr size_t kBig = 1 << 20;  // from here on straight from the kernel, and zero for free

void* Obtain(size_t bytes) {
  if (bytes >= kBig) {
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
  }
  const size_t rounded = (bytes + 511) / 512 * 512;
  void* memory = std::aligned_alloc(512, rounded);
  if (memory != nullptr) std::memset(memory, 0, rounded);
  return memory;
}

void GiveBack(const Allocation& allocation) {
  auto* address = reinterpret_cast<void*>(allocation.base);
  if (allocation.size >= kBig) {
    munmap(address, allocation.size);
  } else {
    std::free(address);
  }
}

MemoryKind KindOf(const void* address, int* device, CUcontext* context) {
  const auto allocation = FindAllocation(address);
  const CUcontext current = CurrentContext();
  *device = current != nullptr ? current->device : 0;
  *context = current;
  if (!allocation) return kPageable;
  *device = allocation->device;
  *context = allocation->context;
  return allocation->kind;
}

bool OnHost(MemoryKind kind) { return kind == kPageable || kind == kPinned; }

}  // namespace

Memory& TheMemory() {
  static auto* const memory = new Memory;
  return *memory;
}

CUresult Allocate(size_t bytes, MemoryKind kind, unsigned flags, CUcontext context, void** out) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  uint64_t& used = memory.used[context->device];
  const bool counted = kind == kDevice || kind == kManaged;
  if (counted && used + bytes > DeviceMemory()) return CUDA_ERROR_OUT_OF_MEMORY;
  void* address = Obtain(bytes);
  if (address == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (counted) used += bytes;
  Allocation allocation;
  allocation.base = reinterpret_cast<uintptr_t>(address);
  allocation.size = bytes;
  allocation.kind = kind;
  allocation.device = context->device;
  allocation.context = context;
  allocation.flags = flags;
  allocation.id = memory.next_id++;
  memory.allocations[allocation.base] = allocation;
  *out = address;
  return CUDA_SUCCESS;
}

CUresult Free(uintptr_t base) {
  if (base == 0) return CUDA_SUCCESS;
  WaitEffect(PostedEffects());  // a copy that still waits may use it
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  const auto found = memory.allocations.find(base);
  if (found == memory.allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  const Allocation& allocation = found->second;
  if (allocation.kind == kDevice || allocation.kind == kManaged) {
    memory.used[allocation.device] -= allocation.size;
  }
  GiveBack(allocation);
  memory.allocations.erase(found);
  return CUDA_SUCCESS;
}

std::optional<Allocation> FindAllocation(const void* address) {
  Memory& memory = TheMemory();
  const auto at = reinterpret_cast<uintptr_t>(address);
  std::lock_guard guard(memory.lock);
  auto next = memory.allocations.upper_bound(at);
  if (next == memory.allocations.begin()) return std::nullopt;
  --next;
  if (at >= next->second.base + next->second.size) return std::nullopt;
  return next->second;
}

CUdeviceptr AllocateDevice(size_t bytes, CUcontext context) {
  void* address = nullptr;
  if (Allocate(bytes, kDevice, 0, context, &address) != CUDA_SUCCESS) return 0;
  return reinterpret_cast<CUdeviceptr>(address);
}

int Copy::kind() const {
  if (explicit_peer && source_device != target_device) return kPeer;
  const bool from_host = OnHost(source_kind);
  const bool to_host = OnHost(target_kind);
  if (from_host) return to_host ? kHostToHost : kHostToDevice;
  return to_host ? kDeviceToHost : kDeviceToDevice;
}

void Copy::Run() const {
  for (size_t z = 0; z < depth; ++z) {
    for (size_t y = 0; y < height; ++y) {
      std::memmove(target + z * target_slice + y * target_pitch,
                   source + z * source_slice + y * source_pitch, width);
    }
  }
  if (kind() != kDeviceToHost) return;
  if (const std::optional<int> decision = NextDecision(bytes())) {
    std::memcpy(target, &*decision, bytes());
  }
}

Copy FlatCopy(void* target, const void* source, size_t bytes) {
  Copy copy;
  copy.target = static_cast<char*>(target);
  copy.source = static_cast<const char*>(source);
  copy.width = bytes;
  copy.target_kind = KindOf(target, &copy.target_device, &copy.target_context);
  copy.source_kind = KindOf(source, &copy.source_device, &copy.source_context);
  return copy;
}

CUresult FromDescription(const CUDA_MEMCPY3D& d, Copy* copy) {
  if (d.srcMemoryType == CU_MEMORYTYPE_ARRAY || d.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    return NotSupported("copies of arrays");
  }
  const size_t source_pitch = d.srcPitch != 0 ? d.srcPitch : d.WidthInBytes;
  const size_t target_pitch = d.dstPitch != 0 ? d.dstPitch : d.WidthInBytes;
  const size_t source_slice = source_pitch * (d.srcHeight != 0 ? d.srcHeight : d.Height);
  const size_t target_slice = target_pitch * (d.dstHeight != 0 ? d.dstHeight : d.Height);
  const char* source = d.srcMemoryType == CU_MEMORYTYPE_HOST
                           ? static_cast<const char*>(d.srcHost)
                           : reinterpret_cast<const char*>(d.srcDevice);
  char* target = d.dstMemoryType == CU_MEMORYTYPE_HOST ? static_cast<char*>(d.dstHost)
                                                       : reinterpret_cast<char*>(d.dstDevice);
  *copy = FlatCopy(target + d.dstXInBytes + d.dstY * target_pitch + d.dstZ * target_slice,
                   source + d.srcXInBytes + d.srcY * source_pitch + d.srcZ * source_slice,
                   d.WidthInBytes);
  copy->height = d.Height;
  copy->depth = d.Depth;
  copy->source_pitch = source_pitch;
  copy->target_pitch = target_pitch;
  copy->source_slice = source_slice;
  copy->target_slice = target_slice;
  // Device memory that this driver did not hand out (a static variable) is still device memory.
  if (d.srcMemoryType == CU_MEMORYTYPE_DEVICE && OnHost(copy->source_kind))
    copy->source_kind = kDevice;
  if (d.dstMemoryType == CU_MEMORYTYPE_DEVICE && OnHost(copy->target_kind))
    copy->target_kind = kDevice;
  return CUDA_SUCCESS;
}

void Fill::Run() const {
  for (size_t y = 0; y < height; ++y) {
    char* row = target + y * pitch;
    if (element == 1) {
      std::memset(row, static_cast<int>(value & 0xff), width);
    } else {
      for (size_t x = 0; x < width; ++x) std::memcpy(row + x * element, &value, element);
    }
  }
}

void Describe(const Copy& copy, FakeGpuActivity* activity) {
  activity->what = FAKE_GPU_MEMCPY;
  activity->bytes = copy.bytes();
  activity->copy_kind = copy.kind();
  activity->source_kind = copy.source_kind;
  activity->target_kind = copy.target_kind;
  activity->peer = copy.kind() == kPeer;
  activity->source_device = static_cast<uint32_t>(copy.source_device);
  activity->target_device = static_cast<uint32_t>(copy.target_device);
  activity->source_context_id = copy.source_context != nullptr ? copy.source_context->id : 0;
  activity->target_context_id = copy.target_context != nullptr ? copy.target_context->id : 0;
}

void Describe(const Fill& fill, FakeGpuActivity* activity) {
  activity->what = FAKE_GPU_MEMSET;
  activity->bytes = fill.bytes();
  activity->value = fill.value;
  activity->target_kind = kDevice;
}

namespace impl {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  return Allocate(bytes, kDevice, 0, CurrentContext(), reinterpret_cast<void**>(pointer));
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                            unsigned int) {
  *pitch = (width + 511) / 512 * 512;
  return impl::cuMemAlloc_v2(pointer, *pitch * height);
}
CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
  return Allocate(bytes, kManaged, flags, CurrentContext(), reinterpret_cast<void**>(pointer));
}
CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return Allocate(bytes, kPinned, 0, CurrentContext(), pointer);
}
CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return Allocate(bytes, kPinned, flags, CurrentContext(), pointer);
}
CUresult cuMemFree_v2(CUdeviceptr pointer) { return Free(static_cast<uintptr_t>(pointer)); }
CUresult cuMemFreeHost(void* pointer) { return Free(reinterpret_cast<uintptr_t>(pointer)); }

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (FindAllocation(pointer)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  Allocation allocation;
  allocation.base = reinterpret_cast<uintptr_t>(pointer);
  allocation.size = bytes;
  allocation.kind = kPinned;
  allocation.device = context->device;
  allocation.context = context;
  allocation.flags = flags;
  allocation.id = memory.next_id++;
  memory.allocations[allocation.base] = allocation;
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* pointer) {
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  return memory.allocations.erase(reinterpret_cast<uintptr_t>(pointer)) != 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* pointer, unsigned int) {
  *device = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}
CUresult cuMemHostGetFlags(unsigned int* flags, void* pointer) {
  const auto allocation = FindAllocation(pointer);
  if (!allocation || allocation->kind != kPinned) return CUDA_ERROR_INVALID_VALUE;
  *flags = allocation->flags;
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  *total = DeviceMemory();
  *free = DeviceMemory() - memory.used[context->device];
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr pointer) {
  const auto allocation = FindAllocation(reinterpret_cast<void*>(pointer));
  if (!allocation) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = static_cast<CUdeviceptr>(allocation->base);
  if (size != nullptr) *size = allocation->size;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto allocation = FindAllocation(reinterpret_cast<void*>(pointer));
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) = allocation->context;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(data) =
          allocation->kind == kPinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(data) = pointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (allocation->kind == kDevice) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(data) = reinterpret_cast<void*>(pointer);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *static_cast<int*>(data) = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(data) = allocation->id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<int*>(data) = allocation->kind == kManaged;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = allocation->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = static_cast<CUdeviceptr>(allocation->base);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(data) = allocation->size;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<int*>(data) = 1;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(data) = nullptr;
      return CUDA_SUCCESS;
    default:
      return NotSupported("cuPointerGetAttribute of this attribute");
  }
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
  for (unsigned i = 0; i < count; ++i) {
    if (impl::cuPointerGetAttribute(data[i], attributes[i], pointer) != CUDA_SUCCESS) {
      std::memset(data[i], 0, sizeof(int));  // as the real one: unknown memory gives zeros
    }
  }
  return CUDA_SUCCESS;
}
CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr) {
  return CUDA_SUCCESS;
}

CUresult cuMemAdvise_v2(CUdeviceptr, size_t, CUmem_advise, CUmemLocation) { return CUDA_SUCCESS; }
CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned int, CUstream) {
  return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }

}  // namespace impl
}  // namespace fakegpu
