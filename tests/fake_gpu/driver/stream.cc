// SPDX-License-Identifier: Apache-2.0

// Streams, events and host functions.
#include <algorithm>
#include <cstring>

#include "driver/call.h"
#include "driver/graph.h"
#include "driver/life.h"
#include "driver/memory.h"
#include "driver/objects.h"
#include "driver/timeline.h"
#include "fake_gpu_api.h"

namespace fakegpu {

namespace {

// The stream that cuStreamPerThread means for this thread in `context`.
CUstream PerThreadStream(CUcontext context) {
  static thread_local std::map<CUcontext, CUstream>* streams = nullptr;
  if (streams == nullptr) streams = new std::map<CUcontext, CUstream>;
  CUstream& stream = (*streams)[context];
  if (stream == nullptr) {
    stream = new CUstream_st;
    stream->context = context;
    AddStream(stream);
  }
  return stream;
}

CUresult MakeStream(CUstream* out, unsigned flags, int priority) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  auto* stream = new CUstream_st;
  stream->context = context;
  stream->flags = flags;
  stream->priority = std::clamp(priority, -5, 0);
  AddStream(stream);
  *out = stream;
  FakeGpuResource created{};
  created.id = 3;
  created.context = context;
  created.stream = stream;
  ReportResource(created);
  return CUDA_SUCCESS;
}

CUresult Sync(CUstream stream, int type, CUevent event) {
  FakeGpuSync sync{};
  sync.type = type;
  sync.context = stream != nullptr ? stream->context : event->context;
  sync.stream = stream;
  sync.context_id = sync.context->id;
  sync.stream_id = stream != nullptr ? stream->id : 0xffffffff;
  sync.event_id = event != nullptr ? event->id : 0xffffffff;
  sync.start = Now();
  if (type == FAKE_GPU_SYNC_STREAM) {
    WaitStream(stream);
  } else if (type == FAKE_GPU_SYNC_EVENT) {
    SleepUntil(event->time);
    WaitEffect(event->effect);
  }
  sync.end = Now();
  ReportSync(sync);
  return CUDA_SUCCESS;
}

}  // namespace

void WaitStream(CUstream stream) {
  uint64_t effect = 0;
  SleepUntil(StreamReady(stream, &effect));
  WaitEffect(effect);
}

CUstream FindStream(CUstream handle) {
  if (handle == nullptr && Thread().per_thread_stream) handle = CU_STREAM_PER_THREAD;
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    const CUcontext context = CurrentContext();
    if (context == nullptr) return nullptr;
    return handle == CU_STREAM_PER_THREAD ? PerThreadStream(context) : context->null_stream;
  }
  return Checked(handle, kStream);
}

namespace impl {

// ---- streams ----

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return MakeStream(stream, flags, 0);
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return MakeStream(stream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  if (Checked(stream, kStream) == nullptr || stream->legacy) return CUDA_ERROR_INVALID_HANDLE;
  FakeGpuResource starting{};
  starting.id = 4;
  starting.context = stream->context;
  starting.stream = stream;
  ReportResource(starting);
  RemoveStream(stream);
  stream->mark = kDead;
  // Its work goes on; its line stays part of the context's.
  delete stream;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *id = stream->id;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *context = stream->context;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return impl::cuStreamGetCtx(handle, context);
}
CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *device = stream->context->device;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (static_cast<size_t>(attribute) >= std::size(stream->attributes))
    return CUDA_ERROR_INVALID_VALUE;
  *value = stream->attributes[attribute];
  return CUDA_SUCCESS;
}
CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute,
                              const CUstreamAttrValue* value) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (static_cast<size_t>(attribute) >= std::size(stream->attributes))
    return CUDA_ERROR_INVALID_VALUE;
  stream->attributes[attribute] = *value;
  return CUDA_SUCCESS;
}
CUresult cuStreamCopyAttributes(CUstream, CUstream) { return CUDA_SUCCESS; }

