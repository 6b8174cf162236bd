// SPDX-License-Identifier: Apache-2.0

// Small JSON traces for tests, and a temporary file to read them from.

#ifndef XLATRACE_TESTS_IMPORTERS_TRACE_JSON_H_
#define XLATRACE_TESTS_IMPORTERS_TRACE_JSON_H_

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>

namespace xlatrace::importers {

// Bytes as a file that is gone when the object is.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("trace", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written <= 0) std::abort();
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Two kernels, a copy, a memset, their calls, ranges, a step, and what is only counted.
inline std::string KinetoTrace() {
  return R"json({
"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0,
  "numSms": 132, "warpSize": 32, "maxThreadsPerMultiprocessor": 2048}],
"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
"cuda_runtime_version": 12040,
"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 10, "tid": 11,
 "ts": 1000.000, "dur": 500.5, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 11, "ts": 1001.25, "dur": 20,
 "args": {"stream": 7, "Input Dims": [[2, 2], []]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 1002,
 "dur": 5.125, "args": {"correlation": 41}},
{"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 10, "tid": 11, "ts": 1010,
 "dur": 5, "args": {"correlation": 42}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaGetDevice", "pid": 10, "tid": 11, "ts": 1011,
 "dur": 1, "args": {"correlation": 90}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 10, "tid": 11,
 "ts": 1020, "dur": 9, "args": {"correlation": 91}},
{"ph": "s", "id": 41, "pid": 10, "tid": 11, "ts": 1002, "cat": "ac2g", "name": "ac2g"},
{"ph": "f", "id": 41, "pid": 0, "tid": 7, "ts": 1030.064, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "void gemm<float, (anonymous namespace)::T>(float*, \"x\")",
 "pid": 0, "tid": 7, "ts": 1030.064, "dur": 3.136, "args": {"External id": 9, "queued": 0,
 "device": 0, "context": 1, "stream": 7, "correlation": 41, "registers per thread": 32,
 "shared memory": 1024, "grid": [564, 2, 1], "block": [128, 1, 1],
 "est. achieved occupancy %": 27}},
{"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 1033.2, "dur": 0.8,
 "args": {"device": 0, "context": 1, "stream": 7, "correlation": 42, "graph id": 5,
 "graph node id": 21474836481, "grid": [1, 1, 1], "block": [32, 1, 1]}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 20,
 "ts": 1031, "dur": 2.001, "args": {"device": 0, "context": 1, "stream": 20, "correlation": 43,
 "bytes": 4096, "memory bandwidth (GB/s)": Infinity}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 1040,
 "dur": 1, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 44, "bytes": 8}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 1041, "dur": 9,
 "args": {"stream": 7, "correlation": 45, "device": 0}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#7", "pid": 0, "tid": 7, "ts": 1030,
 "dur": 11},
{"ph": "X", "cat": "python_function", "name": "a.py(1): f", "pid": 10, "tid": 11, "ts": 1000,
 "dur": 400, "args": {"Python id": 1}},
{"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "ts": 999, "args": {"name": "python3"}},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch",
 "ts": 900, "dur": 900}
],
"traceName": "/tmp/\\\"x\\\"/t.json",
"displayTimeUnit": "ms",
"baseTimeNanoseconds": 1751410836000000000
})json";
}

// As XProf writes a GPU and the host beside it; times as it prints doubles.
inline std::string XprofTrace() {
  return R"json({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
{"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(compute)"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"M","pid":701,"tid":5,"name":"thread_name","args":{"name":"python"}},
{"ph":"X","pid":701,"tid":5,"ts":20,"dur":900,"name":"train","args":{"step_num":"4"}},
{"ph":"X","pid":701,"tid":5,"ts":22.963000000000001,"dur":10.5,"name":"cuLaunchKernelEx",
 "args":{"correlation_id":"77"}},
{"ph":"X","pid":1,"tid":13,"ts":667.06399999999996,"dur":0.40100000000000002,"name":"loop_fusion_3",
 "args":{"correlation_id":"77","hlo_op":"loop_fusion.3","hlo_module":"jit_f","program_id":"9",
 "run_id":"12","name":"jvp(g)/mul","prefix":"jit(f)",
 "kernel_details":"regs:2191500840 static_shared:0 dynamic_shared:0 grid:8,1,1 block:64,1,1"}},
{"ph":"X","pid":1,"tid":13,"ts":668,"dur":1,"name":"MemcpyD2H",
 "args":{"correlation_id":"78","memcpy_details":"kind_src:device kind_dst:pinned size:64 dest:0"}},
{"ph":"X","pid":1,"tid":1,"ts":667,"dur":1,"name":"loop_fusion.3"},
{"ph":"X","pid":701,"tid":5,"ts":700,"dur":1,"name":"dot.1","args":{"hlo_op":"dot.1",
 "hlo_module":"jit_h","program_id":"10","run_id":"3","device_ordinal":"0"}},
{"ph":"X","pid":701,"tid":5,"ts":700,"dur":0.1,"name":"end: dot.1","args":{"hlo_op":"dot.1"}}
]})json";
}

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_TRACE_JSON_H_
