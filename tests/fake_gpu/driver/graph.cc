// Graphs: building, cloning, instantiating, updating, launching.
#include "driver/graph.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>

#include "driver/call.h"
#include "driver/life.h"
#include "driver/timeline.h"
#include "driver/truth_log.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

constexpr double kNodeLatency = 900;  // from a node's last dependency to its start
constexpr int kMostRounds = 100'000;  // of a loop in a graph, should its condition never end it

std::atomic<uint32_t> next_graph_id{1};
std::atomic<uint64_t> next_capture_id{1};

// CUPTI_CBID_RESOURCE_*.
enum {
  kGraphCreated = 9,
  kGraphDestroy = 10,
  kGraphCloned = 11,
  kNodeCreateStarting = 12,
  kNodeCreated = 13,
  kNodeDestroy = 14,
  kDependencyCreated = 15,
  kDependencyDestroy = 16,
  kExecCreateStarting = 17,
  kExecCreated = 18,
  kExecDestroy = 19,
  kNodeCloned = 20,
  kNodeUpdated = 22,
  kNodeSetParams = 23
};

bool ToolListens() {
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  return tool != nullptr && tool->resource != nullptr;
}

void Tell(int id, CUgraph graph, CUgraph original_graph, CUgraphNode node = nullptr,
          CUgraphNode original = nullptr, CUgraphExec exec = nullptr,
          CUgraphNode dependency = nullptr) {
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

CUgraph NewGraph() {
  auto* graph = new CUgraph_st;
  graph->id = next_graph_id++;
  return graph;
}

// ---- conditions ----

struct Condition {
  unsigned value = 0, start = 0;
  bool assign = false;
  uint64_t times_set = 0;  // by kernels
};

struct Conditions {
  std::mutex lock;
  std::map<CUgraphConditionalHandle, Condition> all;
  CUgraphConditionalHandle next = 0x10000;
};
Conditions& TheConditions() {
  static auto* const conditions = new Conditions;
  return *conditions;
}

Condition ConditionOf(CUgraphConditionalHandle handle) {
  Conditions& conditions = TheConditions();
  std::lock_guard guard(conditions.lock);
  return conditions.all[handle];
}

// XLA's own kernels that set condition variables are the only ones whose effect the fake knows
// (signatures: xla/stream_executor/cuda/command_buffer_kernels.cc). They read the memory that the
// host reads in plain mode, so both modes take the same branches.
//
//   set_if_condition, set_while_condition(handle, bool*)
//   set_if_else_condition(then, else, bool*)
//   set_for_condition(handle, int32*, int32 rounds)
//   set_case_condition(8 handles, void* index, bool index_is_bool, int32 first, int32 handles,
//                      bool last_is_default)
void RunConditionKernel(const NodeWork& work) {
  const std::string& name = work.function->image->name;
  if (!name.starts_with("set_") || !name.ends_with("_condition")) return;
  const auto& arguments = work.arguments;
  auto number = [&](size_t i) {
    uint64_t value = 0;
    if (i < arguments.size()) {
      std::memcpy(&value, arguments[i].data(), std::min<size_t>(8, arguments[i].size()));
    }
    return value;
  };
  const size_t handles = name == "set_case_condition" ? 8 : name == "set_if_else_condition" ? 2 : 1;
  auto* address = reinterpret_cast<char*>(number(handles));
  if (arguments.size() <= handles || !FindAllocation(address)) return;
  Conditions& conditions = TheConditions();
  auto set = [&](size_t i, bool value) {
    std::lock_guard guard(conditions.lock);
    const auto found = conditions.all.find(number(i));
    if (found == conditions.all.end()) return;
    found->second.value = value;
    ++found->second.times_set;
  };
  int32_t read = 0;
  if (name == "set_case_condition") {
    std::memcpy(&read, address, number(9) != 0 ? 1 : 4);
    const auto first = static_cast<int32_t>(number(10)), count = static_cast<int32_t>(number(11));
    int32_t chosen = read - first;
    if (number(12) != 0 && (read < 0 || chosen >= count)) chosen = count - 1;
    for (int32_t i = 0; i < std::min(count, 8); ++i) set(static_cast<size_t>(i), i == chosen);
  } else if (name == "set_for_condition") {
    std::memcpy(&read, address, sizeof read);
    const bool more = read < static_cast<int32_t>(number(2));
    set(0, more);
    read = more ? read + 1 : 0;
    std::memcpy(address, &read, sizeof read);
  } else {
    set(0, *address != 0);
    if (handles == 2) set(1, *address == 0);
  }
}

// ---- cloning ----

using NodeMap = std::unordered_map<CUgraphNode, CUgraphNode>;

// A deep copy of `from`, children and bodies included, told node by node.
CUgraph CloneGraph(CUgraph from, NodeMap* map, CUgraphNode owner) {
  CUgraph to = NewGraph();
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
  Tell(kExecCreateStarting, graph, nullptr, nullptr, nullptr, exec);
  exec->graph = CloneGraph(graph, &exec->nodes, nullptr);
  exec->id = exec->graph->id;
  if (!SortAll(exec, exec->graph)) return CUDA_ERROR_INVALID_VALUE;
  *out = exec;
  Tell(kExecCreated, exec->graph, graph, nullptr, nullptr, exec);
  return CUDA_SUCCESS;
}

// ---- launching ----

struct GraphRun {
  CUgraphExec exec;
  CUstream stream;
  Nanos end = 0;  // of everything so far
  uint64_t effect = 0;
  uint32_t correlation;
};

void RunGraph(GraphRun* run, CUgraph graph, Nanos start, Nanos* end);

// Start and end of `node`, whose dependencies end at `ready`.
Nanos RunNode(GraphRun* run, CUgraphNode node, Nanos ready) {
  const NodeWork& work = node->work;
  FakeGpuActivity activity{};
  activity.correlation = run->correlation;
  activity.device = static_cast<uint32_t>(run->stream->context->device);
  activity.context_id = run->stream->context->id;
  activity.stream_id = run->stream->id;
  activity.graph = run->exec->id;
  activity.original_graph = run->exec->source_graph_id;
  activity.node = node->id;
  activity.original_node = node->original_id;
  activity.created_node = node->created_id;
  activity.start = ready + Scaled(kNodeLatency);
  activity.queued = ready;
  Nanos duration = 0;
  switch (work.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      if (!node->enabled) return ready;
      activity.what = FAKE_GPU_KERNEL;
      const KernelImage& image = *work.function->image;
      activity.name = image.name.c_str();
      std::memcpy(activity.grid, work.shape.grid, sizeof activity.grid);
      std::memcpy(activity.block, work.shape.block, sizeof activity.block);
      std::memcpy(activity.cluster, work.shape.cluster, sizeof activity.cluster);
      activity.dynamic_smem = work.shape.dynamic_smem;
      activity.static_smem = image.static_smem;
      activity.registers = image.registers;
      activity.local_per_thread = image.local_per_thread;
      activity.launch_type = work.shape.type;
      duration = work.function->duration;
      RunConditionKernel(work);
      break;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (!node->enabled) return ready;
      Describe(work.copy, &activity);
      activity.asynchronous = 1;
      duration = CopyDuration(activity.copy_kind, activity.bytes);
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      if (!node->enabled) return ready;
      Describe(work.fill, &activity);
      activity.asynchronous = 1;
      duration = SetDuration(activity.bytes);
      break;
    case CU_GRAPH_NODE_TYPE_HOST: {
      const auto function = work.host;
      void* const data = work.host_data;
      run->effect = PostEffect(ready, [function, data] { function(data); });
      return ready;
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      Nanos end = ready;
      RunGraph(run, work.child, ready, &end);
      return end;
    }
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
      Nanos end = ready;
      if (work.condition_type == CU_GRAPH_COND_TYPE_WHILE) {
        // Ends when no kernel in the body has set the variable: nothing would ever end it.
        for (int round = 0; round < kMostRounds && ConditionOf(work.condition).value != 0;
             ++round) {
          const uint64_t before = ConditionOf(work.condition).times_set;
          RunGraph(run, work.bodies[0], end, &end);
          if (ConditionOf(work.condition).times_set == before) break;
        }
      } else {
        const unsigned value = ConditionOf(work.condition).value;
        size_t body = work.bodies.size();
        if (work.condition_type == CU_GRAPH_COND_TYPE_IF) {
          body = value != 0 ? 0 : 1;
        } else {
          body = value;
        }
        if (body < work.bodies.size()) RunGraph(run, work.bodies[body], end, &end);
      }
      return end;
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      run->effect = std::max(run->effect, work.event->effect);
      return std::max(ready, work.event->time);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      work.event->time = ready;
      work.event->effect = run->effect;
      work.event->recorded = true;
      return ready;
    default:
      return ready;
  }
  activity.end = activity.start + duration;
  {
    std::lock_guard guard(TimelineLock());
    const ThreadState& thread = Thread();
    LogActivity(activity, thread.id, thread.api);
  }
  ReportActivity(activity);
  if (work.type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    const Copy copy = work.copy;
    run->effect = std::max(run->effect, RunOrPostEffect(activity.end, [copy] { copy.Run(); }));
  } else if (work.type == CU_GRAPH_NODE_TYPE_MEMSET) {
    const Fill fill = work.fill;
    run->effect = std::max(run->effect, RunOrPostEffect(activity.end, [fill] { fill.Run(); }));
  }
  return activity.end;
}

void RunGraph(GraphRun* run, CUgraph graph, Nanos start, Nanos* end) {
  const auto& order = run->exec->order[graph];
  std::vector<Nanos> ends(graph->nodes.size(), start);
  *end = start;
  for (const CUgraphNode node : order) {
    Nanos ready = start;
    for (const CUgraphNode dependency : node->dependencies) {
      ready = std::max(ready, ends[dependency->position]);
    }
    ends[node->position] = RunNode(run, node, ready);
    *end = std::max(*end, ends[node->position]);
  }
}

// ---- parameters ----

CUresult FromKernel(CUfunction function, CUkernel kernel, CUcontext context, const unsigned* grid,
                    const unsigned* block, unsigned smem, void** arguments, NodeWork* work) {
  if (context == nullptr) context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  work->type = CU_GRAPH_NODE_TYPE_KERNEL;
  work->context = context;
  work->function =
      FindFunction(function != nullptr ? function : reinterpret_cast<CUfunction>(kernel), context);
  if (work->function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(work->shape.grid, grid, sizeof work->shape.grid);
  std::memcpy(work->shape.block, block, sizeof work->shape.block);
  work->shape.dynamic_smem = smem;
  work->arguments = CopyArguments(work->function, arguments);
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult FromKernelParams(const Params& p, CUkernel kernel, CUcontext context, NodeWork* work) {
  const unsigned grid[3] = {p.gridDimX, p.gridDimY, p.gridDimZ};
  const unsigned block[3] = {p.blockDimX, p.blockDimY, p.blockDimZ};
  return FromKernel(p.func, kernel, context, grid, block, p.sharedMemBytes, p.kernelParams, work);
}

CUresult FromCopyParams(const CUDA_MEMCPY3D& description, NodeWork* work) {
  work->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  work->copy_description = description;
  return FromDescription(description, &work->copy);
}

template <typename Params>
CUresult FromSetParams(const Params& p, NodeWork* work) {
  work->type = CU_GRAPH_NODE_TYPE_MEMSET;
  work->fill_description = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
  work->fill.target = reinterpret_cast<char*>(p.dst);
  work->fill.value = p.value;
  work->fill.element = p.elementSize;
  work->fill.width = p.width;
  work->fill.height = p.height;
  work->fill.pitch = p.pitch;
  return CUDA_SUCCESS;
}

// Everything that cuGraphAddNode and the generic SetParams take. Child graphs and bodies are made
// by the caller.
CUresult FromNodeParams(const CUgraphNodeParams& p, NodeWork* work) {
  work->type = p.type;
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return FromKernelParams(p.kernel, p.kernel.kern, p.kernel.ctx, work);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return FromCopyParams(p.memcpy.copyParams, work);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return FromSetParams(p.memset, work);
    case CU_GRAPH_NODE_TYPE_HOST:
      work->host = p.host.fn;
      work->host_data = p.host.userData;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      work->child = p.graph.graph;
      return Checked(p.graph.graph, kGraph) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      work->event = p.eventWait.event;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      work->event = p.eventRecord.event;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      work->condition = p.conditional.handle;
      work->condition_type = p.conditional.type;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      work->bytes = p.alloc.bytesize;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      work->pointer = p.free.dptr;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return CUDA_SUCCESS;
    default:
      return NotSupported("graph nodes of this type");
  }
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

CUresult Add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
             NodeWork work) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> checked;
  const CUresult valid = Dependencies(graph, dependencies, count, &checked);
  if (valid != CUDA_SUCCESS) return valid;
  if (work.child != nullptr) {
    NodeMap map;
    work.child = CloneGraph(work.child, &map, nullptr);
  }
  *out = AddNode(graph, std::move(checked), std::move(work));
  if ((*out)->work.child != nullptr) (*out)->work.child->owner = *out;
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

// Takes over parameters only; identity, children and place in the graph stay.
void Replace(NodeWork* target, NodeWork work) {
  work.child = target->child;
  work.bodies = target->bodies;
  work.attributes = target->attributes;
  if (work.type == CU_GRAPH_NODE_TYPE_KERNEL) {
    std::memcpy(work.shape.cluster, target->shape.cluster, sizeof work.shape.cluster);
    work.shape.type = target->shape.type;
  }
  *target = std::move(work);
}

CUresult SetInExec(CUgraphExec exec, CUgraphNode node, NodeWork work) {
  CUgraphNode copy = InExec(exec, node);
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (copy->work.type != work.type) return CUDA_ERROR_INVALID_VALUE;
  Replace(&copy->work, std::move(work));
  Tell(kNodeSetParams, copy->graph, node->graph, copy, node, exec);
  return CUDA_SUCCESS;
}

CUresult SetInGraph(CUgraphNode node, NodeWork work) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (node->work.type != work.type) return CUDA_ERROR_INVALID_VALUE;
  Replace(&node->work, std::move(work));
  Tell(kNodeUpdated, node->graph, nullptr, node);
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

}  // namespace

CUgraphNode AddNode(CUgraph graph, std::vector<CUgraphNode> dependencies, NodeWork work,
                    CUgraphNode original, bool told) {
  auto* node = new CUgraphNode_st;
  node->graph = graph;
  node->id = uint64_t{graph->id} << 32 | graph->next_node++;
  node->dependencies = std::move(dependencies);
  node->work = std::move(work);
  node->original_id = original != nullptr ? original->id : 0;
  node->created_id = original != nullptr ? original->created_id : node->id;
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

bool Captured(CUstream stream, NodeWork work) {
  if (stream->capture == nullptr) return false;
  stream->capture_front = {AddNode(stream->capture->graph, stream->capture_front, std::move(work))};
  return true;
}

std::vector<std::string> CopyArguments(CUfunction function, void** arguments) {
  std::vector<std::string> copied;
  if (arguments == nullptr) return copied;
  for (size_t i = 0; i < function->image->parameters.size(); ++i) {
    copied.emplace_back(static_cast<const char*>(arguments[i]),
                        function->image->parameters[i].size);
  }
  return copied;
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

// ---- nodes ----

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData*, size_t count, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  NodeWork work;
  const CUresult known = FromNodeParams(*params, &work);
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
  const CUresult added = Add(node, graph, dependencies, count, std::move(work));
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
  NodeWork work;
  const CUresult known = FromKernelParams(*params, params->kern, params->ctx, &work);
  return known == CUDA_SUCCESS ? Add(node, graph, dependencies, count, std::move(work)) : known;
}
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  NodeWork work;
  const CUresult known = FromKernelParams(*params, nullptr, nullptr, &work);
  return known == CUDA_SUCCESS ? Add(node, graph, dependencies, count, std::move(work)) : known;
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMCPY3D* params, CUcontext) {
  NodeWork work;
  const CUresult known = FromCopyParams(*params, &work);
  return known == CUDA_SUCCESS ? Add(node, graph, dependencies, count, std::move(work)) : known;
}
CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  NodeWork work;
  FromSetParams(*params, &work);
  return Add(node, graph, dependencies, count, std::move(work));
}
CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_HOST;
  work.host = params->fn;
  work.host_data = params->userData;
  return Add(node, graph, dependencies, count, std::move(work));
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

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext,
                                        unsigned int value, unsigned int flags) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Conditions& conditions = TheConditions();
  std::lock_guard guard(conditions.lock);
  *handle = conditions.next++;
  conditions.all[*handle] = {value, value, (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0, 0};
  return CUDA_SUCCESS;
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

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  if (Checked(node, kNode) == nullptr || node->work.function == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  *params = {};
  const LaunchShape& shape = node->work.shape;
  params->func = node->work.function;
  params->gridDimX = shape.grid[0], params->gridDimY = shape.grid[1],
  params->gridDimZ = shape.grid[2];
  params->blockDimX = shape.block[0], params->blockDimY = shape.block[1],
  params->blockDimZ = shape.block[2];
  params->sharedMemBytes = shape.dynamic_smem;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = node->work.copy_description;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = node->work.fill_description;
  return CUDA_SUCCESS;
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = {node->work.host, node->work.host_data};
  return CUDA_SUCCESS;
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = {};
  params->bytesize = node->work.bytes;
  params->dptr = node->work.pointer;
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       const CUkernelNodeAttrValue* value) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node->work.attributes[id] = *value;
  if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    node->work.shape.cluster[0] = value->clusterDim.x;
    node->work.shape.cluster[1] = value->clusterDim.y;
    node->work.shape.cluster[2] = value->clusterDim.z;
  } else if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
    node->work.shape.type = value->cooperative != 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       CUkernelNodeAttrValue* value) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = node->work.attributes[id];
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  if (Checked(to, kNode) == nullptr || Checked(from, kNode) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  to->work.attributes = from->work.attributes;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  NodeWork work;
  const CUresult known = FromNodeParams(*params, &work);
  return known == CUDA_SUCCESS ? SetInGraph(node, std::move(work)) : known;
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  NodeWork work;
  const CUresult known = FromKernelParams(*params, params->kern, params->ctx, &work);
  return known == CUDA_SUCCESS ? SetInGraph(node, std::move(work)) : known;
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  NodeWork work;
  const CUresult known = FromCopyParams(*params, &work);
  return known == CUDA_SUCCESS ? SetInGraph(node, std::move(work)) : known;
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  NodeWork work;
  FromSetParams(*params, &work);
  return SetInGraph(node, std::move(work));
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_HOST;
  work.host = params->fn;
  work.host_data = params->userData;
  return SetInGraph(node, std::move(work));
}

