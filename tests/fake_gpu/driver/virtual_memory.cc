// SPDX-License-Identifier: Apache-2.0

// Virtual memory management, memory pools and stream-ordered allocation.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include <sys/mman.h>

#include "driver/call.h"
#include "driver/memory_state.h"
#include "driver/timeline.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

constexpr size_t kGranularity = 2 << 20;

// Caller holds the lock.
CUresult DropPhysical(Memory& memory, CUmemGenericAllocationHandle handle) {
  const auto found = memory.physical.find(handle);
  if (found == memory.physical.end()) return CUDA_ERROR_INVALID_VALUE;
  Physical& physical = found->second;
  if (--physical.references != 0) return CUDA_SUCCESS;
  fallocate(memory.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(physical.offset), static_cast<off_t>(physical.size));
  const auto& location = physical.properties.location;
  memory.used[location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : 0] -= physical.size;
  memory.physical.erase(found);
  return CUDA_SUCCESS;
}

}  // namespace

namespace impl {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment, CUdeviceptr,
                             unsigned long long) {
  if (size == 0 || size % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  alignment = std::max(alignment, kGranularity);
  void* mapped = mmap(nullptr, size + alignment, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto raw = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t base = (raw + alignment - 1) / alignment * alignment;
  if (base != raw) munmap(mapped, base - raw);
  munmap(reinterpret_cast<void*>(base + size), raw + alignment - base);
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  memory.reservations[base] = size;
  *pointer = static_cast<CUdeviceptr>(base);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size) {
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  const auto found = memory.reservations.find(static_cast<uintptr_t>(pointer));
  if (found == memory.reservations.end() || found->second != size) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(pointer), size);
  memory.reservations.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* properties, unsigned long long) {
  if (size == 0 || size % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  if (memory.file < 0) memory.file = memfd_create("fake_gpu_memory", MFD_CLOEXEC);
  if (memory.file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const int device =
      properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? properties->location.id : 0;
  if (memory.used[device] + size > DeviceMemory()) return CUDA_ERROR_OUT_OF_MEMORY;
  Physical physical;
  physical.offset = memory.file_end;
  physical.size = size;
  physical.properties = *properties;
  if (ftruncate(memory.file, static_cast<off_t>(memory.file_end + size)) != 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  memory.file_end += size;
  memory.used[device] += size;
  *handle = memory.next_handle++;
  memory.physical[*handle] = physical;
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  return DropPhysical(memory, handle);
}

CUresult cuMemMap(CUdeviceptr pointer, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  const auto found = memory.physical.find(handle);
  if (found == memory.physical.end() || offset + size > found->second.size) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  void* mapped = mmap(reinterpret_cast<void*>(pointer), size, PROT_NONE, MAP_SHARED | MAP_FIXED,
                      memory.file, static_cast<off_t>(found->second.offset + offset));
  if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  ++found->second.references;
  memory.mappings[static_cast<uintptr_t>(pointer)] = {size, handle};
  Allocation allocation;
  allocation.base = static_cast<uintptr_t>(pointer);
  allocation.size = size;
  const auto& location = found->second.properties.location;
  allocation.kind = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? kDevice : kPinned;
  allocation.device = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : 0;
  allocation.context = CurrentContext();
  allocation.id = memory.next_id++;
  memory.allocations[allocation.base] = allocation;
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t size) {
  WaitEffect(PostedEffects());
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  const auto begin = static_cast<uintptr_t>(pointer);
  auto at = memory.mappings.lower_bound(begin);
  if (at == memory.mappings.end() || at->first >= begin + size) return CUDA_ERROR_INVALID_VALUE;
  while (at != memory.mappings.end() && at->first < begin + size) {
    // Back to reserved: nothing may be mapped there by anybody else meanwhile.
    mmap(reinterpret_cast<void*>(at->first), at->second.size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    memory.allocations.erase(at->first);
    DropPhysical(memory, at->second.handle);
    at = memory.mappings.erase(at);
  }
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc*, size_t) {
  return mprotect(reinterpret_cast<void*>(pointer), size, PROT_READ | PROT_WRITE) == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation*, CUdeviceptr) {
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer) {
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  auto next = memory.mappings.upper_bound(at);
  if (next == memory.mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
  --next;
  if (at >= next->first + next->second.size) return CUDA_ERROR_INVALID_VALUE;
  *handle = next->second.handle;
  ++memory.physical[*handle].references;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  Memory& memory = TheMemory();
  std::lock_guard guard(memory.lock);
  const auto found = memory.physical.find(handle);
  if (found == memory.physical.end()) return CUDA_ERROR_INVALID_VALUE;
  *properties = found->second.properties;
  return CUDA_SUCCESS;
}

// ---- pools and stream-ordered allocation ----

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  *pool = new CUmemPoolHandle_st;
  (*pool)->device = properties->location.id;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  if (Checked(pool, kPool) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  pool->mark = kDead;
  delete pool;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolTrimTo(CUmemoryPool, size_t) { return CUDA_SUCCESS; }
CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }
CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool, CUmemLocation*) {
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (Checked(pool, kPool) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute >= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    std::memcpy(&pool->attributes[attribute], value, sizeof(uint64_t));
  } else {
    pool->attributes[attribute] = static_cast<uint64_t>(*static_cast<int*>(value));
  }
  return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (Checked(pool, kPool) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute >= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    std::memcpy(value, &pool->attributes[attribute], sizeof(uint64_t));
  } else {
    *static_cast<int*>(value) = static_cast<int>(pool->attributes[attribute]);
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->default_pool == nullptr) {
    device->default_pool = new CUmemPoolHandle_st;
    device->default_pool->device = ordinal;
  }
  *pool = device->default_pool;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->pool == nullptr) return impl::cuDeviceGetDefaultMemPool(pool, ordinal);
  *pool = device->pool;
  return CUDA_SUCCESS;
}
CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool) {
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  device->pool = pool;
  return CUDA_SUCCESS;
}
CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  if (FindStream(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Allocate(bytes, kDevice, 0, FindStream(stream)->context,
                  reinterpret_cast<void**>(pointer));
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool,
                                 CUstream stream) {
  return impl::cuMemAllocAsync(pointer, bytes, stream);
}
CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream) {
  return Free(static_cast<uintptr_t>(pointer));
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice, CUgraphMem_attribute, void* value) {
  *static_cast<cuuint64_t*>(value) = 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceSetGraphMemAttribute(CUdevice, CUgraphMem_attribute, void*) {
  return CUDA_SUCCESS;
}
CUresult cuDeviceGraphMemTrim(CUdevice) { return CUDA_SUCCESS; }

}  // namespace impl
}  // namespace fakegpu
