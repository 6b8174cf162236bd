// SPDX-License-Identifier: Apache-2.0

// Launches, copies and sets, on a stream or into its capture.
#include <algorithm>
#include <cstring>

#include "driver/call.h"
#include "driver/graph.h"
#include "driver/memory.h"
#include "driver/objects.h"
#include "driver/timeline.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

// A synchronous copy or fill waits for its end; inside a capture it is not allowed.
CUresult CopyWith(const Copy& copy, CUstream handle, bool asynchronous) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (copy.width == 0) return CUDA_SUCCESS;
  if (stream->capture != nullptr) {
    if (!asynchronous) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    NodeWork work;
    work.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    work.copy = copy;
    Captured(stream, std::move(work));
    return CUDA_SUCCESS;
  }
  CopyNow(stream, copy, asynchronous);
  if (!asynchronous) WaitStream(stream);
  return CUDA_SUCCESS;
}

CUresult FillWith(const Fill& fill, CUstream handle, bool asynchronous) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (fill.width == 0) return CUDA_SUCCESS;
  if (stream->capture != nullptr) {
    NodeWork work;
    work.type = CU_GRAPH_NODE_TYPE_MEMSET;
    work.fill = fill;
    Captured(stream, std::move(work));
    return CUDA_SUCCESS;
  }
  FillNow(stream, fill, asynchronous);
  if (!asynchronous) WaitStream(stream);
  return CUDA_SUCCESS;
}

// The caller named the device side, so memory from another source counts as device memory.
Copy ToDevice(CUdeviceptr target, const void* source, size_t bytes) {
  Copy copy = FlatCopy(At(target), source, bytes);
  if (copy.target_kind == kPageable) copy.target_kind = kDevice;
  return copy;
}
Copy FromDevice(void* target, CUdeviceptr source, size_t bytes) {
  Copy copy = FlatCopy(target, At(source), bytes);
  if (copy.source_kind == kPageable) copy.source_kind = kDevice;
  return copy;
}
Copy OnDevice(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
  Copy copy = FlatCopy(At(target), At(source), bytes);
  if (copy.source_kind == kPageable) copy.source_kind = kDevice;
  if (copy.target_kind == kPageable) copy.target_kind = kDevice;
  return copy;
}
Copy Peer(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
          CUcontext source_context, size_t bytes) {
  Copy copy = OnDevice(target, source, bytes);
  copy.explicit_peer = true;
  copy.source_context = source_context;
  copy.target_context = target_context;
  copy.source_device = source_context->device;
  copy.target_device = target_context->device;
  return copy;
}

Fill MakeFill(CUdeviceptr target, uint32_t value, unsigned element, size_t width, size_t height = 1,
              size_t pitch = 0) {
  Fill fill;
  fill.target = static_cast<char*>(At(target));
  fill.value = value;
  fill.element = element;
  fill.width = width;
  fill.height = height;
  fill.pitch = pitch;
  return fill;
}

CUresult Launch(CUfunction handle, LaunchShape shape, CUstream stream_handle, void** arguments) {
  CUstream stream = FindStream(stream_handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUfunction function = FindFunction(handle, stream->context);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (threads == 0 || threads > 1024 || shape.block[2] > 64 || shape.grid[0] == 0 ||
      shape.grid[1] == 0 || shape.grid[2] == 0 || shape.grid[1] > 65535 || shape.grid[2] > 65535 ||
      shape.dynamic_smem > static_cast<uint32_t>(function->max_dynamic_smem)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream->capture != nullptr) {
    NodeWork work;
    work.type = CU_GRAPH_NODE_TYPE_KERNEL;
    work.context = stream->context;
    work.function = function;
    work.shape = shape;
    work.arguments = CopyArguments(function, arguments);
    Captured(stream, std::move(work));
    return CUDA_SUCCESS;
  }
  return LaunchNow(stream, function, shape);
}

}  // namespace

