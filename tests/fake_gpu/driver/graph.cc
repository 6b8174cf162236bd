// SPDX-License-Identifier: Apache-2.0

// Graphs and their nodes: making, cloning, connecting, listing.
#include "driver/graph.h"

#include <algorithm>
#include <cstring>

#include "driver/call.h"
#include "driver/graph_parts.h"
#include "driver/life.h"
#include "driver/truth_log.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

bool ToolListens() {
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  return tool != nullptr && tool->resource != nullptr;
}

// A child graph is cloned or, with `move`, becomes part of `graph` itself. Then its nodes stay
// known to the program, which may set their parameters in the executable later.
CUresult Add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
             NodeWork work, bool move = false) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> checked;
  const CUresult valid = Dependencies(graph, dependencies, count, &checked);
  if (valid != CUDA_SUCCESS) return valid;
  if (work.child != nullptr && !move) {
    NodeMap map;
    work.child = CloneGraph(work.child, &map, nullptr);
  }
  *out = AddNode(graph, std::move(checked), std::move(work));
  if ((*out)->work.child != nullptr) (*out)->work.child->owner = *out;
  return CUDA_SUCCESS;
}

template <typename T>
CUresult GiveList(const std::vector<T>& all, T* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i) out[i] = i < all.size() ? all[i] : nullptr;
  }
  if (out == nullptr || *count > all.size()) *count = all.size();
  return CUDA_SUCCESS;
}

std::vector<CUgraphNode> DependentsOf(CUgraphNode node) {
  std::vector<CUgraphNode> found;
  for (const CUgraphNode other : node->graph->nodes) {
    const auto& all = other->dependencies;
    if (std::find(all.begin(), all.end(), node) != all.end()) found.push_back(other);
  }
  return found;
}

template <typename Params>
CUresult AddFrom(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                 const Params& from) {
  NodeWork work;
  const CUresult known = FromParams(from, &work);
  return known == CUDA_SUCCESS ? Add(node, graph, dependencies, count, std::move(work)) : known;
}

}  // namespace

uint32_t NextGraphId() {
  static std::atomic<uint32_t> next{1};
  return next++;
}

void Tell(int id, CUgraph graph, CUgraph original_graph, CUgraphNode node, CUgraphNode original,
          CUgraphExec exec, CUgraphNode dependency) {
  if (!ToolListens()) return;
  FakeGpuResource resource{};
  resource.id = id;
  resource.graph = graph;
  resource.original_graph = original_graph;
  resource.node = node;
  resource.original_node = original;
  resource.exec = exec;
  resource.dependency = dependency;
  if (node != nullptr) resource.node_type = node->work.type;
  ReportResource(resource);
}

CUgraph NewGraph(uint32_t id) {
  auto* graph = new CUgraph_st;
  graph->id = id != 0 ? id : NextGraphId();
  return graph;
}

CUgraph CloneGraph(CUgraph from, NodeMap* map, CUgraphNode owner, uint32_t id) {
  CUgraph to = NewGraph(id);
  to->original_id = from->id;
  to->owner = owner;
  Tell(kGraphCloned, to, from);
  for (const CUgraphNode node : from->nodes) {
    NodeWork work = node->work;
    if (work.child != nullptr) work.child = CloneGraph(node->work.child, map, nullptr);
    for (CUgraph& body : work.bodies) body = CloneGraph(body, map, nullptr);
    CUgraphNode copy = AddNode(to, {}, std::move(work), node, false);
    copy->enabled = node->enabled;
    if (copy->work.child != nullptr) copy->work.child->owner = copy;
    for (CUgraph body : copy->work.bodies) body->owner = copy;
    (*map)[node] = copy;
  }
  for (const CUgraphNode node : from->nodes) {
    CUgraphNode copy = (*map)[node];
    for (const CUgraphNode dependency : node->dependencies) {
      copy->dependencies.push_back((*map)[dependency]);
    }
    Tell(kNodeCloned, to, from, copy, node);
  }
  return to;
}

