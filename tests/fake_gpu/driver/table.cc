// SPDX-License-Identifier: Apache-2.0

// The private table (fake_gpu.h) and the texts of error codes.
#include <cstring>

#include "driver/call.h"
#include "driver/graph.h"
#include "driver/life.h"
#include "driver/objects.h"
#include "driver/truth_log.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

void SetTool(const FakeGpuTool* tool) { installed_tool.store(tool, std::memory_order_release); }

void WantCall(int domain, uint32_t cbid, int wanted) {
  if (cbid >= 1024) return;
  // Not (a ? b : c)[i]: GCC 12 with -fsanitize=bounds takes an index it has not computed.
  std::atomic<uint64_t>* const words =
      domain == FAKE_GPU_RUNTIME ? wanted_runtime_calls : wanted_driver_calls;
  std::atomic<uint64_t>& word = words[cbid / 64];
  const uint64_t bit = uint64_t{1} << (cbid % 64);
  if (wanted != 0) {
    word |= bit;
  } else {
    word &= ~bit;
  }
}

int Initialized() { return LifeState() == CUDA_SUCCESS; }

uint32_t ContextId(CUcontext context) {
  return Checked(context, kContext) != nullptr ? context->id : 0;
}

uint32_t StreamId(CUcontext context, CUstream stream, int per_thread) {
  ThreadState& thread = Thread();
  const bool was = thread.per_thread_stream;
  thread.per_thread_stream = per_thread != 0;
  CUstream found = nullptr;
  if ((stream == nullptr || stream == CU_STREAM_LEGACY) && per_thread == 0 &&
      Checked(context, kContext) != nullptr) {
    found = context->null_stream;
  } else {
    found = FindStream(stream);
  }
  thread.per_thread_stream = was;
  return found != nullptr ? found->id : 0;
}

uint32_t GraphExecId(CUgraphExec exec) { return Checked(exec, kExec) != nullptr ? exec->id : 0; }
// An executable graph is a graph to CUPTI: XLA's tracer calls cuptiGetGraphId for both.
uint32_t GraphId(CUgraph graph) {
  if (Checked(graph, kGraph) != nullptr) return graph->id;
  return GraphExecId(reinterpret_cast<CUgraphExec>(graph));
}
uint64_t GraphNodeId(CUgraphNode node) { return Checked(node, kNode) != nullptr ? node->id : 0; }

uint32_t DeviceOfContext(CUcontext context) {
  return Checked(context, kContext) != nullptr ? static_cast<uint32_t>(context->device) : 0;
}

uint32_t Correlation() {
  const ThreadState& thread = Thread();
  return thread.depth != 0 ? thread.correlation : 0;
}

int AttributeOf(CUdevice, int attribute) {
  return DeviceAttribute(static_cast<CUdevice_attribute>(attribute));
}

void DeviceName(CUdevice device, char* name, int room) {
  impl::cuDeviceGetName(name, room, device);
}

void DeviceUuid(CUdevice device, unsigned char uuid[16]) {
  CUuuid id;
  impl::cuDeviceGetUuid_v2(&id, device);
  std::memcpy(uuid, id.bytes, 16);
}

size_t MemoryOf(CUdevice) { return DeviceMemory(); }

int ListContexts(FakeGpuContextInfo* out, int room) {
  const auto all = Contexts();
  for (int i = 0; i < room && i < static_cast<int>(all.size()); ++i) {
    out[i] = {all[i], all[i]->id, static_cast<uint32_t>(all[i]->device), all[i]->null_stream->id};
  }
  return static_cast<int>(all.size());
}

int ListStreams(FakeGpuStreamInfo* out, int room) {
  const auto all = Streams();
  for (int i = 0; i < room && i < static_cast<int>(all.size()); ++i) {
    out[i] = {all[i], all[i]->id, all[i]->context->id, all[i]->priority, all[i]->flags};
  }
  return static_cast<int>(all.size());
}

void AddNote(const char* text) { Note("%s", text); }

const char* ErrorName(CUresult error) {
  switch (error) {
    case CUDA_SUCCESS:
      return "CUDA_SUCCESS";
    case CUDA_ERROR_INVALID_VALUE:
      return "CUDA_ERROR_INVALID_VALUE";
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case CUDA_ERROR_NOT_INITIALIZED:
      return "CUDA_ERROR_NOT_INITIALIZED";
    case CUDA_ERROR_DEINITIALIZED:
      return "CUDA_ERROR_DEINITIALIZED";
    case CUDA_ERROR_NO_DEVICE:
      return "CUDA_ERROR_NO_DEVICE";
    case CUDA_ERROR_INVALID_DEVICE:
      return "CUDA_ERROR_INVALID_DEVICE";
    case CUDA_ERROR_INVALID_IMAGE:
      return "CUDA_ERROR_INVALID_IMAGE";
    case CUDA_ERROR_INVALID_CONTEXT:
      return "CUDA_ERROR_INVALID_CONTEXT";
    case CUDA_ERROR_NOT_FOUND:
      return "CUDA_ERROR_NOT_FOUND";
    case CUDA_ERROR_NOT_READY:
      return "CUDA_ERROR_NOT_READY";
    case CUDA_ERROR_INVALID_HANDLE:
      return "CUDA_ERROR_INVALID_HANDLE";
    case CUDA_ERROR_ILLEGAL_STATE:
      return "CUDA_ERROR_ILLEGAL_STATE";
    case CUDA_ERROR_NOT_SUPPORTED:
      return "CUDA_ERROR_NOT_SUPPORTED";
    case CUDA_ERROR_LAUNCH_FAILED:
      return "CUDA_ERROR_LAUNCH_FAILED";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE:
      return "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE";
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    case CUDA_ERROR_UNKNOWN:
      return "CUDA_ERROR_UNKNOWN";
    default:
      return "CUDA_ERROR_OF_THE_FAKE_GPU";
  }
}

}  // namespace

const FakeGpuTable* PrivateTable() {
  static const FakeGpuTable table = [] {
    FakeGpuTable t{};
    t.size = sizeof t;
    t.set_tool = SetTool;
    t.want_call = WantCall;
    t.initialized = Initialized;
    t.enter = EnterRuntime;
    t.exit = ExitRuntime;
    t.named_kernel = NamedKernel;
    t.context_id = ContextId;
    t.stream_id = StreamId;
    t.graph_id = GraphId;
    t.graph_exec_id = GraphExecId;
    t.graph_node_id = GraphNodeId;
    t.device_of_context = DeviceOfContext;
    t.current_context = CurrentContext;
    t.correlation = Correlation;
    t.device_count = DeviceCount;
    t.device_attribute = AttributeOf;
    t.device_name = DeviceName;
    t.device_uuid = DeviceUuid;
    t.device_memory = MemoryOf;
    t.contexts = ListContexts;
    t.streams = ListStreams;
    t.note = AddNote;
    t.set_label_source = SetLabelSource;
    return t;
  }();
  return &table;
}

namespace impl {

CUresult cuGetErrorName(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = ErrorName(error);
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  return impl::cuGetErrorName(error, text);
}

}  // namespace impl
}  // namespace fakegpu
