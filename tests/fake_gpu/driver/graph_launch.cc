// SPDX-License-Identifier: Apache-2.0

// Running an executable graph on the timeline, and the condition variables of its loops and
// branches.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "driver/call.h"
#include "driver/graph_parts.h"
#include "driver/predicates.h"
#include "driver/timeline.h"
#include "driver/truth_log.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

constexpr double kNodeLatency = 900;  // from a node's last dependency to its start
constexpr int kMostRounds = 100'000;  // of a loop in a graph, should its condition never end it

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

// The fake simulates the effect of only one kind of kernel: XLA's own kernels that set condition
// variables (signatures: xla/stream_executor/cuda/command_buffer_kernels.cc). They read the memory
// that the host reads in plain mode, so both modes take the same branches.
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
    const size_t bytes = number(9) != 0 ? 1 : 4;
    std::memcpy(&read, address, bytes);
    read = NextDecision(bytes).value_or(read);
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
    const bool value = NextDecision(1).value_or(*address) != 0;
    set(0, value);
    if (handles == 2) set(1, !value);
  }
}

struct GraphRun {
  CUgraphExec exec;
  CUstream stream;
  Nanos end = 0;  // end of all work so far
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
      duration = LaunchDuration(work.function->duration);
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
    LogActivity(activity, thread.id, thread.api, node->label.c_str());
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

}  // namespace

namespace impl {

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext,
                                        unsigned int value, unsigned int flags) {
  if (Checked(graph, kGraph) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Conditions& conditions = TheConditions();
  std::lock_guard guard(conditions.lock);
  *handle = conditions.next++;
  conditions.all[*handle] = {value, value, (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0, 0};
  return CUDA_SUCCESS;
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

}  // namespace impl
}  // namespace fakegpu