void DestroyGraph(CUgraph graph, bool told) {
  if (told) Tell(kGraphDestroy, graph, nullptr);
  for (CUgraphNode node : graph->nodes) {
    if (told) Tell(kNodeDestroy, graph, nullptr, node);
    if (node->work.child != nullptr) DestroyGraph(node->work.child, told);
    for (CUgraph body : node->work.bodies) DestroyGraph(body, told);
    node->mark = kDead;
    delete node;
  }
  for (CUuserObject object : graph->user_objects) {
    if (--object->references == 0 && object->destroy != nullptr) object->destroy(object->object);
  }
  graph->mark = kDead;
  delete graph;
}

CUresult Dependencies(CUgraph graph, const CUgraphNode* nodes, size_t count,
                      std::vector<CUgraphNode>* out) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < count; ++i) {
    if (Checked(nodes[i], kNode) == nullptr || nodes[i]->graph != graph)
      return CUDA_ERROR_INVALID_VALUE;
    out->push_back(nodes[i]);
  }
  return CUDA_SUCCESS;
}

CUgraphNode AddNode(CUgraph graph, std::vector<CUgraphNode> dependencies, NodeWork work,
                    CUgraphNode original, bool told) {
  auto* node = new CUgraphNode_st;
  node->graph = graph;
  node->id = uint64_t{graph->id} << 32 | graph->next_node++;
  node->dependencies = std::move(dependencies);
  node->work = std::move(work);
  node->original_id = original != nullptr ? original->id : 0;
  node->created_id = original != nullptr ? original->created_id : node->id;
  node->label = original != nullptr ? original->label : Label();
  if (told) Tell(kNodeCreateStarting, graph, nullptr, node);
  graph->nodes.push_back(node);
  if (told) {
    Tell(kNodeCreated, graph, nullptr, node);
    for (const CUgraphNode dependency : node->dependencies) {
      Tell(kDependencyCreated, graph, nullptr, node, nullptr, nullptr, dependency);
    }
  }
  return node;
}

