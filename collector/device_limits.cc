// SPDX-License-Identifier: Apache-2.0
#include "collector/device_limits.h"

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace xlatrace::collector {
namespace {

struct Driver {
  decltype(&::cuDeviceGet) get = nullptr;
  decltype(&::cuDeviceGetAttribute) attribute = nullptr;
  decltype(&::cuDeviceGetName) name = nullptr;
  decltype(&::cuDeviceGetUuid) uuid = nullptr;
  decltype(&::cuDeviceTotalMem) memory = nullptr;
  decltype(&::cuDriverGetVersion) version = nullptr;
  CUresult (*stream_context)(CUstream, CUcontext*) = nullptr;
};

Driver FindDriver() {
  Driver driver;
  void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return driver;
  const auto find = [&](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(handle, name));
  };
  find(&driver.get, "cuDeviceGet");
  find(&driver.attribute, "cuDeviceGetAttribute");
  find(&driver.name, "cuDeviceGetName");
  find(&driver.uuid, "cuDeviceGetUuid_v2");
  find(&driver.memory, "cuDeviceTotalMem_v2");
  find(&driver.version, "cuDriverGetVersion");
  find(&driver.stream_context, "cuStreamGetCtx");
  return driver;
}

}  // namespace

CUcontext ContextOfStream(CUstream stream) {
  const Driver driver = FindDriver();
  CUcontext context = nullptr;
  if (driver.stream_context == nullptr || driver.stream_context(stream, &context) != CUDA_SUCCESS) {
    return nullptr;
  }
  return context;
}

void AddDeviceLimits(uint32_t ordinal, Definitions& definitions) {
  const Driver driver = FindDriver();
  CUdevice device = 0;
  if (driver.get == nullptr || driver.attribute == nullptr ||
      driver.get(&device, static_cast<int>(ordinal)) != CUDA_SUCCESS) {
    return;
  }
  const auto attribute = [&](CUdevice_attribute which) -> uint32_t {
    int value = 0;
    if (driver.attribute(&value, which, device) != CUDA_SUCCESS || value < 0) return 0;
    return static_cast<uint32_t>(value);
  };
  recording::DeviceRow row;
  row.device = ordinal;
  char name[256] = "";
  if (driver.name != nullptr) driver.name(name, sizeof(name) - 1, device);
  std::string uuid;
  if (CUuuid bytes; driver.uuid != nullptr && driver.uuid(&bytes, device) == CUDA_SUCCESS) {
    // The driver returns the UUID of the slice, if the device is one. The name states that it is:
    // "NVIDIA A100-SXM4-40GB MIG 1g.5gb".
    uuid = std::strstr(name, " MIG ") != nullptr ? "MIG-" : "GPU-";
    for (size_t i = 0; i < sizeof(bytes.bytes); ++i) {
      char hex[4];
      std::snprintf(hex, sizeof(hex), "%02x", static_cast<unsigned char>(bytes.bytes[i]));
      if (i == 4 || i == 6 || i == 8 || i == 10) uuid.push_back('-');
      uuid += hex;
    }
  }
  if (size_t bytes = 0; driver.memory != nullptr && driver.memory(&bytes, device) == CUDA_SUCCESS) {
    row.memory_bytes = bytes;
  }
  row.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  row.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  row.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  row.core_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  // Double data rate: two transfers a clock, in kB/s.
  row.memory_bandwidth_kb_per_s = uint64_t{2} * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                                  attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  row.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  row.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  if (row.warp_size != 0) {
    row.max_warps_per_sm =
        attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / row.warp_size;
  }
  row.max_blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  row.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  row.registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  row.registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  row.shared_memory_per_sm_bytes =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  row.shared_memory_per_block_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  row.shared_memory_per_block_optin_bytes =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  row.shared_memory_reserved_per_block_bytes =
      attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  std::string text(name);
  text.push_back('\0');
  text += uuid;
  const size_t bytes = text.size();
  definitions.Add(Owned<recording::DeviceRow>{row, std::move(text)}, bytes);
}

int DriverVersion() {
  const Driver driver = FindDriver();
  int version = 0;
  if (driver.version == nullptr || driver.version(&version) != CUDA_SUCCESS) return 0;
  return version;
}

}  // namespace xlatrace::collector