// ---- executable graphs ----

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

CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  if (Checked(exec, kExec) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUstream stream = FindStream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  {
    Conditions& conditions = TheConditions();
    std::lock_guard guard(conditions.lock);
    for (auto& [id, condition] : conditions.all) {
      if (condition.assign) condition.value = condition.start;
    }
  }
  GraphRun run{exec, stream};
  run.correlation = Thread().correlation;
  uint64_t effect = 0;
  const Nanos start = std::max(StreamReady(stream, &effect), Now() + Scaled(4000));
  // The stream is taken until the end, which is known only after all nodes have their place.
  Nanos end = start;
  RunGraph(&run, exec->graph, start, &end);
  Join(stream, end, std::max(run.effect, effect));
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  if (tool != nullptr && tool->graph_launch != nullptr) {
    FakeGpuGraphLaunch launch{run.correlation,
                              exec->id,
                              static_cast<uint32_t>(stream->context->device),
                              stream->context->id,
                              stream->id,
                              start,
                              end};
    tool->graph_launch(&launch);
  }
  if (end > Now() + 100'000'000) SleepUntil(end - 100'000'000);
  return CUDA_SUCCESS;
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
  NodeWork work;
  const CUresult known = FromKernelParams(*params, params->kern, params->ctx, &work);
  return known == CUDA_SUCCESS ? SetInExec(exec, node, std::move(work)) : known;
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  NodeWork work;
  const CUresult known = FromKernelParams(*params, nullptr, nullptr, &work);
  return known == CUDA_SUCCESS ? SetInExec(exec, node, std::move(work)) : known;
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* params, CUcontext) {
  NodeWork work;
  const CUresult known = FromCopyParams(*params, &work);
  return known == CUDA_SUCCESS ? SetInExec(exec, node, std::move(work)) : known;
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  NodeWork work;
  FromSetParams(*params, &work);
  return SetInExec(exec, node, std::move(work));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  NodeWork work;
  work.type = CU_GRAPH_NODE_TYPE_HOST;
  work.host = params->fn;
  work.host_data = params->userData;
  return SetInExec(exec, node, std::move(work));
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  NodeWork work;
  const CUresult known = FromNodeParams(*params, &work);
  return known == CUDA_SUCCESS ? SetInExec(exec, node, std::move(work)) : known;
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

// ---- capture ----

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