namespace impl {

CUresult cuGraphCreate(CUgraph* graph, unsigned int) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = NewGraph();
  Tell(kGraphCreated, *graph, nullptr);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  DestroyGraph(graph, true);
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  if (Checked(original, kGraph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeMap map;
  *clone = CloneGraph(original, &map, nullptr);
  (*clone)->clones = std::move(map);
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  if (Checked(clone, kGraph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = clone->clones.find(original);
  if (found == clone->clones.end()) return CUDA_ERROR_INVALID_VALUE;
  *node = found->second;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData*, size_t count, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  NodeWork work;
  const CUresult known = FromParams(*params, &work);
  if (known != CUDA_SUCCESS) return known;
  if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    for (unsigned i = 0; i < params->conditional.size; ++i) {
      work.bodies.push_back(NewGraph());
      Tell(kGraphCreated, work.bodies.back(), nullptr);
    }
  } else if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    work.pointer = AllocateDevice(work.bytes, CurrentContext());
    params->alloc.dptr = work.pointer;
  }
  const bool move = params->type == CU_GRAPH_NODE_TYPE_GRAPH &&
                    params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  const CUresult added = Add(node, graph, dependencies, count, std::move(work), move);
  if (added == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    for (CUgraph body : (*node)->work.bodies) body->owner = *node;
    params->conditional.phGraph_out = (*node)->work.bodies.data();
  }
  if (added == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    params->graph.graph = (*node)->work.child;
  }
  return added;
}
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* params) {
  return impl::cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, params);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  return AddFrom(node, graph, dependencies, count, *params);
}
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return AddFrom(node, graph, dependencies, count, *params);
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMCPY3D* params, CUcontext) {
  return AddFrom(node, graph, dependencies, count, *params);
}
CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  return AddFrom(node, graph, dependencies, count, *params);
}
CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  return AddFrom(node, graph, dependencies, count, *params);
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  if (Checked(child, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_GRAPH;
  work.child = child;
  return Add(node, graph, dependencies, count, std::move(work));
}
CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
  return Add(node, graph, dependencies, count, {});
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* dependencies, size_t count, CUevent event) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  work.event = event;
  return Add(node, graph, dependencies, count, std::move(work));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  work.event = event;
  return Add(node, graph, dependencies, count, std::move(work));
}
CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  work.bytes = params->bytesize;
  work.pointer = params->dptr = AllocateDevice(params->bytesize, CurrentContext());
  return Add(node, graph, dependencies, count, std::move(work));
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr pointer) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  work.pointer = pointer;
  return Add(node, graph, dependencies, count, std::move(work));
}
CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS*) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  return Add(node, graph, dependencies, count, std::move(work));
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Tell(kNodeDestroy, node->graph, nullptr, node);
  std::erase(node->graph->nodes, node);
  for (CUgraphNode other : node->graph->nodes) std::erase(other->dependencies, node);
  if (node->work.child != nullptr) DestroyGraph(node->work.child, true);
  node->mark = kDead;
  delete node;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < count; ++i) {
    to[i]->dependencies.push_back(from[i]);
    Tell(kDependencyCreated, graph, nullptr, to[i], nullptr, nullptr, from[i]);
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t count) {
  return impl::cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < count; ++i) {
    Tell(kDependencyDestroy, graph, nullptr, to[i], nullptr, nullptr, from[i]);
    std::erase(to[i]->dependencies, from[i]);
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return impl::cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return GiveList(graph->nodes, nodes, count);
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<CUgraphNode> roots;
  for (CUgraphNode node : graph->nodes) {
    if (node->dependencies.empty()) roots.push_back(node);
  }
  return GiveList(roots, nodes, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* data, size_t* count) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<CUgraphNode> begins, ends;
  for (CUgraphNode node : graph->nodes) {
    for (CUgraphNode dependency : node->dependencies) {
      begins.push_back(dependency);
      ends.push_back(node);
    }
  }
  size_t same = *count;
  if (data != nullptr) std::memset(data, 0, *count * sizeof *data);
  GiveList(begins, from, count);
  return GiveList(ends, to, &same);
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return impl::cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->work.type;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data,
                                       size_t* count) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (data != nullptr) std::memset(data, 0, *count * sizeof *data);
  return GiveList(node->dependencies, out, count);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return impl::cuGraphNodeGetDependencies_v2(node, out, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data,
                                         size_t* count) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (data != nullptr) std::memset(data, 0, *count * sizeof *data);
  return GiveList(DependentsOf(node), out, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return impl::cuGraphNodeGetDependentNodes_v2(node, out, nullptr, count);
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  if (Checked(node, kNode) == nullptr || node->work.child == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = node->work.child;
  return CUDA_SUCCESS;
}

CUresult cuGraphDebugDotPrint(CUgraph, const char*, unsigned int) { return CUDA_SUCCESS; }

CUresult cuUserObjectCreate(CUuserObject* out, void* object, CUhostFn destroy, unsigned int count,
                            unsigned int) {
  *out = new CUuserObject_st;
  (*out)->object = object;
  (*out)->destroy = destroy;
  (*out)->references = count;
  return CUDA_SUCCESS;
}
CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
  object->references += count;
  return CUDA_SUCCESS;
}
CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
  object->references -= std::min(object->references, count);
  if (object->references == 0 && object->destroy != nullptr) object->destroy(object->object);
  return CUDA_SUCCESS;
}
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags) {
  if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) object->references += count;
  for (unsigned i = 0; i < count; ++i) graph->user_objects.push_back(object);
  return CUDA_SUCCESS;
}
CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int) {
  std::erase(graph->user_objects, object);
  return CUDA_SUCCESS;
}

}  // namespace impl
}  // namespace fakegpu
