// SPDX-License-Identifier: Apache-2.0

// Graphs, their nodes and executable graphs; also what stream capture builds.
#ifndef FAKE_GPU_DRIVER_GRAPH_H_
#define FAKE_GPU_DRIVER_GRAPH_H_

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/memory.h"
#include "driver/objects.h"

namespace fakegpu {

struct LaunchShape {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {0, 0, 0};
  uint32_t dynamic_smem = 0;
  int type = 0;  // CUpti_ActivityLaunchType
};

// The work of one node. Only the members of its type are used.
struct NodeWork {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUcontext context = nullptr;
  CUfunction function = nullptr;
  LaunchShape shape;
  std::map<int, CUlaunchAttributeValue> attributes;
  // Argument values, copied if the image has their sizes; the input of a set-condition kernel.
  std::vector<std::string> arguments;
  Copy copy;
  CUDA_MEMCPY3D copy_description{};
  Fill fill;
  CUDA_MEMSET_NODE_PARAMS fill_description{};
  CUhostFn host = nullptr;
  void* host_data = nullptr;
  CUevent event = nullptr;
  CUdeviceptr pointer = 0;  // allocation and free nodes
  size_t bytes = 0;
  CUgraph child = nullptr;
  CUgraphConditionalHandle condition = 0;
  CUgraphConditionalNodeType condition_type = CU_GRAPH_COND_TYPE_IF;
  std::vector<CUgraph> bodies;
};

// Adds a node and reports it to the tool. `original`: set if it is a clone.
CUgraphNode AddNode(CUgraph graph, std::vector<CUgraphNode> dependencies, NodeWork work,
                    CUgraphNode original = nullptr, bool told = true);

// A capture under way: work issued to its streams becomes nodes of `graph`.
struct Capture {
  CUgraph graph = nullptr;
  CUstream origin = nullptr;
  uint64_t id = 0;
  bool to_existing = false;
  bool invalid = false;
  std::vector<CUstream> streams;
};

// When `stream` is being captured, makes a node of `work` and returns true.
bool Captured(CUstream stream, NodeWork work);

// Values of a kernel's arguments, if the image has their sizes.
std::vector<std::string> CopyArguments(CUfunction function, void** arguments);

// Runs `work` of no graph on a stream now.
CUresult LaunchNow(CUstream stream, CUfunction function, const LaunchShape& shape);
void CopyNow(CUstream stream, const Copy& copy, bool asynchronous);
void FillNow(CUstream stream, const Fill& fill, bool asynchronous);

}  // namespace fakegpu

struct CUgraphNode_st {
  uint32_t mark = fakegpu::kNode;
  uint64_t id = 0;  // Upper half: the graph's id.
  CUgraph graph = nullptr;
  bool enabled = true;
  std::vector<CUgraphNode> dependencies;
  fakegpu::NodeWork work;
  uint64_t original_id = 0;  // The node it was cloned from, 0 when created by the program.
  uint64_t created_id = 0;   // The first of the chain of clones.
  uint32_t position = 0;     // Scratch: place in the graph.
  std::string label;         // Label in the truth log, from its creation.
};

struct CUgraph_st {
  uint32_t mark = fakegpu::kGraph;
  uint32_t id = 0;
  uint32_t original_id = 0;
  uint32_t next_node = 1;
  std::vector<CUgraphNode> nodes;
  CUgraphNode owner = nullptr;                          // the node whose child or body it is
  std::unordered_map<CUgraphNode, CUgraphNode> clones;  // of a cuGraphClone: original -> ours
  std::vector<CUuserObject> user_objects;
};

struct CUgraphExec_st {
  uint32_t mark = fakegpu::kExec;
  uint32_t id = 0;          // the id of `graph`
  CUgraph graph = nullptr;  // its own copy
  uint32_t source_graph_id = 0;
  CUcontext context = nullptr;
  cuuint64_t flags = 0;
  // Nodes of the graph it was made from, nested ones too -> nodes of its copy.
  std::unordered_map<CUgraphNode, CUgraphNode> nodes;
  // Copies in an order that respects dependencies.
  std::unordered_map<CUgraph, std::vector<CUgraphNode>> order;
};

#endif  // FAKE_GPU_DRIVER_GRAPH_H_
