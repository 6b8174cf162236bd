// SPDX-License-Identifier: Apache-2.0

// Records in the layout of the simulated release: filled as CUDA 13.0 has them, or newer by hand,
// and cut to the release's size.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <sys/syscall.h>

#include "cupti/state.h"

namespace fakegpu::cupti {
namespace {

template <typename T>
Record Make(uint32_t kind, const T& full, Nanos ready) {
  Record record;
  record.kind = kind;
  record.ready = ready;
  record.size = static_cast<uint16_t>(RecordSize(kind));
  std::memset(record.bytes, 0, sizeof record.bytes);
  std::memcpy(record.bytes, &full, sizeof full);
  return record;
}

template <typename T>
void Put(Record* record, size_t at, T value) {
  std::memcpy(record->bytes + at, &value, sizeof value);
}

uint32_t ThreadId() {
  static thread_local uint32_t system = static_cast<uint32_t>(syscall(SYS_gettid));
  return TheState().thread_id_type.load(std::memory_order_relaxed) ==
                 CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
             ? system
             : static_cast<uint32_t>(pthread_self());
}

uint32_t ProcessId() { return static_cast<uint32_t>(TheState().owner); }

// With a timestamp callback, CUPTI 12.6 to 13.0 gave device records no times.
bool TimesAreLost() {
  return TheState().timestamp.load(std::memory_order_relaxed) != nullptr && ApiVersion() >= 24 &&
         ApiVersion() <= 130001;
}

}  // namespace

Record FromActivity(const FakeGpuActivity& a) {
  const uint32_t correlation = CorrelationOn() ? a.correlation : 0;
  const Nanos start = TimesAreLost() ? 0 : a.start;
  const Nanos end = TimesAreLost() ? 0 : a.end;
  Record record;
  if (a.what == FAKE_GPU_KERNEL) {
    CUpti_ActivityKernel10 k{};
    k.kind = TheState().kinds.Has(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                 ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                 : CUPTI_ACTIVITY_KIND_KERNEL;
    k.registersPerThread = static_cast<uint16_t>(a.registers);
    k.start = start;
    k.end = k.completed = end;
    k.deviceId = a.device;
    k.contextId = a.context_id;
    k.streamId = a.stream_id;
    k.gridX = static_cast<int>(a.grid[0]);
    k.gridY = static_cast<int>(a.grid[1]);
    k.gridZ = static_cast<int>(a.grid[2]);
    k.blockX = static_cast<int>(a.block[0]);
    k.blockY = static_cast<int>(a.block[1]);
    k.blockZ = static_cast<int>(a.block[2]);
    k.staticSharedMemory = static_cast<int>(a.static_smem);
    k.dynamicSharedMemory = static_cast<int>(a.dynamic_smem);
    k.localMemoryPerThread = a.local_per_thread;
    const uint64_t local = uint64_t{a.local_per_thread} * 132 * 2048;
    k.localMemoryTotal = static_cast<uint32_t>(std::min<uint64_t>(local, 0xffffffff));
    k.localMemoryTotal_v2 = local;
    k.correlationId = correlation;
    k.gridId = static_cast<int64_t>(a.grid_id);
    k.name = a.name;
    if (TheState().latency) {
      k.queued = a.queued;
      k.submitted = a.queued + (a.start - a.queued) / 2;
    }
    k.launchType = static_cast<uint8_t>(a.launch_type);
    // The carve-out holds one block at least.
    k.sharedMemoryExecuted = a.dynamic_smem + a.static_smem > 48 * 1024 ? 233472 : 102400;
    k.graphNodeId = a.node;
    k.shmemLimitConfig =
        a.dynamic_smem > 48 * 1024 ? CUPTI_FUNC_SHMEM_LIMIT_OPTIN : CUPTI_FUNC_SHMEM_LIMIT_DEFAULT;
    k.graphId = a.graph;
    k.channelID = 10 + a.stream_id;
    k.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
    k.clusterX = a.cluster[0];
    k.clusterY = a.cluster[1];
    k.clusterZ = a.cluster[2];
    record = Make(k.kind, k, a.end);
    record.start_at = offsetof(CUpti_ActivityKernel10, start);
    record.end_at = offsetof(CUpti_ActivityKernel10, end);
    record.correlation_at = offsetof(CUpti_ActivityKernel10, correlationId);
    // Kernel13 of CUDA 13.4; the places are those of derive_layouts.py.
    Put<uint32_t>(&record, 232, static_cast<uint32_t>(a.original_node >> 32));
    Put<uint64_t>(&record, 240, a.original_node);
  } else if (a.what == FAKE_GPU_MEMCPY && a.peer == 0) {
    CUpti_ActivityMemcpy6 m{};
    m.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    m.copyKind = static_cast<uint8_t>(a.copy_kind);
    m.srcKind = static_cast<uint8_t>(a.source_kind);
    m.dstKind = static_cast<uint8_t>(a.target_kind);
    m.flags = a.asynchronous != 0 ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
    m.bytes = a.bytes;
    m.start = start;
    m.end = end;
    m.deviceId = a.device;
    m.contextId = a.context_id;
    m.streamId = a.stream_id;
    m.correlationId = correlation;
    m.graphNodeId = a.node;
    m.graphId = a.graph;
    m.channelID = 2;
    m.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
    m.copyCount = ApiVersion() >= 26 ? 1 : 0;
    record = Make(m.kind, m, a.end);
    record.start_at = offsetof(CUpti_ActivityMemcpy6, start);
    record.end_at = offsetof(CUpti_ActivityMemcpy6, end);
    record.correlation_at = offsetof(CUpti_ActivityMemcpy6, correlationId);
    Put<uint32_t>(&record, 96, static_cast<uint32_t>(a.original_node >> 32));
    Put<uint64_t>(&record, 104, a.original_node);
  } else if (a.what == FAKE_GPU_MEMCPY) {
    CUpti_ActivityMemcpyPtoP4 m{};
    m.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    m.copyKind = static_cast<uint8_t>(a.copy_kind);
    m.srcKind = static_cast<uint8_t>(a.source_kind);
    m.dstKind = static_cast<uint8_t>(a.target_kind);
    m.flags = a.asynchronous != 0 ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
    m.bytes = a.bytes;
    m.start = start;
    m.end = end;
    m.deviceId = a.device;
    m.contextId = a.context_id;
    m.streamId = a.stream_id;
    m.srcDeviceId = a.source_device;
    m.srcContextId = a.source_context_id;
    m.dstDeviceId = a.target_device;
    m.dstContextId = a.target_context_id;
    m.correlationId = correlation;
    m.graphNodeId = a.node;
    m.graphId = a.graph;
    m.channelID = 3;
    m.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
    record = Make(m.kind, m, a.end);
    record.start_at = offsetof(CUpti_ActivityMemcpyPtoP4, start);
    record.end_at = offsetof(CUpti_ActivityMemcpyPtoP4, end);
    record.correlation_at = offsetof(CUpti_ActivityMemcpyPtoP4, correlationId);
  } else {
    CUpti_ActivityMemset4 m{};
    m.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    m.value = a.value;
    m.bytes = a.bytes;
    m.start = start;
    m.end = end;
    m.deviceId = a.device;
    m.contextId = a.context_id;
    m.streamId = a.stream_id;
    m.correlationId = correlation;
    m.flags = a.asynchronous != 0 ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
    m.memoryKind = static_cast<uint16_t>(a.target_kind);
    m.graphNodeId = a.node;
    m.graphId = a.graph;
    m.channelID = 10 + a.stream_id;
    m.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
    record = Make(m.kind, m, a.end);
    record.start_at = offsetof(CUpti_ActivityMemset4, start);
    record.end_at = offsetof(CUpti_ActivityMemset4, end);
    record.correlation_at = offsetof(CUpti_ActivityMemset4, correlationId);
    Put<uint32_t>(&record, 88, static_cast<uint32_t>(a.original_node >> 32));
    Put<uint64_t>(&record, 96, a.original_node);
  }
  record.started_counts = true;
  return record;
}

Record FromCall(const FakeGpuCall& call) {
  CUpti_ActivityAPI a{};
  a.kind =
      call.domain == FAKE_GPU_RUNTIME ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  a.cbid = call.cbid;
  a.start = call.start;
  a.end = call.end;
  a.processId = ProcessId();
  a.threadId = ThreadId();
  a.correlationId = call.correlation;
  a.returnValue = static_cast<uint32_t>(call.result);
  return Make(a.kind, a, call.end);
}

Record FromGraphLaunch(const FakeGpuGraphLaunch& launch) {
  CUpti_ActivityGraphTrace2 g{};
  g.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  g.correlationId = CorrelationOn() ? launch.correlation : 0;
  g.start = launch.start;
  g.end = launch.end;
  g.deviceId = g.endDeviceId = launch.device;
  g.graphId = launch.graph;
  g.contextId = g.endContextId = launch.context_id;
  g.streamId = launch.stream_id;
  Record record = Make(g.kind, g, launch.end);
  record.start_at = offsetof(CUpti_ActivityGraphTrace2, start);
  record.end_at = offsetof(CUpti_ActivityGraphTrace2, end);
  return record;
}

Record FromSync(const FakeGpuSync& sync) {
  CUpti_ActivitySynchronization2 s{};
  s.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  s.type = static_cast<CUpti_ActivitySynchronizationType>(sync.type);
  s.start = sync.start;
  s.end = sync.end;
  s.correlationId = CorrelationOn() ? sync.correlation : 0;
  s.contextId = sync.context_id;
  s.streamId = sync.stream_id;
  s.cudaEventId = sync.event_id;
  return Make(s.kind, s, sync.end);
}

Record FromEvent(const FakeGpuEvent& event) {
  CUpti_ActivityCudaEvent2 e{};
  e.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  e.correlationId = CorrelationOn() ? event.correlation : 0;
  e.contextId = event.context_id;
  e.streamId = event.stream_id;
  e.eventId = event.event_id;
  e.deviceId = event.device;
  return Make(e.kind, e, event.time);
}

Record Overhead(int kind, Nanos start, Nanos end, uint32_t correlation) {
  CUpti_ActivityOverhead3 o{};
  o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  o.overheadKind = static_cast<CUpti_ActivityOverheadKind>(kind);
  o.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  o.objectId.pt.processId = ProcessId();
  o.objectId.pt.threadId = ThreadId();
  o.start = start;
  o.end = end;
  o.correlationId = correlation;
  Record record = Make(o.kind, o, end);
  record.start_at = offsetof(CUpti_ActivityOverhead3, start);
  record.end_at = offsetof(CUpti_ActivityOverhead3, end);
  return record;
}

Record ExternalCorrelation(int kind, uint64_t id, uint32_t correlation) {
  CUpti_ActivityExternalCorrelation e{};
  e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  e.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
  e.externalId = id;
  e.correlationId = correlation;
  return Make(e.kind, e, 0);
}

Record DeviceRecord(int device) {
  const FakeGpuTable& gpu = *TheState().gpu;
  auto limit = [&](int attribute) {
    return static_cast<uint32_t>(gpu.device_attribute(device, attribute));
  };
  char name[64];
  gpu.device_name(device, name, sizeof name);
  CUpti_ActivityDevice5 d{};
  d.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  d.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
  d.globalMemoryBandwidth = 3352320000;  // kB/s: 5,120 bits at 2,619 MHz, twice per clock
  d.globalMemorySize = gpu.device_memory(device);
  d.constantMemorySize = limit(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  d.l2CacheSize = limit(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  d.numThreadsPerWarp = 32;
  d.coreClockRate = limit(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  d.numMemcpyEngines = limit(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  d.numMultiprocessors = limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  d.maxIPC = 4;
  d.maxWarpsPerMultiprocessor = 64;
  d.maxBlocksPerMultiprocessor = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  d.maxSharedMemoryPerMultiprocessor =
      limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  d.maxRegistersPerMultiprocessor = limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  d.maxRegistersPerBlock = limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  d.maxSharedMemoryPerBlock = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  d.maxThreadsPerBlock = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  d.maxBlockDimX = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  d.maxBlockDimY = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  d.maxBlockDimZ = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  d.maxGridDimX = limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  d.maxGridDimY = limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  d.maxGridDimZ = limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  d.computeCapabilityMajor = 9;
  d.id = static_cast<uint32_t>(device);
  d.eccEnabled = 1;
  unsigned char uuid[16];
  gpu.device_uuid(device, uuid);
  std::memcpy(&d.uuid, uuid, sizeof uuid);
  d.name = strdup(name);  // the tool's to free
  d.isCudaVisible = 1;
  if (std::strstr(name, " MIG ") != nullptr) {
    // The driver's UUID is that of the slice.
    d.isMigEnabled = 1;
    std::memcpy(&d.migUuid, uuid, sizeof uuid);
    d.uuid.bytes[0] = 'X';
  }
  return Make(d.kind, d, 0);
}

Record ContextRecord(const FakeGpuContextInfo& context) {
  CUpti_ActivityContext3 c{};
  c.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  c.contextId = context.id;
  c.deviceId = context.device;
  c.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  c.nullStreamId = static_cast<uint16_t>(context.null_stream_id);
  if (ApiVersion() >= 23) c.numMultiprocessors = 132;
  return Make(c.kind, c, 0);
}

Record StreamRecord(const FakeGpuStreamInfo& stream) {
  CUpti_ActivityStream s{};
  s.kind = CUPTI_ACTIVITY_KIND_STREAM;
  s.contextId = stream.context_id;
  s.streamId = stream.id;
  s.priority = static_cast<uint32_t>(stream.priority);
  s.flag = stream.id == 7 ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
           : (stream.flags & CU_STREAM_NON_BLOCKING) != 0
               ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
               : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  s.correlationId = TheState().gpu->correlation();
  return Make(s.kind, s, 0);
}

Record ModuleRecord(uint32_t context_id, uint32_t id, const void* cubin, size_t size) {
  CUpti_ActivityModule m{};
  m.kind = CUPTI_ACTIVITY_KIND_MODULE;
  m.contextId = context_id;
  m.id = id;
  m.cubinSize = static_cast<uint32_t>(size);
  m.cubin = cubin;
  return Make(m.kind, m, 0);
}

}  // namespace fakegpu::cupti
