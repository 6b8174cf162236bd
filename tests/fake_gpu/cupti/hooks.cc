// SPDX-License-Identifier: Apache-2.0

// Reports of the driver (calls, activities, objects), turned into callbacks and records.
#include <cstring>
#include <map>

#include "cupti/faults.h"
#include "cupti/state.h"

namespace fakegpu::cupti {
namespace {

// Ids of external correlation, a stack per kind and thread.
thread_local std::map<int, std::vector<uint64_t>>* external = nullptr;
thread_local bool in_callback = false;
thread_local Inside inside = Inside::kNothing;

void Call(CUpti_CallbackDomain domain, uint32_t id, const void* data) {
  State& state = TheState();
  if (!state.callbacks[domain].Has(id) || in_callback || state.finished) return;
  const auto callback = state.callback.load(std::memory_order_acquire);
  if (callback == nullptr) return;
  in_callback = true;
  const bool api = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  inside = api ? Inside::kApi : Inside::kOther;
  callback(state.user_data, domain, id, data);
  inside = Inside::kNothing;
  in_callback = false;
}

void TellCall(FakeGpuCall* call, CUpti_ApiCallbackSite site) {
  const auto domain =
      call->domain == FAKE_GPU_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  if (!TheState().callbacks[domain].Has(call->cbid)) return;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName =
      call->domain == FAKE_GPU_RUNTIME ? RuntimeName(call->cbid) : DriverName(call->cbid);
  if (data.functionName == nullptr) data.functionName = call->name;
  data.functionParams = call->params;
  data.functionReturnValue = site == CUPTI_API_EXIT ? &call->result : nullptr;
  data.symbolName = call->symbol;
  data.context = call->context;
  data.contextUid = call->context_id;
  data.correlationData = &call->user_data;
  data.correlationId = call->correlation;
  Call(domain, call->cbid, &data);
}

void OnEnter(FakeGpuCall* call) { TellCall(call, CUPTI_API_ENTER); }

void OnExit(FakeGpuCall* call) {
  TellCall(call, CUPTI_API_EXIT);
  State& state = TheState();
  const bool runtime = call->domain == FAKE_GPU_RUNTIME;
  if (!(runtime ? state.runtime_records : state.driver_records).Has(call->cbid)) return;
  if (external != nullptr && state.kinds.Has(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
    for (const auto& [kind, ids] : *external) {
      if (!ids.empty()) Submit(ExternalCorrelation(kind, ids.back(), call->correlation));
    }
  }
  Submit(FromCall(*call));
}

void OnActivity(const FakeGpuActivity* activity) {
  State& state = TheState();
  if (activity->what == FAKE_GPU_KERNEL) {
    if (!state.kinds.Has(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) &&
        !state.kinds.Has(CUPTI_ACTIVITY_KIND_KERNEL))
      return;
  } else if (activity->what == FAKE_GPU_MEMCPY) {
    if (!state.kinds.Has(activity->peer != 0 ? CUPTI_ACTIVITY_KIND_MEMCPY2
                                             : CUPTI_ACTIVITY_KIND_MEMCPY))
      return;
  } else if (!state.kinds.Has(CUPTI_ACTIVITY_KIND_MEMSET)) {
    return;
  }
  if (activity->graph != 0 && state.kinds.Has(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) return;
  Submit(FromActivity(*activity));
}

void OnGraphLaunch(const FakeGpuGraphLaunch* launch) {
  if (TheState().kinds.Has(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) Submit(FromGraphLaunch(*launch));
}

void OnSync(const FakeGpuSync* sync) {
  State& state = TheState();
  if (sync->type == FAKE_GPU_SYNC_STREAM || sync->type == FAKE_GPU_SYNC_CONTEXT) {
    CUpti_SynchronizeData data{sync->context, sync->stream};
    Call(CUPTI_CB_DOMAIN_SYNCHRONIZE,
         sync->type == FAKE_GPU_SYNC_STREAM ? CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED
                                            : CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED,
         &data);
  }
  if (state.kinds.Has(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) Submit(FromSync(*sync));
}

void OnEvent(const FakeGpuEvent* event) {
  if (TheState().kinds.Has(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) Submit(FromEvent(*event));
}

void DumpContexts(CUcontext only) {
  State& state = TheState();
  FakeGpuContextInfo contexts[256];
  const int count = std::min(256, state.gpu->contexts(contexts, 256));
  for (int i = 0; i < count; ++i) {
    if (only == nullptr || contexts[i].handle == only) Submit(ContextRecord(contexts[i]));
  }
}

void DumpStreams(CUstream only) {
  State& state = TheState();
  std::vector<FakeGpuStreamInfo> streams(static_cast<size_t>(state.gpu->streams(nullptr, 0)) + 8);
  const int count = state.gpu->streams(streams.data(), static_cast<int>(streams.size()));
  for (int i = 0; i < std::min(count, static_cast<int>(streams.size())); ++i) {
    if (only == nullptr || streams[i].handle == only) Submit(StreamRecord(streams[i]));
  }
}

void OnResource(const FakeGpuResource* resource) {
  State& state = TheState();
  CUpti_ResourceData data{};
  data.context = resource->context;
  data.resourceHandle.stream = resource->stream;
  CUpti_ModuleResourceData module{};
  CUpti_GraphData graph{};
  switch (resource->id) {
    case CUPTI_CBID_RESOURCE_CU_INIT_FINISHED:
      if (state.kinds.Has(CUPTI_ACTIVITY_KIND_DEVICE)) {
        for (int i = 0; i < state.gpu->device_count(); ++i) Submit(DeviceRecord(i));
      }
      break;
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      state.context_seen = true;
      if (state.kinds.Has(CUPTI_ACTIVITY_KIND_CONTEXT)) DumpContexts(resource->context);
      break;
    case CUPTI_CBID_RESOURCE_STREAM_CREATED:
      if (state.kinds.Has(CUPTI_ACTIVITY_KIND_STREAM)) DumpStreams(resource->stream);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      module.moduleId = resource->module_id;
      module.cubinSize = resource->cubin_size;
      module.pCubin = static_cast<const char*>(resource->cubin);
      data.resourceDescriptor = &module;
      if (resource->id == CUPTI_CBID_RESOURCE_MODULE_LOADED &&
          state.kinds.Has(CUPTI_ACTIVITY_KIND_MODULE)) {
        Submit(ModuleRecord(state.gpu->context_id(resource->context), module.moduleId,
                            module.pCubin, module.cubinSize));
      }
      break;
    default:
      if (resource->id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        static std::atomic<uint64_t> number{0};
        if (TheFaults().lose_clone.Holds(++number)) return;
      }
      graph.graph = resource->graph;
      graph.originalGraph = resource->original_graph;
      graph.node = resource->node;
      graph.originalNode = resource->original_node;
      graph.nodeType = static_cast<CUgraphNodeType>(resource->node_type);
      graph.dependency = resource->dependency;
      graph.graphExec = resource->exec;
      data.resourceDescriptor = &graph;
  }
  Call(CUPTI_CB_DOMAIN_RESOURCE, static_cast<uint32_t>(resource->id), &data);
}

}  // namespace

Inside InsideCallback() { return inside; }

const FakeGpuTool* Hooks() {
  static const FakeGpuTool hooks = {sizeof(FakeGpuTool), OnEnter, OnExit,     OnActivity,
                                    OnGraphLaunch,       OnSync,  OnResource, OnEvent};
  return &hooks;
}

void TellState(uint32_t id, CUptiResult result, const char* message) {
  CUpti_StateData data{};
  data.notification.result = result;
  data.notification.message = message;
  State& state = TheState();
  const auto callback = state.callback.load(std::memory_order_acquire);
  if (callback != nullptr && state.callbacks[CUPTI_CB_DOMAIN_STATE].Has(id)) {
    callback(state.user_data, CUPTI_CB_DOMAIN_STATE, id, &data);
  }
}

namespace impl {

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                   uint64_t id) {
  if (external == nullptr) external = new std::map<int, std::vector<uint64_t>>;
  (*external)[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t* last) {
  if (external == nullptr || (*external)[kind].empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  auto& ids = (*external)[kind];
  if (last != nullptr) *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (RecordSize(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  State& state = TheState();
  state.kinds.Set(kind, true);
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY) state.kinds.Set(CUPTI_ACTIVITY_KIND_MEMCPY2, true);
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) state.driver_records.SetAll(true);
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) state.runtime_records.SetAll(true);
  PublishAllWanted();
  StartWorker();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (RecordSize(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  State& state = TheState();
  state.kinds.Set(kind, false);
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY) state.kinds.Set(CUPTI_ACTIVITY_KIND_MEMCPY2, false);
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) state.driver_records.SetAll(false);
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) state.runtime_records.SetAll(false);
  PublishAllWanted();
  return CUPTI_SUCCESS;
}

// Also reports existing objects.
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  const CUptiResult enabled = impl::cuptiActivityEnable(kind);
  if (enabled != CUPTI_SUCCESS) return enabled;
  State& state = TheState();
  if (state.gpu->initialized() == 0) return CUPTI_SUCCESS;
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_DEVICE:
      for (int i = 0; i < state.gpu->device_count(); ++i) Submit(DeviceRecord(i));
      return CUPTI_SUCCESS;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      DumpContexts(nullptr);
      return CUPTI_SUCCESS;
    case CUPTI_ACTIVITY_KIND_STREAM:
      DumpStreams(nullptr);
      return CUPTI_SUCCESS;
    default:
      return CUPTI_SUCCESS;
  }
}

}  // namespace impl
}  // namespace fakegpu::cupti
