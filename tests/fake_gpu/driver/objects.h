// SPDX-License-Identifier: Apache-2.0

// The objects behind the driver's opaque handles. Each begins with a mark, so that a wrong handle
// is an error code and not a crash.
#ifndef FAKE_GPU_DRIVER_OBJECTS_H_
#define FAKE_GPU_DRIVER_OBJECTS_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "driver/image.h"

namespace fakegpu {

using Nanos = uint64_t;  // CLOCK_REALTIME

enum Mark : uint32_t {
  kDead = 0xdeadbeef,
  kContext = 0xfa6e0001,
  kStream,
  kEvent,
  kModule,
  kFunction,
  kLibrary,
  kKernel,
  kGraph,
  kNode,
  kExec,
  kPool,
  kUserObject,
  kLink,
};

inline constexpr int kMaxDevices = 64;

struct Device {
  int ordinal = 0;
  CUcontext primary = nullptr;
  int primary_references = 0;
  unsigned primary_flags = 0;
  CUmemoryPool default_pool = nullptr;
  CUmemoryPool pool = nullptr;
};

struct Capture;

}  // namespace fakegpu

struct CUctx_st {
  uint32_t mark = fakegpu::kContext;
  uint32_t id = 0;
  int device = 0;
  bool primary = false;
  unsigned flags = 0;
  CUstream null_stream = nullptr;
  uint32_t next_stream_id = 13;
  // Under the timeline's lock: when all work of blocking streams, and of the legacy stream, ends.
  fakegpu::Nanos blocking_ready = 0;
  fakegpu::Nanos ready = 0;
  uint64_t effect = 0;
  size_t limits[16] = {};
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
};

struct CUstream_st {
  uint32_t mark = fakegpu::kStream;
  uint32_t id = 0;
  CUcontext context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false;
  CUlaunchAttributeValue attributes[32] = {};
  // Under the timeline's lock.
  fakegpu::Nanos ready = 0;
  uint64_t effect = 0;  // number of its last host function or deferred copy
  uint64_t issued = 0;
  std::vector<fakegpu::Nanos> in_flight;  // ring of end times, bounds how far the host runs ahead
  // A stream is captured by one thread at a time.
  fakegpu::Capture* capture = nullptr;
  std::vector<CUgraphNode> capture_front;
};

struct CUevent_st {
  uint32_t mark = fakegpu::kEvent;
  uint32_t id = 0;
  unsigned flags = 0;
  CUcontext context = nullptr;
  fakegpu::Nanos time = 0;
  uint64_t effect = 0;
  bool recorded = false;
  fakegpu::Capture* capture = nullptr;
  std::vector<CUgraphNode> capture_front;
};

struct CUfunc_st {
  uint32_t mark = fakegpu::kFunction;
  const fakegpu::KernelImage* image = nullptr;
  CUmodule module = nullptr;
  CUkernel kernel = nullptr;  // when it came from a library
  fakegpu::Nanos duration = 0;
  int max_dynamic_smem = 48 * 1024;
  int carveout = -1;
};

// A CUkernel may be passed as a CUfunction; the marks distinguish them.
struct CUkern_st {
  uint32_t mark = fakegpu::kKernel;
  const fakegpu::KernelImage* image = nullptr;
  CUlibrary library = nullptr;
  std::map<CUcontext, CUfunction> functions;
  int max_dynamic_smem = 48 * 1024;
  int carveout = -1;
};

struct CUmod_st {
  uint32_t mark = fakegpu::kModule;
  uint32_t id = 0;
  CUcontext context = nullptr;
  std::shared_ptr<fakegpu::Image> image;
  std::map<std::string, CUfunction, std::less<>> functions;
  std::map<std::string, std::pair<CUdeviceptr, size_t>, std::less<>> globals;
};

struct CUlib_st {
  uint32_t mark = fakegpu::kLibrary;
  std::shared_ptr<fakegpu::Image> image;
  std::map<std::string, CUkernel, std::less<>> kernels;
  std::map<CUcontext, CUmodule> modules;
};

struct CUmemPoolHandle_st {
  uint32_t mark = fakegpu::kPool;
  int device = 0;
  uint64_t attributes[16] = {};
};

struct CUuserObject_st {
  uint32_t mark = fakegpu::kUserObject;
  void* object = nullptr;
  CUhostFn destroy = nullptr;
  unsigned references = 0;
};

namespace fakegpu {

// The object behind a handle, or null when it is none of its kind.
template <typename Handle>
Handle Checked(Handle handle, Mark mark) {
  return handle != nullptr && handle->mark == mark ? handle : nullptr;
}

inline std::atomic<uint32_t> next_event_id{1};

int DeviceCount();
Device* FindDevice(CUdevice ordinal);  // null: no such device
// 0 for an attribute without a value here.
int DeviceAttribute(CUdevice_attribute attribute);
size_t DeviceMemory();

// The context current to this thread, or null.
CUcontext CurrentContext();
// `stream` resolved: 0 and the special handles mean the current context's streams. Null when the
// handle is wrong or there is no context.
CUstream FindStream(CUstream stream);
// Until all that was issued to it is done.
void WaitStream(CUstream stream);
std::vector<CUcontext> Contexts();
std::vector<CUstream> Streams();
void AddStream(CUstream stream);  // gives it its id
void RemoveStream(CUstream stream);

// Modules and functions.
CUresult LoadModule(CUmodule* module, const void* image, CUcontext context);
CUresult LoadModule(CUmodule* module, std::shared_ptr<Image> image, CUcontext context);
// The function a launch runs; `handle` may be a CUkernel. Null when it is neither.
CUfunction FindFunction(CUfunction handle, CUcontext context);
CUkernel NamedKernel(const char* name, uint32_t registers, uint32_t static_smem);

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_OBJECTS_H_
