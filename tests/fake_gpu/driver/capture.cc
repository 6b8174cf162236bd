// SPDX-License-Identifier: Apache-2.0

// Stream capture: work issued to streams becomes nodes of a graph.
#include "driver/call.h"
#include "driver/graph_parts.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

std::atomic<uint64_t> next_capture_id{1};

}  // namespace

bool Captured(CUstream stream, NodeWork work) {
  if (stream->capture == nullptr) return false;
  stream->capture_front = {AddNode(stream->capture->graph, stream->capture_front, std::move(work))};
  return true;
}

namespace impl {

static CUresult BeginCapture(CUstream handle, CUgraph graph, std::vector<CUgraphNode> front) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr || stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto* capture = new Capture;
  capture->to_existing = graph != nullptr;
  if (graph == nullptr) {
    graph = NewGraph();
    Tell(kGraphCreated, graph, nullptr);
  }
  capture->graph = graph;
  capture->origin = stream;
  capture->id = next_capture_id++;
  capture->streams = {stream};
  stream->capture_front = std::move(front);
  stream->capture = capture;
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  return BeginCapture(stream, nullptr, {});
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData*,
                                     size_t count, CUstreamCaptureMode) {
  std::vector<CUgraphNode> front;
  const CUresult valid = Dependencies(graph, dependencies, count, &front);
  return valid == CUDA_SUCCESS ? BeginCapture(stream, graph, std::move(front)) : valid;
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr || stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  Capture* capture = stream->capture;
  if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  *graph = capture->graph;
  for (CUstream captured : capture->streams) {
    if (captured->mark != kStream) continue;
    captured->capture = nullptr;
    captured->capture_front.clear();
  }
  // The capture itself stays: events that were recorded in it point to it.
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *status =
      stream->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const Capture* capture = stream->capture;
  *status = capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (capture == nullptr) return CUDA_SUCCESS;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph;
  if (dependencies != nullptr) *dependencies = stream->capture_front.data();
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = stream->capture_front.size();
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  return impl::cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return impl::cuStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* dependencies,
                                              const CUgraphEdgeData*, size_t count,
                                              unsigned int flags) {
  CUstream stream = FindStream(handle);
  if (stream == nullptr || stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->capture_front.clear();
  stream->capture_front.insert(stream->capture_front.end(), dependencies, dependencies + count);
  return CUDA_SUCCESS;
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                           unsigned int flags) {
  return impl::cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  ThreadState& thread = Thread();
  const int old = thread.capture_mode;
  thread.capture_mode = *mode;
  *mode = static_cast<CUstreamCaptureMode>(old);
  return CUDA_SUCCESS;
}

}  // namespace impl
}  // namespace fakegpu
