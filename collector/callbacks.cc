// SPDX-License-Identifier: Apache-2.0
#include "collector/callbacks.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "collector/empty_calls.h"
#include "collector/lock.h"
#include "collector/thread_log.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace xlatrace::collector {
namespace {

// More ids than any release has (13.4: below 850 in both domains).
constexpr uint32_t kMaxFunctionId = 1200;

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Calls that make the device work: launches, copies, memsets, graph launches.
bool StartsDeviceWork(std::string_view name) {
  // A host function occupies no device.
  if (StartsWith(name, "cuLaunchHostFunc") || StartsWith(name, "cudaLaunchHostFunc")) return false;
  for (const char* yes :
       {"cuLaunch", "cuMemcpy", "cu64Memcpy", "cuMemset", "cu64Memset", "cuGraphLaunch",
        "cudaLaunch", "__cudaLaunchKernel", "cudaMemcpy", "cudaMemset", "cudaGraphLaunch"}) {
    if (StartsWith(name, yes)) return true;
  }
  return false;
}

// Calls in which the host waits for the device. They start no work; the importer recognises them by
// name.
bool Waits(std::string_view name) {
  for (const char* yes :
       {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cudaDeviceSynchronize",
        "cudaStreamSynchronize", "cudaEventSynchronize"}) {
    if (StartsWith(name, yes)) return true;
  }
  return false;
}

void EnableApiDomain(Collector& collector, CUpti_SubscriberHandle subscriber,
                     CUpti_CallbackDomain domain, std::string_view prefix) {
  uint64_t enabled = 0;
  for (uint32_t id = 1; id < kMaxFunctionId; ++id) {
    const char* name = nullptr;
    if (collector.api.cuptiGetCallbackName == nullptr ||
        collector.api.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr ||
        !(StartsDeviceWork(name) || (collector.records_waits() && Waits(name)))) {
      continue;
    }
    if (collector.api.cuptiEnableCallback(1, subscriber, domain, id) != CUPTI_SUCCESS) continue;
    collector.Fact(std::string(prefix) + std::to_string(id), name);
    ++enabled;
  }
  if (enabled != 0) return;
  // Names are not available: enables all functions of the domain, at a higher cost.
  for (uint32_t id = 1; id < kMaxFunctionId; ++id) {
    collector.api.cuptiEnableCallback(1, subscriber, domain, id);
  }
}

void OnApi(Collector& collector, CUpti_CallbackDomain domain, uint32_t id,
           const CUpti_CallbackData& data) {
  ThreadLog* log = ThreadLog::Current();
  if (log == nullptr) return;
  if (data.callbackSite == CUPTI_API_ENTER) {
    if (log->pending_run() != 0) {
      const Steering::RunBegin begin = collector.steering.OnFirstCall(*log, data.contextUid);
      if (begin.step) collector.AppendMark(*log, "step ", *begin.step);
      if (begin.edge != StepEdge::kNone) {
        collector.AppendMark(*log,
                             begin.edge == StepEdge::kFirst  ? "first run "
                             : begin.edge == StepEdge::kNext ? "next run "
                                                             : "outside run ",
                             static_cast<int64_t>(log->run()));
      }
    }
    if (log->early_run() != 0) collector.steering.OnLaterCall(*log);
    if (log->step_edge() == StepEdge::kNext) {
      collector.steering.AwaitWork(data.contextUid, data.correlationId);
    }
    const bool skip = collector.steering.Skips(*log);
    log->EnterCall(data.correlationId, skip ? 0 : NowNs(), skip);
    return;
  }
  recording::ApiCallRow row;
  switch (log->LeaveCall(data.correlationId, &row.start_ns)) {
    case ThreadLog::CallEnd::kUnknown:
    case ThreadLog::CallEnd::kNested:
    case ThreadLog::CallEnd::kSkipped:
      return;
    case ThreadLog::CallEnd::kCaptured:
      // The call made a graph node; the work is done when the graph is launched.
      collector.captured_calls.fetch_add(1, std::memory_order_relaxed);
      return;
    case ThreadLog::CallEnd::kRecord:
      break;
  }
  row.end_ns = NowNs();
  row.thread = log->thread();
  row.domain = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? recording::ApiDomain::kRuntime
                                                     : recording::ApiDomain::kDriver;
  row.function = id;
  row.correlation = data.correlationId;
  if (data.functionReturnValue != nullptr) {
    std::memcpy(&row.result, data.functionReturnValue, sizeof(row.result));
  }
  row.starts_nothing =
      IsEmptyCall(row.domain == recording::ApiDomain::kRuntime, id, data.functionParams);
  row.thunk = log->thunk();
  row.module_run = log->run();
  log->Append(row);
}

uint64_t NodeId(const Collector& collector, CUgraphNode node) {
  uint64_t id = 0;
  if (node == nullptr || collector.api.cuptiGetGraphNodeId == nullptr ||
      collector.api.cuptiGetGraphNodeId(node, &id) != CUPTI_SUCCESS) {
    return 0;
  }
  return id;
}

uint32_t GraphId(const Collector& collector, CUgraph graph) {
  uint32_t id = 0;
  if (graph == nullptr || collector.api.cuptiGetGraphId == nullptr ||
      collector.api.cuptiGetGraphId(graph, &id) != CUPTI_SUCCESS) {
    return 0;
  }
  return id;
}

void OnGraphNode(Collector& collector, recording::NodeEvent event, const CUpti_GraphData& data) {
  ThreadLog* log = ThreadLog::Current();
  if (log == nullptr) return;
  if (event == recording::NodeEvent::kCreated) log->NodeCreated();
  recording::GraphNodeRow row;
  row.event = event;
  row.time_ns = NowNs();
  row.node = NodeId(collector, data.node);
  row.graph = GraphId(collector, data.graph);
  if (event == recording::NodeEvent::kCloned) {
    row.original_node = NodeId(collector, data.originalNode);
    row.original_graph = GraphId(collector, data.originalGraph);
  }
  row.type = static_cast<uint32_t>(data.nodeType);
  row.thunk = log->thunk();
  row.module = log->module();
  collector.definitions.Add(row, 0);
}

void OnModule(Collector& collector, const CUpti_ResourceData& data) {
  if (data.resourceDescriptor == nullptr) return;
  const auto& module = *static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
  recording::CubinRow row;
  row.module = module.moduleId;
  row.time_ns = NowNs();
  row.bytes = module.cubinSize;
  if (data.context != nullptr && collector.api.cuptiGetContextId != nullptr) {
    collector.api.cuptiGetContextId(data.context, &row.context);
  }
  // The bytes are valid inside this callback only.
  if (module.pCubin != nullptr) row.hash = XXH3_64bits(module.pCubin, module.cubinSize);
  collector.definitions.Add(row, 0);
}

void OnContext(Collector& collector, const CUpti_ResourceData& data) {
  recording::ContextRow row;
  if (data.context != nullptr && collector.api.cuptiGetContextId != nullptr &&
      collector.api.cuptiGetDeviceId != nullptr &&
      collector.api.cuptiGetContextId(data.context, &row.context) == CUPTI_SUCCESS &&
      collector.api.cuptiGetDeviceId(data.context, &row.device) == CUPTI_SUCCESS) {
    collector.definitions.Add(row, 0);
    collector.DeviceSeen(row.device);
  }
  collector.OnFirstContext();
}

void OnResource(Collector& collector, uint32_t id, const CUpti_ResourceData& data) {
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      OnContext(collector, data);
      return;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      OnModule(collector, data);
      return;
    default:
      break;
  }
  if (data.resourceDescriptor == nullptr) return;
  const auto& graph = *static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      OnGraphNode(collector, recording::NodeEvent::kCreated, graph);
      return;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      OnGraphNode(collector, recording::NodeEvent::kCloned, graph);
      return;
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS:
      OnGraphNode(collector, recording::NodeEvent::kUpdated, graph);
      return;
    default:
      return;
  }
}

