// SPDX-License-Identifier: Apache-2.0

// Executable graphs: instantiating and updating.
#include <algorithm>
#include <functional>

#include "driver/call.h"
#include "driver/graph_parts.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

// Nodes so that each comes after all it depends on; creation order otherwise. Empty: there is a
// cycle.
bool Sort(CUgraph graph, std::vector<CUgraphNode>* order) {
  for (size_t i = 0; i < graph->nodes.size(); ++i)
    graph->nodes[i]->position = static_cast<uint32_t>(i);
  std::vector<size_t> missing(graph->nodes.size(), 0);
  std::vector<std::vector<uint32_t>> dependents(graph->nodes.size());
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    for (const CUgraphNode dependency : graph->nodes[i]->dependencies) {
      dependents[dependency->position].push_back(static_cast<uint32_t>(i));
      ++missing[i];
    }
  }
  std::vector<uint32_t> heap;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) heap.push_back(static_cast<uint32_t>(i));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const uint32_t next = heap.back();
    heap.pop_back();
    order->push_back(graph->nodes[next]);
    for (const uint32_t dependent : dependents[next]) {
      if (--missing[dependent] == 0) {
        heap.push_back(dependent);
        std::push_heap(heap.begin(), heap.end(), std::greater<>());
      }
    }
  }
  return order->size() == graph->nodes.size();
}

bool SortAll(CUgraphExec exec, CUgraph graph) {
  auto& order = exec->order[graph];
  order.clear();
  if (!Sort(graph, &order)) return false;
  for (const CUgraphNode node : graph->nodes) {
    if (node->work.child != nullptr && !SortAll(exec, node->work.child)) return false;
    for (CUgraph body : node->work.bodies) {
      if (!SortAll(exec, body)) return false;
    }
  }
  return true;
}

CUresult Instantiate(CUgraphExec* out, CUgraph graph, cuuint64_t flags) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  auto* exec = new CUgraphExec_st;
  exec->context = CurrentContext();
  exec->flags = flags;
  exec->source_graph_id = graph->id;
  // Set before the object is complete: XLA's tracer reads the id when creation starts.
  exec->id = NextGraphId();
  Tell(kExecCreateStarting, graph, nullptr, nullptr, nullptr, exec);
  exec->graph = CloneGraph(graph, &exec->nodes, nullptr, exec->id);
  if (!SortAll(exec, exec->graph)) return CUDA_ERROR_INVALID_VALUE;
  *out = exec;
  Tell(kExecCreated, exec->graph, graph, nullptr, nullptr, exec);
  return CUDA_SUCCESS;
}

// The executable's copy of `node`, which may be one of the graph's nodes or, nested, of its
// children.
CUgraphNode InExec(CUgraphExec exec, CUgraphNode node) {
  if (Checked(exec, kExec) == nullptr) return nullptr;
  const auto found = exec->nodes.find(node);
  if (found != exec->nodes.end()) return found->second;
  return nullptr;
}

CUresult SetInExec(CUgraphExec exec, CUgraphNode node, NodeWork work) {
  CUgraphNode copy = InExec(exec, node);
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (copy->work.type != work.type) return CUDA_ERROR_INVALID_VALUE;
  Replace(&copy->work, std::move(work));
  Tell(kNodeSetParams, copy->graph, node->graph, copy, node, exec);
  return CUDA_SUCCESS;
}

