// SPDX-License-Identifier: Apache-2.0

// A minimal CUPTI client, so that the fake is tested without the collector. Loaded by
// CUDA_INJECTION64_PATH. Writes each record as a line of CLIENT_LOG.PID.tsv, with the columns of
// the driver's truth log if there are any. It also writes every resource callback about graph nodes
// and every launch's enter callback. The conformance log gets the thread on which buffers are
// requested and returned. It also gets the size of the first record of each kind ("size"), and
// results of functions ("returns").
//
// CLIENT_KINDS: kinds to enable, "10,1,2,4" (default kernels, copies, sets, driver calls 307, 652,
// 514); CLIENT_ORACLE: NVIDIA's own libcupti, whose iterator must walk every buffer as the fake's;
// CLIENT_BUFFER: bytes of a buffer; CLIENT_FLUSH_MS: flush that often; CLIENT_NO_EXIT_FLUSH=1.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace {

void* library = nullptr;
template <typename F>
F* Function(const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}
#define CUPTI(name) Function<decltype(name)>(#name)

decltype(cuptiActivityGetNextRecord)* next_record = nullptr;
decltype(cuptiActivityGetNextRecord)* oracle = nullptr;
decltype(cuptiGetGraphNodeId)* node_id = nullptr;

std::mutex* log_lock = new std::mutex;
FILE* log_file = nullptr;
size_t buffer_size = 64 * 1024;

void Log(const char* format, ...) __attribute__((format(printf, 1, 2)));
void Log(const char* format, ...) {
  std::lock_guard guard(*log_lock);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(log_file, format, arguments);
  va_end(arguments);
}

pid_t program_thread = 0;  // The one that starts the driver.
thread_local bool flushing = false;
std::atomic<bool> ended{false};  // CUPTI has finalised itself.

const char* Where() {
  if (flushing) return "flusher";
  return gettid() == program_thread ? "program" : "other";
}

CUptiResult Returns(const char* function, CUptiResult result) {
  Log("returns\t%s\t%d\n", function, static_cast<int>(result));
  return result;
}
#define RETURNS(function, ...) Returns(#function, CUPTI(function)(__VA_ARGS__))

void LogSize(uint32_t kind, size_t bytes) {
  static std::mutex* lock = new std::mutex;
  static std::set<uint32_t>* seen = new std::set<uint32_t>;
  const std::lock_guard guard(*lock);
  if (seen->insert(kind).second) Log("size\t%u\t%zu\n", kind, bytes);
}

std::mutex* buffers_lock = new std::mutex;
std::set<uint8_t*>* buffers_out = new std::set<uint8_t*>;

void CUPTIAPI Request(uint8_t** buffer, size_t* size, size_t* room) {
  *size = buffer_size;
  *room = 0;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, buffer_size));
  Log("requested\t%s\n", Where());
  std::lock_guard guard(*buffers_lock);
  buffers_out->insert(*buffer);
}

void LogRecord(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* k = reinterpret_cast<const CUpti_ActivityKernel8*>(record);
      Log("kernel\t0\t%u\t%u\t%u\t%u\t%lu\t%lu\t%u\t%lu\t\t\t%s\t%dx%dx%d\t%dx%dx%d\t%d\t%d\t%"
          "d\t0\t0\t0\t\n",
          k->correlationId, k->deviceId, k->contextId, k->streamId, k->start, k->end, k->graphId,
          k->graphNodeId, k->name, k->gridX, k->gridY, k->gridZ, k->blockX, k->blockY, k->blockZ,
          k->dynamicSharedMemory, k->staticSharedMemory, k->registersPerThread);
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* m = reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
      Log("memcpy\t0\t%u\t%u\t%u\t%u\t%lu\t%lu\t%u\t%lu\t\t\t\t0x0x0\t0x0x0\t0\t0\t0\t%lu\t%"
          "d\t0\t\n",
          m->correlationId, m->deviceId, m->contextId, m->streamId, m->start, m->end, m->graphId,
          m->graphNodeId, m->bytes, m->copyKind);
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto* m = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
      Log("memcpy\t0\t%u\t%u\t%u\t%u\t%lu\t%lu\t%u\t%lu\t\t\t\t0x0x0\t0x0x0\t0\t0\t0\t%lu\t%"
          "d\t0\t\n",
          m->correlationId, m->deviceId, m->contextId, m->streamId, m->start, m->end, m->graphId,
          m->graphNodeId, m->bytes, m->copyKind);
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* m = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      Log("memset\t0\t%u\t%u\t%u\t%u\t%lu\t%lu\t%u\t%lu\t\t\t\t0x0x0\t0x0x0\t0\t0\t0\t%lu\t0\t%"
          "u\t\n",
          m->correlationId, m->deviceId, m->contextId, m->streamId, m->start, m->end, m->graphId,
          m->graphNodeId, m->bytes, m->value);
      return;
    }
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto* a = reinterpret_cast<const CUpti_ActivityAPI*>(record);
      Log("call\t%u\t%u\t%u\t%lu\t%lu\t%d\n", a->threadId, a->correlationId, a->cbid, a->start,
          a->end, static_cast<int>(a->returnValue));
      return;
    }
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
      const auto* g = reinterpret_cast<const CUpti_ActivityGraphTrace2*>(record);
      Log("graph\t%u\t%u\t%lu\t%lu\n", g->correlationId, g->graphId, g->start, g->end);
      return;
    }
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: {
      const auto* e = reinterpret_cast<const CUpti_ActivityCudaEvent2*>(record);
      Log("event\t%u\t%u\t%u\n", e->correlationId, e->streamId, e->eventId);
      return;
    }
    default:
      Log("record\t%d\n", static_cast<int>(record->kind));
  }
}

