// SPDX-License-Identifier: Apache-2.0
#include "driver/call.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include <sys/syscall.h>

#include "common/scenario.h"
#include "driver/life.h"
#include "driver/objects.h"
#include "driver/timeline.h"
#include "driver/truth_log.h"

namespace fakegpu {

std::atomic<uint64_t> wanted_driver_calls[16];
std::atomic<uint64_t> wanted_runtime_calls[16];
std::atomic<const FakeGpuTool*> installed_tool{nullptr};
std::atomic<bool> faults_planned{false};

namespace {

std::atomic<uint32_t> next_correlation{1};

// Read once per process, before the first call of a driver function.
bool ReadScenario() {
  static const bool read = [] {
    faults_planned = Scenario::Get().HasFaultsFor("cu");
    next_correlation =
        static_cast<uint32_t>(Scenario::Get().Number({"driver", "first", "correlation"}, 1));
    return true;
  }();
  return read;
}

// The counter wraps; 0 stands for no call.
uint32_t NextCorrelation() {
  const uint32_t next = next_correlation.fetch_add(1, std::memory_order_relaxed);
  return next != 0 ? next : next_correlation.fetch_add(1, std::memory_order_relaxed);
}

bool Wanted(const std::atomic<uint64_t>* bits, uint32_t cbid) {
  return cbid < 1024 && (bits[cbid / 64].load(std::memory_order_relaxed) >> (cbid % 64) & 1) != 0;
}

void TellEnter(FakeGpuCall* frame, ThreadState& thread) {
  frame->correlation = thread.correlation;
  frame->context = CurrentContext();
  frame->context_id = frame->context != nullptr ? frame->context->id : 0;
  frame->start = Now();
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  if (tool != nullptr && tool->enter != nullptr) {
    thread.in_tool = true;
    tool->enter(frame);
    thread.in_tool = false;
  }
}

void TellExit(FakeGpuCall* frame, ThreadState& thread) {
  frame->end = Now();
  frame->context = CurrentContext();
  frame->context_id = frame->context != nullptr ? frame->context->id : 0;
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  if (tool != nullptr && tool->exit != nullptr) {
    thread.in_tool = true;
    tool->exit(frame);
    thread.in_tool = false;
  }
}

// The kernel's name, for the calls whose parameters begin with or hold a function.
const char* SymbolOf(uint32_t cbid, const void* params) {
  if (params == nullptr) return nullptr;
  CUfunction function = nullptr;
  switch (cbid) {
    case 307:
    case 442:
    case 477:
    case 478:  // cuLaunchKernel, cuLaunchCooperativeKernel, _ptsz
      std::memcpy(&function, params, sizeof function);
      break;
    case 652:
    case 653:  // cuLaunchKernelEx: config, function
      std::memcpy(&function, static_cast<const char*>(params) + sizeof(void*), sizeof function);
      break;
    default:
      return nullptr;
  }
  if (function == nullptr) return nullptr;
  if (function->mark == kFunction) return function->image->name.c_str();
  auto* kernel = reinterpret_cast<CUkernel>(function);
  return kernel->mark == kKernel ? kernel->image->name.c_str() : nullptr;
}

}  // namespace

namespace {

// States of threads that are gone, for those to come.
struct Idle {
  std::mutex lock;
  std::vector<ThreadState*> states;
};
Idle& TheIdle() {
  static auto* const idle = new Idle;
  return *idle;
}

// No destructor: a tool may call in after the thread's other destructors have run.
thread_local ThreadState* thread_state = nullptr;

struct ThreadEnd {
  ~ThreadEnd() {
    if (thread_state == nullptr) return;
    std::lock_guard guard(TheIdle().lock);
    TheIdle().states.push_back(thread_state);
    thread_state = nullptr;
  }
};

ThreadState& NewThread() {
  static thread_local ThreadEnd end;
  (void)end;
  // A fork child's only thread is another one than its parent's.
  static const int once = pthread_atfork(nullptr, nullptr, [] {
    if (thread_state != nullptr) thread_state->id = static_cast<uint32_t>(syscall(SYS_gettid));
  });
  (void)once;
  {
    std::lock_guard guard(TheIdle().lock);
    if (!TheIdle().states.empty()) {
      thread_state = TheIdle().states.back();
      TheIdle().states.pop_back();
      *thread_state = {};
    }
  }
  if (thread_state == nullptr) thread_state = new ThreadState;
  thread_state->id = static_cast<uint32_t>(syscall(SYS_gettid));
  return *thread_state;
}

}  // namespace

ThreadState& Thread() {
  if (thread_state == nullptr) [[unlikely]] {
    return NewThread();
  }
  return *thread_state;
}

void Call::Begin(int, int flags, bool outermost) {
  ReadScenario();
  if ((flags & kUnchecked) == 0) {
    const CUresult refused = LifeState();
    if (refused != CUDA_SUCCESS) {
      failed_ = true;
      result_ = refused;
      return;
    }
  }
  if (faults_planned.load(std::memory_order_relaxed)) {
    if (const Fault* fault = Scenario::Get().Hit(frame_.name)) {
      failed_ = true;
      result_ = static_cast<CUresult>(fault->error);
      Note("%s fails with %d, as the scenario says", frame_.name, fault->error);
    }
  }
  if (thread_.in_tool) return;
  if (!outermost) {
    // A tool that listens to the driver alone, as XLA's tracer does, sees what the runtime calls.
    observed_ = thread_.in_untold_runtime && thread_.depth == 2 && (flags & kUnchecked) == 0 &&
                Wanted(wanted_driver_calls, frame_.cbid);
    return;
  }
  thread_.correlation = NextCorrelation();
  thread_.api = frame_.name;
  observed_ = (flags & kUnchecked) == 0 && Wanted(wanted_driver_calls, frame_.cbid);
}

void Call::Enter(const void* params) {
  frame_.params = params;
  frame_.symbol = SymbolOf(frame_.cbid, params);
  frame_.counted = 1;
  TellEnter(&frame_, thread_);
}

void Call::Exit() {
  frame_.result = static_cast<int>(result_);
  TellExit(&frame_, thread_);
}

void EnterRuntime(FakeGpuCall* call) {
  ThreadState& thread = Thread();
  call->counted = 0;
  if (thread.depth++ != 0 || thread.in_tool) return;
  thread.correlation = NextCorrelation();
  thread.api = call->name;
  call->correlation = thread.correlation;
  thread.in_untold_runtime = !Wanted(wanted_runtime_calls, call->cbid);
  if (thread.in_untold_runtime) return;
  call->counted = 1;
  TellEnter(call, thread);
}

void ExitRuntime(FakeGpuCall* call, int result) {
  ThreadState& thread = Thread();
  call->result = result;
  if (call->counted != 0) TellExit(call, thread);
  if (--thread.depth == 0) thread.in_untold_runtime = false;
}

CUresult NotSupported(const char* name) {
  Note("%s is not supported", name);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace fakegpu