// Nodes pair by place. Returns the first node that does not fit, or null.
CUgraphNode FirstMismatch(CUgraph have, CUgraph want, CUgraphExecUpdateResult* why) {
  *why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  if (have->nodes.size() != want->nodes.size()) {
    return want->nodes.empty() ? nullptr : want->nodes.back();
  }
  for (size_t i = 0; i < have->nodes.size(); ++i) {
    have->nodes[i]->position = want->nodes[i]->position = static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < have->nodes.size(); ++i) {
    const CUgraphNode a = have->nodes[i], b = want->nodes[i];
    if (a->work.type != b->work.type) {
      *why = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
      return b;
    }
    if (a->dependencies.size() != b->dependencies.size() ||
        a->work.bodies.size() != b->work.bodies.size())
      return b;
    for (size_t d = 0; d < a->dependencies.size(); ++d) {
      if (a->dependencies[d]->position != b->dependencies[d]->position) return b;
    }
    if (a->work.child != nullptr) {
      if (CUgraphNode inner = FirstMismatch(a->work.child, b->work.child, why)) return inner;
      if (a->work.child->nodes.size() != b->work.child->nodes.size()) return b;
    }
    for (size_t body = 0; body < a->work.bodies.size(); ++body) {
      if (CUgraphNode inner = FirstMismatch(a->work.bodies[body], b->work.bodies[body], why))
        return inner;
    }
  }
  *why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return nullptr;
}

void UpdateFrom(CUgraphExec exec, CUgraph have, CUgraph want) {
  for (size_t i = 0; i < have->nodes.size(); ++i) {
    const CUgraphNode a = have->nodes[i], b = want->nodes[i];
    Replace(&a->work, b->work);
    exec->nodes[b] = a;
    Tell(kNodeUpdated, have, want, a, b, exec);
    if (a->work.child != nullptr) UpdateFrom(exec, a->work.child, b->work.child);
    for (size_t body = 0; body < a->work.bodies.size(); ++body) {
      UpdateFrom(exec, a->work.bodies[body], b->work.bodies[body]);
    }
  }
}

template <typename Params>
CUresult SetInExecFrom(CUgraphExec exec, CUgraphNode node, const Params& from) {
  NodeWork work;
  const CUresult known = FromParams(from, &work);
  return known == CUDA_SUCCESS ? SetInExec(exec, node, std::move(work)) : known;
}

}  // namespace

namespace impl {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return Instantiate(exec, graph, flags);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return Instantiate(exec, graph, 0);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  const CUresult made = Instantiate(exec, graph, params->flags);
  params->hErrNode_out = nullptr;
  params->result_out =
      made == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return made;
}
CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  if (Checked(exec, kExec) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  if (Checked(exec, kExec) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Tell(kExecDestroy, exec->graph, nullptr, nullptr, nullptr, exec);
  DestroyGraph(exec->graph, false);
  exec->mark = kDead;
  delete exec;
  return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream) {
  return Checked(exec, kExec) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  if (Checked(exec, kExec) == nullptr || Checked(graph, kGraph) == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  CUgraphExecUpdateResult why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  CUgraphNode wrong = FirstMismatch(exec->graph, graph, &why);
  if (info != nullptr) *info = {why, wrong, nullptr};
  if (why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  UpdateFrom(exec, exec->graph, graph);
  SortAll(exec, exec->graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* wrong,
                           CUgraphExecUpdateResult* why) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult updated = impl::cuGraphExecUpdate_v2(exec, graph, &info);
  if (wrong != nullptr) *wrong = info.errorNode;
  if (why != nullptr) *why = info.result;
  return updated;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  return SetInExecFrom(exec, node, *params);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return SetInExecFrom(exec, node, *params);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* params, CUcontext) {
  return SetInExecFrom(exec, node, *params);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  return SetInExecFrom(exec, node, *params);
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  return SetInExecFrom(exec, node, *params);
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  return SetInExecFrom(exec, node, *params);
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  CUgraphNode copy = InExec(exec, node);
  if (copy == nullptr || copy->work.child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExecUpdateResult why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  FirstMismatch(copy->work.child, child, &why);
  if (why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  UpdateFrom(exec, copy->work.child, child);
  SortAll(exec, copy->work.child);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  work.event = event;
  return SetInExec(exec, node, std::move(work));
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  work.event = event;
  return SetInExec(exec, node, std::move(work));
}
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled) {
  CUgraphNode copy = InExec(exec, node);
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  copy->enabled = enabled != 0;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int* enabled) {
  CUgraphNode copy = InExec(exec, node);
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *enabled = copy->enabled;
  return CUDA_SUCCESS;
}

}  // namespace impl
}  // namespace fakegpu
