// SPDX-License-Identifier: Apache-2.0

// The simulated functions of CUPTI, except those that report or keep records.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include <sys/stat.h>

#include "common/scenario.h"
#include "cupti/faults.h"
#include "cupti/refuse.h"
#include "cupti/state.h"

namespace fakegpu::cupti {
namespace {

// The result of a call without a driver: it differs by release.
CUptiResult NoDriver() {
  return ApiVersion() < 130000 ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_ERROR_UNKNOWN;
}

// Answered without a driver, as NVIDIA's library does.
bool NeedsNoDriver(const char* function) {
  static const char* const names[] = {"cuptiGetVersion",
                                      "cuptiGetTimestamp",
                                      "cuptiGetResultString",
                                      "cuptiGetErrorMessage",
                                      "cuptiGetCallbackName",
                                      "cuptiGetLastError",
                                      "cuptiActivityRegisterCallbacks",
                                      "cuptiActivityGetNextRecord",
                                      "cuptiGetCubinCrc",
                                      "cuptiFinalize",
                                      "cuptiComputeCapabilitySupported"};
  for (const char* name : names) {
    if (std::strcmp(name, function) == 0) return true;
  }
  return false;
}

// CUPTI's threads do not exist in a fork child: what waits for them waits for ever.
bool HangsInForkChild(const char* function) {
  return std::strcmp(function, "cuptiActivityFlushAll") == 0 ||
         std::strcmp(function, "cuptiActivityDisable") == 0 ||
         std::strcmp(function, "cuptiActivityEnable") == 0;
}

// Functions of the first interface that have a sister with a subscriber in the second.
bool IsOfFirstInterface(const char* function) {
  for (const char* name : {"cuptiActivityEnable", "cuptiActivityDisable",
                           "cuptiActivityRegisterCallbacks", "cuptiActivityGetNextRecord",
                           "cuptiActivitySetAttribute", "cuptiActivityGetNumDroppedRecords"}) {
    if (std::strcmp(name, function) == 0) return true;
  }
  return false;
}

bool Wanted(uint32_t domain, uint32_t id) {
  State& state = TheState();
  return state.callbacks[domain].Has(id) ||
         (domain == CUPTI_CB_DOMAIN_DRIVER_API ? state.driver_records : state.runtime_records)
             .Has(id);
}

bool IsGraphCallback(uint32_t id) {
  return id >= CUPTI_CBID_RESOURCE_GRAPH_CREATED &&
         id != CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED;
}

// `beside`: through the second interface, with others allowed.
CUptiResult Subscribe(CUpti_SubscriberHandle* out, CUpti_CallbackFunc callback, void* user_data,
                      const char* name, bool beside) {
  if (out == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  State& state = TheState();
  std::lock_guard guard(state.subscribe_lock);
  if (state.subscribed || state.barred || !TheFaults().other_subscriber.empty() ||
      (!beside && !TheFaults().polite_subscriber.empty()))
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  state.user_data = user_data;
  state.callback.store(callback, std::memory_order_release);
  std::snprintf(state.subscriber_name, sizeof state.subscriber_name, "%s", name);
  state.subscribed = true;
  *out = reinterpret_cast<CUpti_SubscriberHandle>(&state);
  return CUPTI_SUCCESS;
}

bool Ours(CUpti_SubscriberHandle subscriber) {
  return subscriber == reinterpret_cast<CUpti_SubscriberHandle>(&TheState()) &&
         TheState().subscribed;
}

}  // namespace

State& TheState() {
  static State* const state = new State;
  return *state;
}

Nanos Now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<Nanos>(now.tv_sec) * 1'000'000'000u + static_cast<Nanos>(now.tv_nsec);
}

Nanos Shown(Nanos realtime) {
  if (!TheFaults().clock_raw || realtime == 0) return realtime;
  static const Nanos ahead = [] {
    timespec raw;
    clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
    return Now() -
           (static_cast<Nanos>(raw.tv_sec) * 1'000'000'000u + static_cast<Nanos>(raw.tv_nsec));
  }();
  return realtime - ahead;
}

bool Couple() {
  State& state = TheState();
  if (state.gpu != nullptr) return true;
  static std::mutex* const lock = new std::mutex;
  std::lock_guard guard(*lock);
  if (state.gpu != nullptr) return true;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return false;
  using GetExportTable = CUresult (*)(const void**, const CUuuid*);
  const auto get = reinterpret_cast<GetExportTable>(dlsym(driver, "cuGetExportTable"));
  static const CUuuid id = FAKE_GPU_TABLE_ID;
  const FakeGpuTable* table = nullptr;
  if (get == nullptr || get(reinterpret_cast<const void**>(&table), &id) != CUDA_SUCCESS)
    return false;
  state.owner = getpid();
  state.gpu = table;
  if (TheFaults().iterator_needs_descriptors) {
    state.descriptor = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  }
  table->set_tool(Hooks());
  return true;
}

bool Refuses(const char* function, CUptiResult* refused) {
  static const bool faults = Scenario::Get().HasFaultsFor("cupti");
  static const bool known_crash = ApiVersion() == 130202;
  if (known_crash && TheState().gpu == nullptr &&
      dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW) == nullptr) {
    raise(SIGSEGV);  // 13.2 recursed without end here
  }
  if (faults) {
    if (const Fault* fault = Scenario::Get().Hit(function)) {
      *refused = static_cast<CUptiResult>(fault->error);
      return true;
    }
  }
  State& state = TheState();
  if (state.gpu != nullptr && state.owner != getpid() && HangsInForkChild(function)) {
    for (;;) pause();
  }
  if (std::strcmp(function, "cuptiActivityFlushAll") == 0) {
    // HPCToolkit #295; the behaviour after CUPTI has ended itself is unknown.
    if ((TheFaults().flush_needs_context && !state.context_seen) || state.finished) {
      for (;;) pause();
    }
    if (InsideCallback() == Inside::kOther && state.gpu != nullptr) {
      state.gpu->note("CUPTI: misuse: flush inside a callback that is not of an API call");
    }
  }
  // The iterator is a pure function, and called for every buffer.
  static thread_local bool inside = false;
  if (TheFaults().reenter && state.context_seen && !inside &&
      std::strncmp(function, "cuptiActivityGetNextRecord", 26) != 0) {
    inside = true;
    Reenter();
    inside = false;
  }
  if (state.second_interface && IsOfFirstInterface(function)) {
    state.gpu->note("CUPTI: misuse: a function of the first interface beside the second");
    *refused = CUPTI_ERROR_NOT_COMPATIBLE;
    return true;
  }
  if (state.gpu == nullptr && !NeedsNoDriver(function) && !Couple()) {
    *refused = NoDriver();
    return true;
  }
  return false;
}

CUptiResult NotSupported(const char* function) {
  if (TheState().gpu != nullptr) {
    char text[160];
    std::snprintf(text, sizeof text, "CUPTI: %s is not supported", function);
    TheState().gpu->note(text);
  }
  return CUPTI_ERROR_NOT_SUPPORTED;
}

void PublishWanted(uint32_t domain, uint32_t id) {
  const State& state = TheState();
  if (state.gpu == nullptr) return;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
    state.gpu->want_call(FAKE_GPU_DRIVER, id, Wanted(domain, id));
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
    state.gpu->want_call(FAKE_GPU_RUNTIME, id, Wanted(domain, id));
}

void PublishAllWanted() {
  for (uint32_t id = 0; id < 1024; ++id) {
    PublishWanted(CUPTI_CB_DOMAIN_DRIVER_API, id);
    PublishWanted(CUPTI_CB_DOMAIN_RUNTIME_API, id);
  }
}

bool CorrelationOn() {
  const State& state = TheState();
  return state.driver_records.Any() || state.runtime_records.Any() ||
         state.callbacks[CUPTI_CB_DOMAIN_DRIVER_API].Any() ||
         state.callbacks[CUPTI_CB_DOMAIN_RUNTIME_API].Any();
}

namespace impl {

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = ApiVersion();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto callback = TheState().timestamp.load(std::memory_order_relaxed);
  *timestamp = callback != nullptr ? callback() : Shown(Now());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *text = ResultName(result);
  return *text != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
  return impl::cuptiGetResultString(result, text);
}
CUptiResult cuptiGetLastError() { return CUPTI_SUCCESS; }

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  if (params == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (params->deviceIndex >= static_cast<size_t>(TheState().gpu->device_count())) {
    return CUPTI_ERROR_INVALID_DEVICE;
  }
  params->pChipName = "GH100";  // the H100 whose limits the device has
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = domain == CUPTI_CB_DOMAIN_DRIVER_API    ? DriverName(id)
          : domain == CUPTI_CB_DOMAIN_RUNTIME_API ? RuntimeName(id)
                                                  : nullptr;
  return *name != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

// ---- subscribing ----

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* user_data) {
  return Subscribe(subscriber, callback, user_data, "<unknown>", false);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                              void* user_data, CUpti_SubscriberParams* params) {
  const char* name =
      params != nullptr && params->subscriberName != nullptr ? params->subscriberName : "<unknown>";
  // The field was added in 13.2, after the fields that the installed headers may have. A tool of
  // 13.0 or 13.1 has only this function of the second interface.
  const bool second = ApiVersion() >= 130200 && params != nullptr && params->structSize > 32;
  const bool beside = second && reinterpret_cast<const uint8_t*>(params)[32] != 0;
  if (second && TheFaults().second_bars_first) {
    TheState().barred = true;
    return CUPTI_ERROR_UNKNOWN;
  }
  const CUptiResult result = Subscribe(subscriber, callback, user_data, name, beside);
  if (result == CUPTI_SUCCESS) TheState().second_interface = second;
  const Faults& faults = TheFaults();
  const std::string& other =
      faults.other_subscriber.empty() ? faults.polite_subscriber : faults.other_subscriber;
  if ((result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || !other.empty()) &&
      params != nullptr && params->oldSubscriberName != nullptr) {
    std::snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s%s",
                  other.empty() ? "CUPTI for " : "",
                  other.empty() ? TheState().subscriber_name : other.c_str());
  }
  return result;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  if (!Ours(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  State& state = TheState();
  std::lock_guard guard(state.subscribe_lock);
  for (IdSet& set : state.callbacks) set.SetAll(false);
  PublishAllWanted();
  state.callback = nullptr;
  state.subscribed = false;
  state.second_interface = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (!Ours(subscriber) || domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const uint32_t graph_updates = 22;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id >= graph_updates && ApiVersion() < 130000) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  TheState().callbacks[domain].Set(id, enable != 0);
  PublishWanted(domain, id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                              CUpti_CallbackDomain domain) {
  if (!Ours(subscriber) || domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  IdSet& set = TheState().callbacks[domain];
  for (uint32_t id = 0; id < 1024; ++id) {
    // Since 12.8, callbacks about graphs must be enabled one by one.
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && IsGraphCallback(id) && ApiVersion() >= 26 &&
        enable != 0)
      continue;
    set.Set(id, enable != 0);
    PublishWanted(domain, id);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    const CUptiResult result =
        impl::cuptiEnableDomain(enable, subscriber, static_cast<CUpti_CallbackDomain>(domain));
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (!Ours(subscriber) || enable == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *enable = TheState().callbacks[domain].Has(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  static const CUpti_CallbackDomain domains[] = {
      CUPTI_CB_DOMAIN_DRIVER_API,  CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
      CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX,        CUPTI_CB_DOMAIN_STATE};
  *count = std::size(domains);
  *table = const_cast<CUpti_DomainTable>(domains);
  return CUPTI_SUCCESS;
}

// A tool that calls it harms the process; the note lets a test find that out.
CUptiResult cuptiFinalize() {
  State& state = TheState();
  if (state.gpu == nullptr) return CUPTI_SUCCESS;
  state.gpu->note("CUPTI: cuptiFinalize was called");
  for (IdSet& set : state.callbacks) set.SetAll(false);
  state.kinds.SetAll(false);
  state.driver_records.SetAll(false);
  state.runtime_records.SetAll(false);
  PublishAllWanted();
  state.callback = nullptr;
  state.subscribed = false;
  state.request = nullptr;
  state.complete = nullptr;
  Forget();
  return CUPTI_SUCCESS;
}

// ---- activities ----

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  State& state = TheState();
  Couple();
  state.complete.store(complete, std::memory_order_release);
  state.request.store(request, std::memory_order_release);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  if (ApiVersion() < 23) return CUPTI_ERROR_NOT_SUPPORTED;
  TheState().driver_records.Set(id, enable != 0);
  PublishWanted(CUPTI_CB_DOMAIN_DRIVER_API, id);
  StartWorker();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  if (ApiVersion() < 23) return CUPTI_ERROR_NOT_SUPPORTED;
  TheState().runtime_records.Set(id, enable != 0);
  PublishWanted(CUPTI_CB_DOMAIN_RUNTIME_API, id);
  StartWorker();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  Flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) {
  return impl::cuptiActivityFlushAll(flag);
}
// Only full and complete buffers are flushed by the period, and those go at once anyway.
CUptiResult cuptiActivityFlushPeriod(uint32_t) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = TheState().dropped.exchange(0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (TheFaults().iterator_needs_descriptors) {
    struct stat there;
    struct stat zero;
    if (fstat(TheState().descriptor, &there) != 0 || stat("/dev/zero", &zero) != 0 ||
        there.st_rdev != zero.st_rdev) {
      return CUPTI_ERROR_UNKNOWN;
    }
  }
  uint8_t* at = buffer;
  if (*record != nullptr) {
    at = reinterpret_cast<uint8_t*>(*record);
    const size_t size = RecordSize((*record)->kind);
    if (size == 0) return CUPTI_ERROR_INVALID_KIND;
    at += size;
  }
  const size_t left = valid - std::min(valid, static_cast<size_t>(at - buffer));
  if (left < sizeof(uint32_t)) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  uint32_t kind;
  std::memcpy(&kind, at, sizeof kind);
  const size_t size = RecordSize(kind);
  if (size == 0) return CUPTI_ERROR_INVALID_KIND;
  if (left < size) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* size,
                                      void* value) {
  if (size == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  uint64_t number = 0;
  std::memcpy(&number, value, std::min<size_t>(*size, sizeof number));
  switch (attribute) {
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
      TheState().zeroed = (number & 0xff) != 0;
      break;
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
      TheState().per_thread = (number & 0xff) != 0;
      break;
    default:
      break;
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* size,
                                      void* value) {
  if (size == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  uint64_t number = 0;
  switch (attribute) {
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE:
      number = 3200000;
      break;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT:
      number = 250;
      break;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE:
      number = 3;
      break;
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
      number = TheState().zeroed;
      break;
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
      number = TheState().per_thread;
      break;
    default:
      break;
  }
  std::memcpy(value, &number, std::min<size_t>(*size, sizeof number));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  TheState().latency = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableAllocationSource(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableDeviceGraph(uint8_t) { return CUPTI_SUCCESS; }
// For Blackwell and later only.
CUptiResult cuptiActivityEnableHWTrace(uint8_t) { return CUPTI_ERROR_NOT_SUPPORTED; }
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  TheState().timestamp = callback;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  TheState().thread_id_type = type;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  *type = static_cast<CUpti_ActivityThreadIdType>(TheState().thread_id_type.load());
  return CUPTI_SUCCESS;
}

// ---- ids ----

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  *id =
      TheState().gpu->context_id(context != nullptr ? context : TheState().gpu->current_context());
  return *id != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  *id = TheState().gpu->device_of_context(context != nullptr ? context
                                                             : TheState().gpu->current_context());
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                               uint32_t* id) {
  *id = TheState().gpu->stream_id(context, stream, per_thread);
  return *id != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_STREAM;
}
CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  return impl::cuptiGetStreamIdEx(context, stream, 0, id);
}
CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  *id = TheState().gpu->graph_id(graph);
  return *id != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  *id = TheState().gpu->graph_exec_id(exec);
  return *id != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  *id = TheState().gpu->graph_node_id(node);
  return *id != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiComputeCapabilitySupported(int major, int, int* support) {
  *support = major >= 7 ? 3 : 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceSupported(CUdevice, int* support) {
  *support = 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceVirtualizationMode(CUdevice, CUpti_DeviceVirtualizationMode* mode) {
  *mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
  return CUPTI_SUCCESS;
}

// Not NVIDIA's sum, whose polynomial is not public; the same bytes give the same number.
CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams* params) {
  uint64_t sum = 0xcbf29ce484222325u;
  const auto* bytes = static_cast<const unsigned char*>(params->cubin);
  for (size_t i = 0; i < params->cubinSize; ++i) sum = (sum ^ bytes[i]) * 0x100000001b3u;
  params->cubinCrc = sum & 0xffffffff;
  return CUPTI_SUCCESS;
}

}  // namespace impl
}  // namespace fakegpu::cupti

// NVIDIA's library is an NVTX injection too; this one takes no ranges.
extern "C" FAKE_GPU_EXPORT CUptiResult cuptiNvtxInitialize2(void*);
extern "C" FAKE_GPU_EXPORT CUptiResult cuptiNvtxInitialize2(void*) { return CUPTI_SUCCESS; }
extern "C" FAKE_GPU_EXPORT CUptiResult cuptiNvtxInitialize(void*);
extern "C" FAKE_GPU_EXPORT CUptiResult cuptiNvtxInitialize(void*) { return CUPTI_SUCCESS; }
