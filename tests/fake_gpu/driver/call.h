// SPDX-License-Identifier: Apache-2.0

// The frame around every exported driver function. It rejects calls before cuInit and after fork,
// injects faults, numbers calls (correlation ids) and reports them to the tool.
#ifndef FAKE_GPU_DRIVER_CALL_H_
#define FAKE_GPU_DRIVER_CALL_H_

#include <atomic>
#include <cstdint>

#include "fake_gpu.h"

#define FAKE_GPU_EXPORT __attribute__((visibility("default")))

namespace fakegpu {

inline constexpr int kUnchecked = 1;        // works before cuInit, not reported to tools
inline constexpr int kPerThreadStream = 2;  // stream 0 means this thread's stream (_ptsz, _ptds)

// One row per exported function, written by generate_api.py; what cuGetProcAddress searches.
struct Function {
  const char* symbol;  // "cuMemAlloc_v2"
  const char* base;    // "cuMemAlloc"
  int version;         // CUDA version that brought this form: 3020
  bool per_thread;     // the _ptsz or _ptds form
  void* address;
};
extern const Function kFunctions[];
extern const int kFunctionCount;

struct Graph;

// Data of the driver per thread. Lives on the heap until the process ends.
struct ThreadState {
  uint32_t id = 0;                 // The thread id of the system (gettid).
  int depth = 0;                   // API calls this thread is inside of.
  bool in_tool = false;            // Inside a tool's callback: its calls are not reported.
  bool in_untold_runtime = false;  // Inside a runtime call that no tool requested.
  bool per_thread_stream = false;  // Per-thread mode of the innermost driver call.
  uint32_t correlation = 0;
  const char* api = "";  // Name of the outermost call.
  int capture_mode = 0;
  CUcontext contexts[32] = {};  // Stack of current contexts.
  int context_count = 0;
};
ThreadState& Thread();

// Bit per callback id; written by the tool through want_call.
extern std::atomic<uint64_t> wanted_driver_calls[16];
extern std::atomic<uint64_t> wanted_runtime_calls[16];
extern std::atomic<const FakeGpuTool*> installed_tool;
extern std::atomic<bool> faults_planned;

class Call {
 public:
  Call(int index, uint32_t cbid, const char* name, int flags)
      : thread_(Thread()), frame_{FAKE_GPU_DRIVER, cbid, name} {
    saved_per_thread_ = thread_.per_thread_stream;
    thread_.per_thread_stream = (flags & kPerThreadStream) != 0;
    Begin(index, flags, thread_.depth++ == 0);
  }
  ~Call() {
    --thread_.depth;
    thread_.per_thread_stream = saved_per_thread_;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // False: return result() at once.
  bool go() const { return !failed_ || observed_; }
  bool observed() const { return observed_; }
  bool failed() const { return failed_; }
  CUresult result() const { return result_; }
  void set_result(CUresult result) { result_ = result; }
  void Enter(const void* params);
  void Exit();

 private:
  void Begin(int index, int flags, bool outermost);

  ThreadState& thread_;
  FakeGpuCall frame_;
  CUresult result_ = CUDA_SUCCESS;
  bool observed_ = false;
  bool failed_ = false;
  bool saved_per_thread_;
};

// Notes the call and returns CUDA_ERROR_NOT_SUPPORTED.
CUresult NotSupported(const char* name);

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_CALL_H_
