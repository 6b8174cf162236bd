// SPDX-License-Identifier: Apache-2.0

// Graphs: made node by node or by capture, launched, changed.
#include <mutex>

#include "workload/device_steps.h"
#include "workload/range_steps.h"

namespace fakegpu {

void DeviceSteps::Fill(const Step& step, CUDA_KERNEL_NODE_PARAMS* params) {
  unsigned grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
  place_.Triple(step, "grid", grid);
  place_.Triple(step, "block", block);
  params->func = Function(step, place_.Word(step, 1));
  params->gridDimX = grid[0], params->gridDimY = grid[1], params->gridDimZ = grid[2];
  params->blockDimX = block[0], params->blockDimY = block[1], params->blockDimZ = block[2];
  params->sharedMemBytes = static_cast<unsigned>(place_.Option(step, "smem", 0));
}

// "graph NAME { launch ...; copy dtod N; set N; thunk ... { ... } }": one node after another.
void DeviceSteps::AddNodes(const std::vector<Step>& steps, Graph* graph) {
  for (const Step& step : steps) {
    const std::string& what = step.words[0];
    std::vector<CUgraphNode> before;
    if (!graph->nodes.empty() && place_.Option(step, "after") != "none")
      before.push_back(graph->nodes.back());
    CUgraphNode node = nullptr;
    if (what == "launch") {
      CUDA_KERNEL_NODE_PARAMS params{};
      Fill(step, &params);
      CHECK(CU(cuGraphAddKernelNode)(&node, graph->graph, before.data(), before.size(), &params));
    } else if (what == "copy") {
      CUDA_MEMCPY3D params{};
      params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      params.srcDevice = Memory(step, place_.device, 'a');
      params.dstDevice = Memory(step, place_.device, 'b');
      params.WidthInBytes = static_cast<size_t>(place_.Number(step, 2));
      params.Height = params.Depth = 1;
      CHECK(CU(cuGraphAddMemcpyNode)(&node, graph->graph, before.data(), before.size(), &params,
                                     program_.contexts[place_.device]));
    } else if (what == "set") {
      CUDA_MEMSET_NODE_PARAMS params{};
      params.dst = Memory(step, place_.device, 'a');
      params.elementSize = 1;
      params.width = static_cast<size_t>(place_.Number(step, 1));
      params.height = 1;
      CHECK(CU(cuGraphAddMemsetNode)(&node, graph->graph, before.data(), before.size(), &params,
                                     program_.contexts[place_.device]));
    } else if (what == "child") {
      Graph child;
      CHECK(CU(cuGraphCreate)(&child.graph, 0));
      AddNodes(step.body, &child);
      CHECK(CU(cuGraphAddChildGraphNode)(&node, graph->graph, before.data(), before.size(),
                                         child.graph));
      CHECK(CU(cuGraphDestroy)(child.graph));
    } else if (IsRange(step)) {
      PushOf(place_, step);
      AddNodes(step.body, graph);
      PopOf(place_, step);
      continue;
    } else {
      Fail(step, "no node");
    }
    graph->nodes.push_back(node);
  }
}

void DeviceSteps::RunCaptured(const std::vector<Step>& steps) {
  for (Step step : steps) {
    if (IsRange(step)) {
      PushOf(place_, step);
      RunCaptured(step.body);
      PopOf(place_, step);
    } else {
      step.words.insert(step.words.end(), {"on", capture_});
      if (!Run(step)) Fail(step, "nothing that a stream captures");
    }
  }
}

void DeviceSteps::MakeGraph(const Step& step) {
  NeedDevice(step);
  Graph graph;
  if (place_.Option(step, "by") == "capture") {
    CUstream stream = Stream(step, "capture of " + place_.Word(step, 1));
    CHECK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    capture_ = "capture of " + place_.Word(step, 1);
    RunCaptured(step.body);
    CHECK(CU(cuStreamEndCapture)(stream, &graph.graph));
  } else {
    CHECK(CU(cuGraphCreate)(&graph.graph, 0));
    AddNodes(step.body, &graph);
  }
  CHECK(CU(cuGraphInstantiate)(&graph.exec, graph.graph, 0));
  std::lock_guard guard(program_.lock);
  program_.graphs[place_.Word(step, 1)] = graph;
}

Graph& DeviceSteps::FindGraph(const Step& step) {
  std::lock_guard guard(program_.lock);
  const auto found = program_.graphs.find(place_.Word(step, 1));
  if (found == program_.graphs.end()) Fail(step, "no such graph");
  return found->second;
}

// "update G 2 launch name ...": gives node 2 (from 0) new parameters, as XLA does in place.
void DeviceSteps::Update(const Step& step) {
  NeedDevice(step);
  Graph& graph = FindGraph(step);
  const auto index = static_cast<size_t>(place_.Number(step, 2));
  if (index >= graph.nodes.size()) Fail(step, "no such node");
  Step inner = step;
  inner.words.erase(inner.words.begin() + 1, inner.words.begin() + 4);  // name, index, "launch"
  CUDA_KERNEL_NODE_PARAMS params{};
  Fill(inner, &params);
  CHECK(CU(cuGraphExecKernelNodeSetParams)(graph.exec, graph.nodes[index], &params));
}

bool DeviceSteps::RunGraph(const Step& step) {
  const std::string& what = step.words[0];
  if (what == "graph") {
    MakeGraph(step);
  } else if (what == "run") {
    NeedDevice(step);
    Graph& graph = FindGraph(step);
    CUstream stream = Stream(step, place_.Option(step, "on"));
    for (long i = place_.Option(step, "x", 1); i > 0; --i) {
      CHECK(CU(cuGraphLaunch)(graph.exec, stream));
      Pace();
    }
  } else if (what == "update") {
    Update(step);
  } else if (what == "enable" || what == "disable") {
    Graph& graph = FindGraph(step);
    CHECK(CU(cuGraphNodeSetEnabled)(
        graph.exec, graph.nodes.at(static_cast<size_t>(place_.Number(step, 2))), what == "enable"));
  } else if (what == "destroy") {
    Graph& graph = FindGraph(step);
    CHECK(CU(cuGraphExecDestroy)(graph.exec));
    CHECK(CU(cuGraphDestroy)(graph.graph));
    std::lock_guard guard(program_.lock);
    program_.graphs.erase(place_.Word(step, 1));
  } else {
    return false;
  }
  return true;
}

}  // namespace fakegpu