void Dispatch(Collector& collector, CUpti_CallbackDomain domain, CUpti_CallbackId id,
              const void* data) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      OnApi(collector, domain, id, *static_cast<const CUpti_CallbackData*>(data));
      return;
    case CUPTI_CB_DOMAIN_RESOURCE:
      OnResource(collector, id, *static_cast<const CUpti_ResourceData*>(data));
      return;
    case CUPTI_CB_DOMAIN_STATE: {
      const auto& state = *static_cast<const CUpti_StateData*>(data);
      if (id == CUPTI_CBID_STATE_FATAL_ERROR) {
        collector.cupti_ended.store(true, std::memory_order_release);
        const char* message = state.notification.message;
        collector.Fact("error", std::string("CUPTI ended itself: ") +
                                    (message == nullptr ? "no message" : message));
      }
      return;
    }
    default:
      return;
  }
}

}  // namespace

void EnableCallbacks(Collector& collector, CUpti_SubscriberHandle subscriber) {
  EnableApiDomain(collector, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, "api.driver.");
  EnableApiDomain(collector, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, "api.runtime.");
  // One by one: from CUDA 12.8 on the domain as a whole does not turn the graph callbacks on.
  for (const CUpti_CallbackId id :
       {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_MODULE_LOADED,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
        CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS}) {
    collector.api.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  }
  // After a fatal error CUPTI ends itself: worth knowing.
  collector.api.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_STATE,
                                    CUPTI_CBID_STATE_FATAL_ERROR);
}

void CUPTIAPI OnCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data) {
  if (!Collector::Alive() || data == nullptr) return;
  auto& collector = *static_cast<Collector*>(user);
  ThreadLog* log = ThreadLog::Current();
  const bool measure = log != nullptr && log->IsTimeToMeasure();
  uint64_t before = 0;
  uint64_t begin = 0;
  if (measure) {
    // The first look at the clock is dearer than the second: it fetches what it needs.
    NowNs(CLOCK_THREAD_CPUTIME_ID);
    before = NowNs(CLOCK_THREAD_CPUTIME_ID);
    begin = NowNs(CLOCK_THREAD_CPUTIME_ID);
  }
  try {
    Dispatch(collector, domain, id, data);
  } catch (const std::bad_alloc&) {
    collector.CountAllocationFailure();
  }
  if (!measure) return;
  // Less what looking at the clock costs, which is more than the work.
  const auto clock = static_cast<int64_t>(begin - before);
  const auto spent = static_cast<int64_t>(NowNs(CLOCK_THREAD_CPUTIME_ID) - begin);
  log->AddCost((spent - clock) * 1024);
}

}  // namespace xlatrace::collector
