// SPDX-License-Identifier: Apache-2.0
// Streams, events, capture and the few graph calls that programs make through the runtime.
#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

#include "tests/fake_gpu/libraries/cudart/runtime.h"
#include "tests/fake_gpu/libraries/export.h"

using xlatrace::fake::EnsureContext;
using xlatrace::fake::Error;

namespace {

CUresult Ready() {
  CUcontext context = nullptr;
  return EnsureContext(&context);
}

}  // namespace

FAKE_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  XLATRACE_RUNTIME_CALL(cudaStreamCreateWithFlags, v5000, {stream, flags});
  const CUresult ready = Ready();
  return call.Return(ready == CUDA_SUCCESS ? DRIVER(cuStreamCreate, stream, flags) : ready);
}
FAKE_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
FAKE_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags,
                                                     int priority) {
  const CUresult ready = Ready();
  if (ready != CUDA_SUCCESS) return Error(ready);
  return Error(DRIVER(cuStreamCreateWithPriority, stream, flags, priority));
}
FAKE_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Error(DRIVER(cuStreamDestroy, stream));
}
FAKE_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  XLATRACE_RUNTIME_CALL(cudaStreamSynchronize, v3020, {stream});
  return call.Return(DRIVER(cuStreamSynchronize, stream));
}
FAKE_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return Error(DRIVER(cuStreamQuery, stream));
}
FAKE_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                            unsigned flags) {
  XLATRACE_RUNTIME_CALL(cudaStreamWaitEvent, v3020, {stream, event, flags});
  return call.Return(DRIVER(cuStreamWaitEvent, stream, event, flags));
}
FAKE_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return Error(DRIVER(cuStreamGetPriority, stream, priority));
}
FAKE_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                              cudaStreamCaptureStatus* status) {
  return Error(
      DRIVER(cuStreamIsCapturing, stream, reinterpret_cast<CUstreamCaptureStatus*>(status)));
}
FAKE_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return Error(DRIVER(cuStreamBeginCapture, stream, static_cast<CUstreamCaptureMode>(mode)));
}
FAKE_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return Error(DRIVER(cuStreamEndCapture, stream, graph));
}
FAKE_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return Error(DRIVER(cuLaunchHostFunc, stream, function, data));
}

FAKE_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const CUresult ready = Ready();
  return Error(ready == CUDA_SUCCESS ? DRIVER(cuEventCreate, event, flags) : ready);
}
FAKE_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
FAKE_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Error(DRIVER(cuEventDestroy, event));
}
FAKE_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  XLATRACE_RUNTIME_CALL(cudaEventRecord, v3020, {event, stream});
  return call.Return(DRIVER(cuEventRecord, event, stream));
}
FAKE_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Error(DRIVER(cuEventQuery, event));
}
FAKE_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return Error(DRIVER(cuEventSynchronize, event));
}
FAKE_EXPORT cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                             cudaEvent_t end) {
  return Error(DRIVER(cuEventElapsedTime, milliseconds, start, end));
}

FAKE_EXPORT cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return Error(DRIVER(cuGraphCreate, graph, flags));
}
FAKE_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Error(DRIVER(cuGraphDestroy, graph));
}
FAKE_EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                          size_t* count) {
  return Error(DRIVER(cuGraphGetNodes, graph, nodes, count));
}
FAKE_EXPORT cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                              size_t* count) {
  return Error(DRIVER(cuGraphGetRootNodes, graph, nodes, count));
}
