// SPDX-License-Identifier: Apache-2.0
#include "driver/life.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "common/scenario.h"
#include "driver/call.h"
#include "driver/objects.h"
#include "driver/timeline.h"
#include "driver/truth_log.h"
#include "fake_gpu_api.h"

namespace fakegpu {
namespace {

enum State { kFresh, kReady, kForkChild };
std::atomic<int> state{kFresh};
std::mutex* init_lock = new std::mutex;
thread_local bool inside_init = false;

// A process that was forked after cuInit has no device, as with the real driver.
void InForkChild() {
  if (state.load() != kReady) return;
  state = kForkChild;
  installed_tool = nullptr;
  Thread().depth = 0;
}

// Loads the library that CUDA_INJECTION64_PATH names and calls its entry, once per process. The
// real driver takes an empty value for none, complains about a path it cannot load, and goes on.
void LoadInjection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "fake GPU: CUDA_INJECTION64_PATH: %s\n", dlerror());
    return;
  }
  auto entry = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (entry == nullptr) {
    std::fprintf(stderr, "fake GPU: CUDA_INJECTION64_PATH: %s has no InitializeInjection\n", path);
    return;
  }
  const int answer = entry();
  Note("InitializeInjection of %s returned %d", path, answer);
}

}  // namespace

CUresult LifeState() {
  switch (state.load(std::memory_order_acquire)) {
    case kReady:
      return CUDA_SUCCESS;
    case kFresh:
      return inside_init ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
    default:
      return CUDA_ERROR_NOT_INITIALIZED;
  }
}

void ReportResource(FakeGpuResource resource) {
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  if (tool == nullptr || tool->resource == nullptr) return;
  ThreadState& thread = Thread();
  resource.correlation = thread.correlation;
  if (resource.context == nullptr) resource.context = CurrentContext();
  const bool was = thread.in_tool;
  thread.in_tool = true;
  tool->resource(&resource);
  thread.in_tool = was;
}

void ReportSync(FakeGpuSync sync) {
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  if (tool == nullptr || tool->sync == nullptr) return;
  ThreadState& thread = Thread();
  sync.correlation = thread.correlation;
  const bool was = thread.in_tool;
  thread.in_tool = true;
  tool->sync(&sync);
  thread.in_tool = was;
}

void ReportEvent(FakeGpuEvent event) {
  const FakeGpuTool* tool = installed_tool.load(std::memory_order_acquire);
  if (tool == nullptr || tool->event == nullptr) return;
  ThreadState& thread = Thread();
  event.correlation = thread.correlation;
  const bool was = thread.in_tool;
  thread.in_tool = true;
  tool->event(&event);
  thread.in_tool = was;
}

namespace impl {

CUresult cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (state == kForkChild) return CUDA_ERROR_NOT_INITIALIZED;
  if (state == kReady || inside_init) return CUDA_SUCCESS;
  std::lock_guard guard(*init_lock);
  if (state == kReady) return CUDA_SUCCESS;
  if (DeviceCount() == 0) return CUDA_ERROR_NO_DEVICE;
  inside_init = true;
  pthread_atfork(nullptr, nullptr, InForkChild);
  if (!Scenario::Get().Has({"driver", "no", "injection"})) LoadInjection();
  state = kReady;
  inside_init = false;
  FakeGpuResource done{};
  done.id = 5;  // CUPTI_CBID_RESOURCE_CU_INIT_FINISHED
  ReportResource(done);
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const char* text = std::getenv("FAKE_GPU_DRIVER_VERSION");
  *version = text != nullptr && *text != '\0' ? std::atoi(text) : CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static const CUuuid ours = FAKE_GPU_TABLE_ID;
  if (std::memcmp(id, &ours, sizeof ours) == 0) {
    *table = PrivateTable();
    return CUDA_SUCCESS;
  }
  char text[33];
  for (int i = 0; i < 16; ++i) {
    std::snprintf(text + 2 * i, 3, "%02x", static_cast<unsigned char>(id->bytes[i]));
  }
  Note("cuGetExportTable: no table %s", text);
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *address = nullptr;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const Function* best = nullptr;
  bool known = false;
  for (int i = 0; i < kFunctionCount; ++i) {
    const Function& function = kFunctions[i];
    // Suffixed names are found too, though the real driver has only base names.
    const bool exact = std::strcmp(function.symbol, symbol) == 0;
    if (!exact && std::strcmp(function.base, symbol) != 0) continue;
    known = true;
    if (function.version > version) continue;
    if (function.per_thread && !per_thread && !exact) continue;
    if (best == nullptr || function.version > best->version ||
        (function.version == best->version && function.per_thread > best->per_thread)) {
      best = &function;
    }
  }
  if (best != nullptr) *address = best->address;
  const CUdriverProcAddressQueryResult found = best != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                                               : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                                       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (status != nullptr) *status = found;
  if (best == nullptr) Note("cuGetProcAddress: no %s for version %d", symbol, version);
  return best != nullptr || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* symbol, void** address, int version, cuuint64_t flags) {
  return impl::cuGetProcAddress_v2(symbol, address, version, flags, nullptr);
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace impl
}  // namespace fakegpu
