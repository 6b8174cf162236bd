// SPDX-License-Identifier: Apache-2.0

// The tables behind memory.cc and virtual_memory.cc; no other file includes it.
#ifndef FAKE_GPU_DRIVER_MEMORY_STATE_H_
#define FAKE_GPU_DRIVER_MEMORY_STATE_H_

#include <map>
#include <mutex>

#include "driver/memory.h"

namespace fakegpu {

// Physical memory of the virtual memory API: a part of one sparse file, so that several mappings of
// a handle show the same bytes.
struct Physical {
  uint64_t offset = 0;
  size_t size = 0;
  CUmemAllocationProp properties{};
  int references = 1;
};

struct Mapping {
  size_t size = 0;
  CUmemGenericAllocationHandle handle = 0;
};

struct Memory {
  std::mutex lock;
  std::map<uintptr_t, Allocation> allocations;
  std::map<uintptr_t, size_t> reservations;
  std::map<uintptr_t, Mapping> mappings;
  std::map<CUmemGenericAllocationHandle, Physical> physical;
  uint64_t used[kMaxDevices] = {};
  uint64_t next_id = 1;
  CUmemGenericAllocationHandle next_handle = 0x1000;
  int file = -1;
  uint64_t file_end = 0;
};

Memory& TheMemory();

CUresult Allocate(size_t bytes, MemoryKind kind, unsigned flags, CUcontext context, void** out);
CUresult Free(uintptr_t base);

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_MEMORY_STATE_H_
