// SPDX-License-Identifier: Apache-2.0

// Parameters of nodes: CUDA's parameter structs are read, returned and changed.
#include <algorithm>
#include <cstring>

#include "driver/call.h"
#include "driver/graph_parts.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

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

CUresult SetInGraph(CUgraphNode node, NodeWork work) {
  if (Checked(node, kNode) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (node->work.type != work.type) return CUDA_ERROR_INVALID_VALUE;
  Replace(&node->work, std::move(work));
  Tell(kNodeUpdated, node->graph, nullptr, node);
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult SetInGraphFrom(CUgraphNode node, const Params& from) {
  NodeWork work;
  const CUresult known = FromParams(from, &work);
  return known == CUDA_SUCCESS ? SetInGraph(node, std::move(work)) : known;
}

}  // namespace

CUresult FromParams(const CUDA_KERNEL_NODE_PARAMS& params, NodeWork* work) {
  return FromKernelParams(params, params.kern, params.ctx, work);
}
CUresult FromParams(const CUDA_KERNEL_NODE_PARAMS_v1& params, NodeWork* work) {
  return FromKernelParams(params, nullptr, nullptr, work);
}
CUresult FromParams(const CUDA_MEMCPY3D& params, NodeWork* work) {
  work->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  work->copy_description = params;
  return FromDescription(params, &work->copy);
}
CUresult FromParams(const CUDA_MEMSET_NODE_PARAMS& params, NodeWork* work) {
  return FromSetParams(params, work);
}
CUresult FromParams(const CUDA_HOST_NODE_PARAMS& params, NodeWork* work) {
  work->type = CU_GRAPH_NODE_TYPE_HOST;
  work->host = params.fn;
  work->host_data = params.userData;
  return CUDA_SUCCESS;
}

CUresult FromParams(const CUgraphNodeParams& p, NodeWork* work) {
  work->type = p.type;
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return FromKernelParams(p.kernel, p.kernel.kern, p.kernel.ctx, work);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return FromParams(p.memcpy.copyParams, work);
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
  return SetInGraphFrom(node, *params);
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return SetInGraphFrom(node, *params);
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  return SetInGraphFrom(node, *params);
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  return SetInGraphFrom(node, *params);
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return SetInGraphFrom(node, *params);
}

}  // namespace impl
}  // namespace fakegpu
