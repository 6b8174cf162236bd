// SPDX-License-Identifier: Apache-2.0

// The offsets in record_layout.h against NVIDIA's headers. Nothing of this is in the library.

#include <cuda.h>
#include <cupti.h>

#include <cstddef>

#include "collector/record_layout.h"

namespace xlatrace::collector {
namespace {

template <typename T>
constexpr size_t Bytes(Field<T>) {
  return sizeof(T);
}

#define XLATRACE_SAME(record, member, field)                                               \
  static_assert(offsetof(record, member) == (field).offset, #record "." #member " moved"); \
  static_assert(sizeof(record::member) == Bytes(field), #record "." #member " has another size")

using Kernel = CUpti_ActivityKernel9;
XLATRACE_SAME(Kernel, registersPerThread, kernel::kRegisters);
XLATRACE_SAME(Kernel, start, kernel::kStart);
XLATRACE_SAME(Kernel, end, kernel::kEnd);
XLATRACE_SAME(Kernel, deviceId, kernel::kDevice);
XLATRACE_SAME(Kernel, contextId, kernel::kContext);
XLATRACE_SAME(Kernel, streamId, kernel::kStream);
XLATRACE_SAME(Kernel, gridX, kernel::kGridX);
XLATRACE_SAME(Kernel, gridY, kernel::kGridY);
XLATRACE_SAME(Kernel, gridZ, kernel::kGridZ);
XLATRACE_SAME(Kernel, blockX, kernel::kBlockX);
XLATRACE_SAME(Kernel, blockY, kernel::kBlockY);
XLATRACE_SAME(Kernel, blockZ, kernel::kBlockZ);
XLATRACE_SAME(Kernel, staticSharedMemory, kernel::kStaticShared);
XLATRACE_SAME(Kernel, dynamicSharedMemory, kernel::kDynamicShared);
XLATRACE_SAME(Kernel, localMemoryPerThread, kernel::kLocalPerThread);
XLATRACE_SAME(Kernel, localMemoryTotal, kernel::kLocalTotal);
XLATRACE_SAME(Kernel, correlationId, kernel::kCorrelation);
XLATRACE_SAME(Kernel, name, kernel::kName);
XLATRACE_SAME(Kernel, launchType, kernel::kLaunchType);
XLATRACE_SAME(Kernel, sharedMemoryExecuted, kernel::kSharedExecuted);
XLATRACE_SAME(Kernel, graphNodeId, kernel::kGraphNode);
XLATRACE_SAME(Kernel, shmemLimitConfig, kernel::kSharedLimit);
XLATRACE_SAME(Kernel, graphId, kernel::kGraph);
XLATRACE_SAME(Kernel, clusterX, kernel::kClusterX);
XLATRACE_SAME(Kernel, clusterY, kernel::kClusterY);
XLATRACE_SAME(Kernel, clusterZ, kernel::kClusterZ);
XLATRACE_SAME(Kernel, localMemoryTotal_v2, kernel::kLocalTotal64);
XLATRACE_SAME(Kernel, maxActiveClusters, kernel::kMaxActiveClusters);

using Memcpy = CUpti_ActivityMemcpy5;
XLATRACE_SAME(Memcpy, copyKind, memcpy_record::kCopyKind);
XLATRACE_SAME(Memcpy, srcKind, memcpy_record::kSourceKind);
XLATRACE_SAME(Memcpy, dstKind, memcpy_record::kDestinationKind);
XLATRACE_SAME(Memcpy, flags, memcpy_record::kFlags);
XLATRACE_SAME(Memcpy, bytes, memcpy_record::kBytes);
XLATRACE_SAME(Memcpy, start, memcpy_record::kStart);
XLATRACE_SAME(Memcpy, end, memcpy_record::kEnd);
XLATRACE_SAME(Memcpy, deviceId, memcpy_record::kDevice);
XLATRACE_SAME(Memcpy, contextId, memcpy_record::kContext);
XLATRACE_SAME(Memcpy, streamId, memcpy_record::kStream);
XLATRACE_SAME(Memcpy, correlationId, memcpy_record::kCorrelation);
XLATRACE_SAME(Memcpy, graphNodeId, memcpy_record::kGraphNode);
XLATRACE_SAME(Memcpy, graphId, memcpy_record::kGraph);

using Peer = CUpti_ActivityMemcpyPtoP4;
XLATRACE_SAME(Peer, copyKind, memcpy_record::kCopyKind);
XLATRACE_SAME(Peer, bytes, memcpy_record::kBytes);
XLATRACE_SAME(Peer, start, memcpy_record::kStart);
XLATRACE_SAME(Peer, end, memcpy_record::kEnd);
XLATRACE_SAME(Peer, deviceId, memcpy_record::kDevice);
XLATRACE_SAME(Peer, contextId, memcpy_record::kContext);
XLATRACE_SAME(Peer, streamId, memcpy_record::kStream);
XLATRACE_SAME(Peer, srcDeviceId, peer::kSourceDevice);
XLATRACE_SAME(Peer, dstDeviceId, peer::kDestinationDevice);
XLATRACE_SAME(Peer, correlationId, peer::kCorrelation);
XLATRACE_SAME(Peer, graphNodeId, peer::kGraphNode);
XLATRACE_SAME(Peer, graphId, peer::kGraph);

using Memset = CUpti_ActivityMemset4;
XLATRACE_SAME(Memset, bytes, memset_record::kBytes);
XLATRACE_SAME(Memset, start, memset_record::kStart);
XLATRACE_SAME(Memset, end, memset_record::kEnd);
XLATRACE_SAME(Memset, deviceId, memset_record::kDevice);
XLATRACE_SAME(Memset, contextId, memset_record::kContext);
XLATRACE_SAME(Memset, streamId, memset_record::kStream);
XLATRACE_SAME(Memset, correlationId, memset_record::kCorrelation);
XLATRACE_SAME(Memset, memoryKind, memset_record::kMemoryKind);
XLATRACE_SAME(Memset, graphNodeId, memset_record::kGraphNode);
XLATRACE_SAME(Memset, graphId, memset_record::kGraph);

using Graph = CUpti_ActivityGraphTrace;
XLATRACE_SAME(Graph, correlationId, graph_trace::kCorrelation);
XLATRACE_SAME(Graph, start, graph_trace::kStart);
XLATRACE_SAME(Graph, end, graph_trace::kEnd);
XLATRACE_SAME(Graph, deviceId, graph_trace::kDevice);
XLATRACE_SAME(Graph, graphId, graph_trace::kGraph);
XLATRACE_SAME(Graph, contextId, graph_trace::kContext);
XLATRACE_SAME(Graph, streamId, graph_trace::kStream);

using Device = CUpti_ActivityDevice4;
XLATRACE_SAME(Device, globalMemoryBandwidth, device::kBandwidthKb);
XLATRACE_SAME(Device, globalMemorySize, device::kMemoryBytes);
XLATRACE_SAME(Device, l2CacheSize, device::kL2Bytes);
XLATRACE_SAME(Device, numThreadsPerWarp, device::kWarpSize);
XLATRACE_SAME(Device, coreClockRate, device::kClockKhz);
XLATRACE_SAME(Device, numMultiprocessors, device::kSmCount);
XLATRACE_SAME(Device, maxWarpsPerMultiprocessor, device::kWarpsPerSm);
XLATRACE_SAME(Device, maxBlocksPerMultiprocessor, device::kBlocksPerSm);
XLATRACE_SAME(Device, maxSharedMemoryPerMultiprocessor, device::kSharedPerSm);
XLATRACE_SAME(Device, maxRegistersPerMultiprocessor, device::kRegistersPerSm);
XLATRACE_SAME(Device, maxRegistersPerBlock, device::kRegistersPerBlock);
XLATRACE_SAME(Device, maxSharedMemoryPerBlock, device::kSharedPerBlock);
XLATRACE_SAME(Device, maxThreadsPerBlock, device::kThreadsPerBlock);
XLATRACE_SAME(Device, computeCapabilityMajor, device::kComputeMajor);
XLATRACE_SAME(Device, computeCapabilityMinor, device::kComputeMinor);
XLATRACE_SAME(Device, id, device::kId);
static_assert(offsetof(Device, uuid) == device::kUuidOffset);
XLATRACE_SAME(Device, name, device::kName);
XLATRACE_SAME(Device, isMigEnabled, device::kIsMig);
static_assert(offsetof(Device, migUuid) == device::kMigUuidOffset);

using Context = CUpti_ActivityContext;
XLATRACE_SAME(Context, contextId, context::kContext);
XLATRACE_SAME(Context, deviceId, context::kDevice);
XLATRACE_SAME(Context, nullStreamId, context::kNullStream);

using Stream = CUpti_ActivityStream;
XLATRACE_SAME(Stream, contextId, stream::kContext);
XLATRACE_SAME(Stream, streamId, stream::kStream);
XLATRACE_SAME(Stream, priority, stream::kPriority);
XLATRACE_SAME(Stream, flag, stream::kFlag);

using Overhead = CUpti_ActivityOverhead;
XLATRACE_SAME(Overhead, overheadKind, overhead::kKind);
XLATRACE_SAME(Overhead, objectKind, overhead::kObjectKind);
XLATRACE_SAME(Overhead, start, overhead::kStart);
XLATRACE_SAME(Overhead, end, overhead::kEnd);
XLATRACE_SAME(CUpti_ActivityOverhead3, overheadData, overhead::kData);
static_assert(offsetof(Overhead, objectId) + 4 == overhead::kThread.offset);

}  // namespace
}  // namespace xlatrace::collector