CUresult cuStreamSynchronize(CUstream handle) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return Sync(stream, FAKE_GPU_SYNC_STREAM, nullptr);
}
CUresult cuStreamQuery(CUstream handle) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  uint64_t effect = 0;
  const Nanos ready = StreamReady(stream, &effect);
  return Now() >= ready && EffectDone(effect) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr || Checked(event, kEvent) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture != nullptr) {
    // The event was recorded in a capture: this stream joins it.
    if (stream->capture == nullptr) {
      stream->capture = event->capture;
      event->capture->streams.push_back(stream);
    }
    for (const CUgraphNode node : event->capture_front) {
      if (std::find(stream->capture_front.begin(), stream->capture_front.end(), node) ==
          stream->capture_front.end()) {
        stream->capture_front.push_back(node);
      }
    }
    return CUDA_SUCCESS;
  }
  if (stream->capture != nullptr) {
    NodeWork work;
    work.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    work.event = event;
    Captured(stream, std::move(work));
    return CUDA_SUCCESS;
  }
  Join(stream, event->time, event->effect);
  return Sync(stream, FAKE_GPU_SYNC_STREAM_WAIT, event);
}

CUresult cuStreamAttachMemAsync(CUstream, CUdeviceptr, size_t, unsigned int) {
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture != nullptr) {
    NodeWork work;
    work.type = CU_GRAPH_NODE_TYPE_HOST;
    work.host = function;
    work.host_data = data;
    Captured(stream, std::move(work));
    return CUDA_SUCCESS;
  }
  uint64_t effect = 0;
  const Nanos time = StreamReady(stream, &effect);
  Join(stream, 0, PostEffect(time, [function, data] { function(data); }));
  return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned int) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  uint64_t effect = 0;
  const Nanos time = StreamReady(stream, &effect);
  Join(stream, 0, PostEffect(time, [=] { callback(handle, CUDA_SUCCESS, data); }));
  return CUDA_SUCCESS;
}

// Waits for values are taken as fulfilled when the work before them is; writes really write.
CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr address, cuuint32_t value,
                                 unsigned int) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  uint64_t effect = 0;
  const Nanos time = StreamReady(stream, &effect);
  const uint64_t posted =
      RunOrPostEffect(time, [=] { std::memcpy(At(address), &value, sizeof value); });
  if (posted != 0) Join(stream, 0, posted);
  return CUDA_SUCCESS;
}
CUresult cuStreamWriteValue64_v2(CUstream handle, CUdeviceptr address, cuuint64_t value,
                                 unsigned int) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  uint64_t effect = 0;
  const Nanos time = StreamReady(stream, &effect);
  const uint64_t posted =
      RunOrPostEffect(time, [=] { std::memcpy(At(address), &value, sizeof value); });
  if (posted != 0) Join(stream, 0, posted);
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitValue32_v2(CUstream handle, CUdeviceptr, cuuint32_t, unsigned int) {
  return FindStream(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamWaitValue64_v2(CUstream handle, CUdeviceptr, cuuint64_t, unsigned int) {
  return FindStream(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// ---- events ----

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *event = new CUevent_st;
  (*event)->flags = flags;
  (*event)->context = context;
  (*event)->id = next_event_id++;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  if (Checked(event, kEvent) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->mark = kDead;
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned int) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr || Checked(event, kEvent) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->capture = stream->capture;
  if (stream->capture != nullptr) {
    event->capture_front = stream->capture_front;
    return CUDA_SUCCESS;
  }
  event->capture_front.clear();
  event->time = StreamReady(stream, &event->effect);
  event->recorded = true;
  FakeGpuEvent recorded{};
  recorded.device = static_cast<uint32_t>(stream->context->device);
  recorded.context_id = stream->context->id;
  recorded.stream_id = stream->id;
  recorded.event_id = event->id;
  recorded.time = event->time;
  ReportEvent(recorded);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return impl::cuEventRecordWithFlags(event, stream, 0);
}
CUresult cuEventQuery(CUevent event) {
  if (Checked(event, kEvent) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Now() >= event->time && EffectDone(event->effect) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent event) {
  if (Checked(event, kEvent) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Sync(nullptr, FAKE_GPU_SYNC_EVENT, event);
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  if (Checked(start, kEvent) == nullptr || Checked(end, kEvent) == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start->recorded || !end->recorded) return CUDA_ERROR_INVALID_HANDLE;
  if (Now() < start->time || Now() < end->time) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(
      (static_cast<double>(end->time) - static_cast<double>(start->time)) * 1e-6);
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return impl::cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace impl
}  // namespace fakegpu
