// SPDX-License-Identifier: Apache-2.0

// Common parts of the graph implementation (graph.cc, graph_params.cc, graph_exec.cc,
// graph_launch.cc, capture.cc); no other file includes it.
#ifndef FAKE_GPU_DRIVER_GRAPH_PARTS_H_
#define FAKE_GPU_DRIVER_GRAPH_PARTS_H_

#include <unordered_map>
#include <vector>

#include "driver/graph.h"

namespace fakegpu {

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

// Reports to the tool.
void Tell(int id, CUgraph graph, CUgraph original_graph, CUgraphNode node = nullptr,
          CUgraphNode original = nullptr, CUgraphExec exec = nullptr,
          CUgraphNode dependency = nullptr);

uint32_t NextGraphId();
CUgraph NewGraph(uint32_t id = 0);  // 0: the next one
void DestroyGraph(CUgraph graph, bool told);

using NodeMap = std::unordered_map<CUgraphNode, CUgraphNode>;
// A deep copy of `from`, with children and bodies, reported node by node.
CUgraph CloneGraph(CUgraph from, NodeMap* map, CUgraphNode owner, uint32_t id = 0);

// Checks that `nodes` belong to `graph` and appends them.
CUresult Dependencies(CUgraph graph, const CUgraphNode* nodes, size_t count,
                      std::vector<CUgraphNode>* out);

// The work that CUDA's parameter structs describe.
CUresult FromParams(const CUDA_KERNEL_NODE_PARAMS& params, NodeWork* work);
CUresult FromParams(const CUDA_KERNEL_NODE_PARAMS_v1& params, NodeWork* work);
CUresult FromParams(const CUDA_MEMCPY3D& params, NodeWork* work);
CUresult FromParams(const CUDA_MEMSET_NODE_PARAMS& params, NodeWork* work);
CUresult FromParams(const CUDA_HOST_NODE_PARAMS& params, NodeWork* work);
// All of them. Child graphs and bodies are made by the caller.
CUresult FromParams(const CUgraphNodeParams& params, NodeWork* work);

// Takes over parameters only; identity, children and place in the graph stay.
void Replace(NodeWork* target, NodeWork work);

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_GRAPH_PARTS_H_
