// SPDX-License-Identifier: Apache-2.0
/* The fake driver's private table: how the other fakes (CUPTI, the CUDA runtime, cuBLAS and their
 * like) couple to the fake libcuda.so.1. The collector under test never sees it.
 *
 *   static const CUuuid id = FAKE_GPU_TABLE_ID;
 *   const FakeGpuTable* gpu = 0;
 *   cuGetExportTable((const void**)&gpu, &id);     // CUDA_ERROR_NOT_FOUND on a real driver
 *
 * All functions may be called from any thread. Plain C; strings live as long as the process unless
 * stated otherwise. Times are nanoseconds of CLOCK_REALTIME.
 *
 * A fake runtime library marks its calls. Tools then get one RUNTIME call and none of its driver
 * calls, and all its activities have the runtime call's correlation id. (A tool that has not
 * requested this runtime call gets the driver calls inside it instead.)
 *
 *   FakeGpuCall call = {FAKE_GPU_RUNTIME, CBID, "cudaLaunchKernel", &params, "kernel_name"};
 *   gpu->enter(&call);                              // nests: only the outermost call counts
 *   result = cuLaunchKernel(...);                   // silent
 *   gpu->exit(&call, result_as_int);
 */
#ifndef FAKE_GPU_FAKE_GPU_H_
#define FAKE_GPU_FAKE_GPU_H_

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_GPU_TABLE_ID                                                                     \
  {                                                                                           \
    {                                                                                         \
      (char)0x78, (char)0x6c, (char)0x61, (char)0x74, (char)0x72, (char)0x61, (char)0x63,     \
          (char)0x65, (char)0x2d, (char)0x66, (char)0x61, (char)0x6b, (char)0x65, (char)0x67, \
          (char)0x70, (char)0x75                                                              \
    }                                                                                         \
  }

enum { FAKE_GPU_DRIVER = 1, FAKE_GPU_RUNTIME = 2 };

/* One API call; lives on the caller's stack from enter to exit. */
typedef struct FakeGpuCall {
  int domain;         /* FAKE_GPU_DRIVER or FAKE_GPU_RUNTIME. */
  uint32_t cbid;      /* From cupti_driver_cbid.h or cupti_runtime_cbid.h. */
  const char* name;   /* "cuLaunchKernel", "cudaLaunchKernel". */
  const void* params; /* The NAME_params struct of NVIDIA's generated headers, or null. */
  const char* symbol; /* Kernel name for launches, else null. */
  /* Filled by the driver: */
  int counted; /* 0: nested in another call, or not reported. */
  int result;  /* CUresult or cudaError_t, valid at exit. */
  uint32_t correlation;
  uint32_t context_id; /* 0: none current. */
  CUcontext context;
  uint64_t start, end;
  uint64_t user_data; /* Kept for the tool between enter and exit. */
} FakeGpuCall;

enum { FAKE_GPU_KERNEL = 1, FAKE_GPU_MEMCPY = 2, FAKE_GPU_MEMSET = 3 };

/* One execution on the device. Known when it is issued, because nothing is computed. */
typedef struct FakeGpuActivity {
  int what;
  uint32_t device, context_id, stream_id, correlation;
  uint64_t start, end, queued;
  uint64_t node;          /* 0 unless from a graph; upper half: id of the graph that holds it. */
  uint64_t original_node; /* The node it was cloned from at instantiation. */
  uint64_t created_node;  /* The first node of that chain: the one created by the program. */
  uint32_t graph;         /* Id of the launched executable graph. */
  uint32_t original_graph;
  /* kernels */
  const char* name;
  uint32_t grid[3], block[3], cluster[3];
  uint32_t dynamic_smem, static_smem, registers, local_per_thread;
  uint64_t grid_id;
  int launch_type; /* 0 regular, 1 cooperative. */
  /* copies and sets */
  uint64_t bytes;
  int copy_kind;                /* CUpti_ActivityMemcpyKind. */
  int source_kind, target_kind; /* CUpti_ActivityMemoryKind. */
  int asynchronous;
  uint32_t value; /* Memset. */
  int peer;       /* MEMCPY2: between two devices. */
  uint32_t source_device, source_context_id, target_device, target_context_id;
} FakeGpuActivity;

/* One launch of an executable graph; announced before its nodes' activities. */
typedef struct FakeGpuGraphLaunch {
  uint32_t correlation, graph, device, context_id, stream_id;
  uint64_t start, end;
} FakeGpuGraphLaunch;

