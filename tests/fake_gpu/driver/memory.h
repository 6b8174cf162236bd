// SPDX-License-Identifier: Apache-2.0

// Device memory is host memory: allocations, and copies that really move data.
#ifndef FAKE_GPU_DRIVER_MEMORY_H_
#define FAKE_GPU_DRIVER_MEMORY_H_

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "driver/objects.h"
#include "fake_gpu.h"

namespace fakegpu {

// CUpti_ActivityMemoryKind and CUpti_ActivityMemcpyKind.
enum MemoryKind { kPageable = 1, kPinned = 2, kDevice = 3, kManaged = 5 };
enum CopyKind {
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeer = 10
};

inline void* At(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

struct Allocation {
  uintptr_t base = 0;
  size_t size = 0;
  MemoryKind kind = kDevice;
  int device = 0;
  CUcontext context = nullptr;
  unsigned flags = 0;
  uint64_t id = 0;
};

// The allocation that holds `address`.
std::optional<Allocation> FindAllocation(const void* address);
CUdeviceptr AllocateDevice(size_t bytes, CUcontext context);

struct Copy {
  char* target = nullptr;
  const char* source = nullptr;
  size_t width = 0, height = 1, depth = 1;  // width in bytes
  size_t target_pitch = 0, source_pitch = 0;
  size_t target_slice = 0, source_slice = 0;  // bytes from one plane to the next
  MemoryKind target_kind = kDevice, source_kind = kDevice;
  int target_device = 0, source_device = 0;
  CUcontext target_context = nullptr, source_context = nullptr;
  bool explicit_peer = false;

  uint64_t bytes() const { return static_cast<uint64_t>(width) * height * depth; }
  int kind() const;
  void Run() const;
};

// A flat copy; memory kinds are looked up.
Copy FlatCopy(void* target, const void* source, size_t bytes);
CUresult FromDescription(const CUDA_MEMCPY3D& description, Copy* copy);

struct Fill {
  char* target = nullptr;
  uint32_t value = 0;
  unsigned element = 1;  // bytes
  size_t width = 0, height = 1, pitch = 0;

  uint64_t bytes() const { return static_cast<uint64_t>(width) * height * element; }
  void Run() const;
};

// Fills the fields of `activity` that a copy or fill determines.
void Describe(const Copy& copy, FakeGpuActivity* activity);
void Describe(const Fill& fill, FakeGpuActivity* activity);

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_MEMORY_H_