void CUPTIAPI Completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  Log("completed\t%s\n", Where());
  {
    std::lock_guard guard(*buffers_lock);
    if (buffers_out->erase(buffer) != 1) Log("error\tbuffer handed back that was not out\n");
  }
  CUpti_Activity* record = nullptr;
  CUpti_Activity* theirs = nullptr;
  const CUpti_Activity* before = nullptr;
  size_t last = 0;
  CUptiResult ours_end = CUPTI_SUCCESS;
  for (;;) {
    ours_end = next_record(buffer, valid, &record);
    if (oracle != nullptr) {
      const CUptiResult theirs_end = oracle(buffer, valid, &theirs);
      if (theirs_end != ours_end || (ours_end == CUPTI_SUCCESS && theirs != record)) {
        Log("error\toracle: %d at %ld, fake: %d at %ld of %zu\n", theirs_end,
            reinterpret_cast<uint8_t*>(theirs) - buffer, ours_end,
            reinterpret_cast<uint8_t*>(record) - buffer, valid);
        break;
      }
    }
    if (ours_end != CUPTI_SUCCESS) break;
    const auto at = static_cast<size_t>(reinterpret_cast<uint8_t*>(record) - buffer);
    if (before != nullptr) LogSize(static_cast<uint32_t>(before->kind), at - last);
    before = record;
    last = at;
    LogRecord(record);
  }
  if (ours_end != CUPTI_ERROR_MAX_LIMIT_REACHED) Log("error\titerator ended with %d\n", ours_end);
  // To the last byte: nothing but the last record lies behind its begin.
  Log("buffer\t%zu\t%zu\n", valid, valid - last);
  std::free(buffer);
  size_t dropped = 0;
  if (CUPTI(cuptiActivityGetNumDroppedRecords)(nullptr, 0, &dropped) == CUPTI_SUCCESS &&
      dropped != 0) {
    Log("dropped\t%zu\n", dropped);
  }
}

void CUPTIAPI Callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    const auto* call = static_cast<const CUpti_CallbackData*>(data);
    Log("callback\t%d\t%u\t%s\t%s\t%u\t%s\n", domain, id,
        call->callbackSite == CUPTI_API_ENTER ? "enter" : "exit", call->functionName,
        call->correlationId, call->symbolName != nullptr ? call->symbolName : "");
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto* resource = static_cast<const CUpti_ResourceData*>(data);
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED ||
        id == CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS ||
        id == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED) {
      const auto* graph = static_cast<const CUpti_GraphData*>(resource->resourceDescriptor);
      uint64_t node = 0, original = 0;
      node_id(graph->node, &node);
      if (graph->originalNode != nullptr) node_id(graph->originalNode, &original);
      Log("node\t%u\t%lu\t%lu\t%d\n", id, node, original, static_cast<int>(graph->nodeType));
    } else if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
      const auto* module =
          static_cast<const CUpti_ModuleResourceData*>(resource->resourceDescriptor);
      Log("module\t%u\t%zu\n", module->moduleId, module->cubinSize);
    } else {
      Log("resource\t%u\n", id);
    }
  } else if (domain == CUPTI_CB_DOMAIN_STATE) {
    const auto* state = static_cast<const CUpti_StateData*>(data);
    Log("state\t%u\t%s\n", id, state->notification.message);
    if (id == CUPTI_CBID_STATE_FATAL_ERROR) ended = true;
  }
}