CUresult LaunchNow(CUstream stream, CUfunction function, const LaunchShape& shape) {
  static std::atomic<uint64_t> next_grid{1};
  FakeGpuActivity activity{};
  activity.what = FAKE_GPU_KERNEL;
  const KernelImage& image = *function->image;
  activity.name = image.name.c_str();
  std::memcpy(activity.grid, shape.grid, sizeof shape.grid);
  std::memcpy(activity.block, shape.block, sizeof shape.block);
  std::memcpy(activity.cluster, shape.cluster, sizeof shape.cluster);
  activity.dynamic_smem = shape.dynamic_smem;
  activity.static_smem = image.static_smem;
  activity.registers = image.registers;
  activity.local_per_thread = image.local_per_thread;
  activity.launch_type = shape.type;
  activity.grid_id = next_grid.fetch_add(1, std::memory_order_relaxed);
  Issue(stream, LaunchDuration(function->duration), &activity);
  return CUDA_SUCCESS;
}

void CopyNow(CUstream stream, const Copy& copy, bool asynchronous) {
  FakeGpuActivity activity{};
  Describe(copy, &activity);
  activity.asynchronous = asynchronous;
  Issue(stream, CopyDuration(activity.copy_kind, activity.bytes), &activity);
  const uint64_t effect = RunOrPostEffect(activity.end, [copy] { copy.Run(); });
  if (effect != 0) Join(stream, 0, effect);
}

void FillNow(CUstream stream, const Fill& fill, bool asynchronous) {
  FakeGpuActivity activity{};
  Describe(fill, &activity);
  activity.asynchronous = asynchronous;
  Issue(stream, SetDuration(activity.bytes), &activity);
  const uint64_t effect = RunOrPostEffect(activity.end, [fill] { fill.Run(); });
  if (effect != 0) Join(stream, 0, effect);
}

namespace impl {

CUresult cuLaunchKernel(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int smem,
                        CUstream stream, void** arguments, void**) {
  LaunchShape shape;
  shape.grid[0] = gx, shape.grid[1] = gy, shape.grid[2] = gz;
  shape.block[0] = bx, shape.block[1] = by, shape.block[2] = bz;
  shape.dynamic_smem = smem;
  return Launch(function, shape, stream, arguments);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int gx, unsigned int gy,
                                   unsigned int gz, unsigned int bx, unsigned int by,
                                   unsigned int bz, unsigned int smem, CUstream stream,
                                   void** arguments) {
  LaunchShape shape;
  shape.grid[0] = gx, shape.grid[1] = gy, shape.grid[2] = gz;
  shape.block[0] = bx, shape.block[1] = by, shape.block[2] = bz;
  shape.dynamic_smem = smem;
  shape.type = 1;
  return Launch(function, shape, stream, arguments);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void**) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LaunchShape shape;
  shape.grid[0] = config->gridDimX, shape.grid[1] = config->gridDimY,
  shape.grid[2] = config->gridDimZ;
  shape.block[0] = config->blockDimX, shape.block[1] = config->blockDimY,
  shape.block[2] = config->blockDimZ;
  shape.dynamic_smem = config->sharedMemBytes;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      shape.cluster[0] = attribute.value.clusterDim.x;
      shape.cluster[1] = attribute.value.clusterDim.y;
      shape.cluster[2] = attribute.value.clusterDim.z;
    } else if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
               attribute.value.cooperative != 0) {
      shape.type = 1;
    }
  }
  return Launch(function, shape, config->hStream, arguments);
}

// ---- copies ----