enum {
  FAKE_GPU_SYNC_EVENT = 1,
  FAKE_GPU_SYNC_STREAM_WAIT = 2,
  FAKE_GPU_SYNC_STREAM = 3,
  FAKE_GPU_SYNC_CONTEXT = 4
}; /* CUpti_ActivitySynchronizationType */

typedef struct FakeGpuSync {
  int type;
  uint32_t correlation, context_id, stream_id, event_id;
  uint64_t start, end;
  CUcontext context;
  CUstream stream;
} FakeGpuSync;

/* cuEventRecord on a stream; not while the stream is captured. */
typedef struct FakeGpuEvent {
  uint32_t correlation, device, context_id, stream_id, event_id;
  uint64_t time; /* when the device reaches the event */
} FakeGpuEvent;

/* An event of an object; `id` is the CUPTI_CBID_RESOURCE_* number. Valid during the call. */
typedef struct FakeGpuResource {
  int id;
  uint32_t correlation;
  CUcontext context;
  CUstream stream;
  uint32_t module_id;
  const void* cubin;
  size_t cubin_size;
  CUgraph graph, original_graph;
  CUgraphNode node, original_node, dependency;
  int node_type;
  CUgraphExec exec;
} FakeGpuResource;

/* Callbacks of a tool (the fake CUPTI). Any function may be null. Called without driver locks. */
typedef struct FakeGpuTool {
  size_t size;
  void (*enter)(FakeGpuCall*);
  void (*exit)(FakeGpuCall*);
  void (*activity)(const FakeGpuActivity*);
  void (*graph_launch)(const FakeGpuGraphLaunch*);
  void (*sync)(const FakeGpuSync*);
  void (*resource)(const FakeGpuResource*);
  void (*event)(const FakeGpuEvent*);
} FakeGpuTool;

typedef struct FakeGpuContextInfo {
  CUcontext handle;
  uint32_t id, device;
  uint32_t null_stream_id;
} FakeGpuContextInfo;

typedef struct FakeGpuStreamInfo {
  CUstream handle;
  uint32_t id, context_id;
  int priority;
  unsigned flags;
} FakeGpuStreamInfo;

typedef struct FakeGpuTable {
  size_t size; /* Size of this struct; a newer one has more at its end */

  /* Tools. */
  void (*set_tool)(const FakeGpuTool* tool); /* must stay valid for ever; null takes it away */
  void (*want_call)(int domain, uint32_t cbid, int wanted);
  int (*initialized)(void); /* cuInit has succeeded */

  /* Fake runtimes. */
  void (*enter)(FakeGpuCall* call);
  void (*exit)(FakeGpuCall* call, int result);
  /* A kernel without a binary, for library code: works in every context, as CUkernel and, cast, as
   * CUfunction. The same name and figures give the same kernel. */
  CUkernel (*named_kernel)(const char* name, uint32_t registers, uint32_t static_smem);

  /* Ids as a tool shows them; 0 for an unknown handle. */
  uint32_t (*context_id)(CUcontext);
  uint32_t (*stream_id)(CUcontext, CUstream, int per_thread);
  uint32_t (*graph_id)(CUgraph);
  uint32_t (*graph_exec_id)(CUgraphExec);
  uint64_t (*graph_node_id)(CUgraphNode);
  uint32_t (*device_of_context)(CUcontext);
  CUcontext (*current_context)(void);
  uint32_t (*correlation)(void); /* Id of the current call of this thread, 0 outside */

  /* Each returns how many there are and fills at most `room`. */
  int (*device_count)(void);
  int (*device_attribute)(CUdevice device, int attribute);
  void (*device_name)(CUdevice device, char* name, int room);
  void (*device_uuid)(CUdevice device, unsigned char uuid[16]);
  size_t (*device_memory)(CUdevice device);
  int (*contexts)(FakeGpuContextInfo* out, int room);
  int (*streams)(FakeGpuStreamInfo* out, int room);

  /* A line for the fake's own journal (FAKE_GPU_LOG.PID.notes and, with FAKE_GPU_VERBOSE=1,
   * stderr): misuse seen, functions not supported, faults injected. */
  void (*note)(const char* text);

  /* Name of a launch in the truth log: the result of `label` on the launching thread ("": none).
   * The result is valid until the thread's next call of it. A graph node keeps the label of its
   * creation, and so do its clones. Null: no labels. */
  void (*set_label_source)(const char* (*label)(void));
} FakeGpuTable;

#ifdef __cplusplus
}
#endif

#endif /* FAKE_GPU_FAKE_GPU_H_ */