pid_t owner = 0;

void AtExit() {
  if (getpid() != owner) return;
  if (std::getenv("CLIENT_NO_EXIT_FLUSH") == nullptr && !ended) {
    flushing = true;
    const CUptiResult flushed = CUPTI(cuptiActivityFlushAll)(1);
    flushing = false;
    Log("end\t%d\n", flushed);
  }
  std::fflush(log_file);
}

size_t Number(const char* name, size_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection();
extern "C" int InitializeInjection() {
  owner = getpid();
  program_thread = gettid();
  const char* prefix = std::getenv("CLIENT_LOG");
  if (prefix == nullptr) return 0;
  log_file = std::fopen((std::string(prefix) + "." + std::to_string(owner) + ".tsv").c_str(), "we");
  if (log_file == nullptr) return 0;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    Log("error\t%s\n", dlerror());
    return 0;
  }
  if (const char* path = std::getenv("CLIENT_ORACLE")) {
    void* real = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (real == nullptr || real == library) Log("error\tno oracle: %s\n", path);
    if (real != nullptr) {
      oracle = reinterpret_cast<decltype(oracle)>(dlsym(real, "cuptiActivityGetNextRecord"));
    }
  }
  buffer_size = Number("CLIENT_BUFFER", buffer_size);
  next_record = CUPTI(cuptiActivityGetNextRecord);
  node_id = CUPTI(cuptiGetGraphNodeId);
  CUpti_SubscriberHandle subscriber = nullptr;
  char other[128] = "";
  CUpti_SubscriberParams params{};
  params.structSize = sizeof params;
  params.subscriberName = "client";
  params.oldSubscriberName = other;
  params.oldSubscriberSize = sizeof other;
  const auto subscribe_v2 = CUPTI(cuptiSubscribe_v2);  // From CUDA 13.0 on.
  const CUptiResult subscribed = subscribe_v2 != nullptr
                                     ? subscribe_v2(&subscriber, Callback, nullptr, &params)
                                     : CUPTI(cuptiSubscribe)(&subscriber, Callback, nullptr);
  Log("subscribe\t%d\t%s\n", subscribed, other);
  if (subscribed != CUPTI_SUCCESS) {
    std::fflush(log_file);
    return 0;
  }
  uint32_t version = 0;
  RETURNS(cuptiGetVersion, &version);
  Log("version\t%u\n", version);
  RETURNS(cuptiSetThreadIdType, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  RETURNS(cuptiActivityRegisterCallbacks, Request, Completed);
  const char* kinds = std::getenv("CLIENT_KINDS");
  std::string list = kinds != nullptr ? kinds : "10,1,2";
  for (char* at = list.data(); *at != '\0';) {
    const auto kind = static_cast<CUpti_ActivityKind>(std::strtol(at, &at, 10));
    const CUptiResult enabled = RETURNS(cuptiActivityEnable, kind);
    if (enabled != CUPTI_SUCCESS) Log("error\tenable %d: %d\n", static_cast<int>(kind), enabled);
    if (*at == ',') ++at;
  }
  if (kinds == nullptr && CUPTI(cuptiActivityEnableDriverApi) != nullptr) {  // From 12.5 on.
    for (const uint32_t id : {307u, 652u, 514u}) RETURNS(cuptiActivityEnableDriverApi, id, 1);
  }
  RETURNS(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 307);
  for (const uint32_t id : {1u, 3u, 6u, 9u, 11u, 13u, 18u, 20u, 22u, 23u}) {
    CUPTI(cuptiEnableCallback)(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  }
  RETURNS(cuptiEnableDomain, 1, subscriber, CUPTI_CB_DOMAIN_STATE);
  if (const size_t period = Number("CLIENT_FLUSH_MS", 0)) {
    std::thread([period] {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(period));
        flushing = true;
        CUPTI(cuptiActivityFlushAll)(0);
        flushing = false;
        std::lock_guard guard(*log_lock);
        std::fflush(log_file);
      }
    }).detach();
  }
  std::atexit(AtExit);
  return 1;
}