CUresult cuMemcpy(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
  return CopyWith(FlatCopy(At(target), At(source), bytes), nullptr, false);
}
CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return CopyWith(FlatCopy(At(target), At(source), bytes), stream, true);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void* source, size_t bytes) {
  return CopyWith(ToDevice(target, source, bytes), nullptr, false);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void* source, size_t bytes,
                              CUstream stream) {
  return CopyWith(ToDevice(target, source, bytes), stream, true);
}
CUresult cuMemcpyDtoH_v2(void* target, CUdeviceptr source, size_t bytes) {
  return CopyWith(FromDevice(target, source, bytes), nullptr, false);
}
CUresult cuMemcpyDtoHAsync_v2(void* target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return CopyWith(FromDevice(target, source, bytes), stream, true);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
  return CopyWith(OnDevice(target, source, bytes), nullptr, false);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes,
                              CUstream stream) {
  return CopyWith(OnDevice(target, source, bytes), stream, true);
}
// One call, one activity for each copy. The attributes are hints.
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* targets, CUdeviceptr* sources, size_t* bytes,
                               size_t count, CUmemcpyAttributes*, size_t*, size_t,
                               CUstream stream) {
  if (targets == nullptr || sources == nullptr || bytes == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    const Copy copy = FlatCopy(At(targets[i]), At(sources[i]), bytes[i]);
    const CUresult result = CopyWith(copy, stream, true);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemcpyPeer(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from,
                      size_t bytes) {
  if (Checked(to, kContext) == nullptr || Checked(from, kContext) == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  return CopyWith(Peer(target, to, source, from, bytes), nullptr, false);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from,
                           size_t bytes, CUstream stream) {
  if (Checked(to, kContext) == nullptr || Checked(from, kContext) == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  return CopyWith(Peer(target, to, source, from, bytes), stream, true);
}

static CUDA_MEMCPY3D Flat(const CUDA_MEMCPY2D& from) {
  CUDA_MEMCPY3D to{};
  to.srcXInBytes = from.srcXInBytes, to.srcY = from.srcY, to.srcMemoryType = from.srcMemoryType;
  to.srcHost = from.srcHost, to.srcDevice = from.srcDevice, to.srcArray = from.srcArray;
  to.srcPitch = from.srcPitch;
  to.dstXInBytes = from.dstXInBytes, to.dstY = from.dstY, to.dstMemoryType = from.dstMemoryType;
  to.dstHost = from.dstHost, to.dstDevice = from.dstDevice, to.dstArray = from.dstArray;
  to.dstPitch = from.dstPitch;
  to.WidthInBytes = from.WidthInBytes, to.Height = from.Height, to.Depth = 1;
  return to;
}
static CUresult Described(const CUDA_MEMCPY3D& description, CUstream stream, bool asynchronous) {
  Copy copy;
  const CUresult known = FromDescription(description, &copy);
  return known == CUDA_SUCCESS ? CopyWith(copy, stream, asynchronous) : known;
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return Described(Flat(*copy), nullptr, false); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return Described(Flat(*copy), nullptr, false);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return Described(Flat(*copy), stream, true);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return Described(*copy, nullptr, false); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return Described(*copy, stream, true);
}

CUresult cuMemsetD8_v2(CUdeviceptr p, unsigned char v, size_t n) {
  return FillWith(MakeFill(p, v, 1, n), nullptr, false);
}
CUresult cuMemsetD16_v2(CUdeviceptr p, unsigned short v, size_t n) {
  return FillWith(MakeFill(p, v, 2, n), nullptr, false);
}
CUresult cuMemsetD32_v2(CUdeviceptr p, unsigned int v, size_t n) {
  return FillWith(MakeFill(p, v, 4, n), nullptr, false);
}
CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s) {
  return FillWith(MakeFill(p, v, 1, n), s, true);
}
CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short v, size_t n, CUstream s) {
  return FillWith(MakeFill(p, v, 2, n), s, true);
}
CUresult cuMemsetD32Async(CUdeviceptr p, unsigned int v, size_t n, CUstream s) {
  return FillWith(MakeFill(p, v, 4, n), s, true);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t h) {
  return FillWith(MakeFill(p, v, 1, w, h, pitch), nullptr, false);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t h) {
  return FillWith(MakeFill(p, v, 2, w, h, pitch), nullptr, false);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr p, size_t pitch, unsigned int v, size_t w, size_t h) {
  return FillWith(MakeFill(p, v, 4, w, h, pitch), nullptr, false);
}
CUresult cuMemsetD2D8Async(CUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t h,
                           CUstream s) {
  return FillWith(MakeFill(p, v, 1, w, h, pitch), s, true);
}
CUresult cuMemsetD2D16Async(CUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t h,
                            CUstream s) {
  return FillWith(MakeFill(p, v, 2, w, h, pitch), s, true);
}
CUresult cuMemsetD2D32Async(CUdeviceptr p, size_t pitch, unsigned int v, size_t w, size_t h,
                            CUstream s) {
  return FillWith(MakeFill(p, v, 4, w, h, pitch), s, true);
}

}  // namespace impl
}  // namespace fakegpu
