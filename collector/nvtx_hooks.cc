// SPDX-License-Identifier: Apache-2.0

// NVTX: the traced program's ranges, registered strings and payload schemas.
//
// NVTX v3 is header-only: every shared object that uses it loads us by itself and calls the
// entry points again, from any thread. All state is the Collector's.
// Sources: nvtx3/nvtxDetail/nvtxTypes.h (export tables), nvToolsExtPayload.h (payload extension).

#include <cstring>
#include <cwchar>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "collector/collector.h"
#include "collector/device_limits.h"
#include "collector/lock.h"
#include "collector/thread_log.h"

namespace xlatrace::collector {
namespace {

struct Domain {
  std::string name;
  uint32_t name_id;
  bool tsl;  // TensorFlow's and XLA's own.
};

// Interned by name: two shared objects that create "TSL" mean the same domain.
Domain* DomainOf(std::string_view name) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static auto* domains = new std::unordered_map<std::string, Domain*>;
  const uint32_t id = Collector::Get().strings.Intern(name);
  const Lock lock(&mutex);
  Domain*& domain = (*domains)[std::string(name)];
  if (domain == nullptr) domain = new Domain{std::string(name), id, name == "TSL"};
  return domain;
}

std::string Narrow(const wchar_t* text) {
  std::string narrow;
  if (text == nullptr) return narrow;
  for (; *text != L'\0'; ++text) {
    const auto c = static_cast<uint32_t>(*text);
    if (c < 0x80) {
      narrow.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      narrow.push_back(static_cast<char>(0xC0 | (c >> 6)));
      narrow.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
      narrow.push_back(static_cast<char>(0xE0 | (c >> 12)));
      narrow.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
      narrow.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else if (c < 0x110000) {
      narrow.push_back(static_cast<char>(0xF0 | (c >> 18)));
      narrow.push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
      narrow.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
      narrow.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    }
  }
  return narrow;
}

// The attributes have grown before and may again: what lies behind `size` is not there.
bool Has(const nvtxEventAttributes_t* attributes, size_t end_of_field) {
  return attributes != nullptr && attributes->size >= end_of_field;
}
#define XLATRACE_HAS(attributes, field) \
  Has(attributes, offsetof(nvtxEventAttributes_t, field) + sizeof(nvtxEventAttributes_t::field))

uint32_t TextOf(const nvtxEventAttributes_t* attributes) {
  if (!XLATRACE_HAS(attributes, message)) return 0;
  StringTable& strings = Collector::Get().strings;
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto id = reinterpret_cast<uintptr_t>(attributes->message.registered);
      return strings.Contains(id) ? static_cast<uint32_t>(id) : 0;
    }
    case NVTX_MESSAGE_TYPE_ASCII:
      return attributes->message.ascii == nullptr ? 0 : strings.Intern(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return strings.Intern(Narrow(attributes->message.unicode));
    default:
      return 0;
  }
}

void RecordPayload(uint32_t text, const nvtxPayloadData_t& data) {
  constexpr size_t kMaxPayload = 4096;  // XLA's are 24 to 96 bytes.
  if (data.payload == nullptr || data.size == 0 || data.size > kMaxPayload) return;
  Collector& collector = Collector::Get();
  if (!collector.strings.MarkPayload(text)) return;
  recording::PayloadRow row;
  row.string = text;
  row.schema = data.schemaId;
  std::string bytes(static_cast<const char*>(data.payload), data.size);
  collector.definitions.Add(Owned<recording::PayloadRow>{row, std::move(bytes)}, data.size);
}

void RecordPayloadOf(uint32_t text, const nvtxEventAttributes_t* attributes) {
  if (!XLATRACE_HAS(attributes, payload) || attributes->payloadType != NVTX_PAYLOAD_TYPE_EXT ||
      attributes->payload.ullValue == 0) {
    return;
  }
  // reserved0 is the number of payloads (nvToolsExtPayload.h, NVTX_PAYLOAD_EVTATTR_SET_DATA).
  RecordPayload(text, *reinterpret_cast<const nvtxPayloadData_t*>(attributes->payload.ullValue));
}

// ---- Ranges on the thread's stack ----

int Push(const void* domain, uint32_t text) {
  ThreadLog* log = ThreadLog::Current();
  if (log == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  Collector& collector = Collector::Get();
  OpenRange range{};
  range.domain = domain;
  range.domain_id = domain == nullptr ? 0 : static_cast<const Domain*>(domain)->name_id;
  range.text = text;
  range.kind = collector.strings.KindOf(text);
  // People's own ranges may look like this, too.
  if (range.kind == RangeKind::kOp &&
      (domain == nullptr || !static_cast<const Domain*>(domain)->tsl)) {
    range.kind = RangeKind::kOther;
  }
  uint64_t run = 0;
  if (range.kind == RangeKind::kModule) {
    run = collector.next_run.fetch_add(1, std::memory_order_relaxed);
  }
  const uint32_t depth = log->depth();
  const bool maybe_step = range.kind == RangeKind::kModule && collector.steering.has_steps();
  // Also before CUDA starts, when it is not known that there is a window.
  if (range.kind == RangeKind::kModule) collector.steering.OnModulePush(*log, text);
  // Times of thunks and ops come from the API calls inside: no clock, no row.
  if (range.kind != RangeKind::kThunk && range.kind != RangeKind::kOp) range.start_ns = NowNs();
  // Whether a module's run is a step of the window is known with its first call.
  range.wanted =
      range.kind == RangeKind::kCompiler || (!maybe_step && !collector.steering.Skips(*log));
  log->Push(range, run);
  if (depth >= ThreadLog::kMaxDepth) {
    collector.ranges_too_deep.fetch_add(1, std::memory_order_relaxed);
  }
  return static_cast<int>(depth);
}

int Pop(const void* domain) {
  ThreadLog* log = ThreadLog::Current();
  if (log == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  OpenRange range;
  uint32_t depth = 0;
  uint64_t run = 0;
  if (!log->Pop(domain, &range, &depth, &run)) {
    Collector::Get().pops_unbalanced.fetch_add(1, std::memory_order_relaxed);
    return NVTX_NO_PUSH_POP_TRACKING;
  }
  Collector& collector = Collector::Get();
  // A range that was open while the window was open is kept.
  const bool wanted = range.wanted || !collector.steering.Skips(*log);
  if (range.kind == RangeKind::kModule && collector.steering.counts_steps()) {
    collector.steering.OnModulePop(*log, range.text);
    log->set_pending_run(0);  // It made no call.
  }
  if (range.start_ns != 0 && range.text != 0 && Collector::Recording() && wanted) {
    recording::RangeRow row;
    row.thread = log->thread();
    row.domain = range.domain_id;
    row.text = range.text;
    row.start_ns = range.start_ns;
    row.end_ns = NowNs();
    row.depth = depth;
    row.module_run = run;
    log->Append(row);
  }
  return static_cast<int>(depth);
}

int DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  if (!Collector::Alive()) return 0;
  const uint32_t text = TextOf(attributes);
  if (text != 0) RecordPayloadOf(text, attributes);
  return Push(domain, text);
}
int DomainRangePop(nvtxDomainHandle_t domain) { return Collector::Alive() ? Pop(domain) : 0; }
int RangePushEx(const nvtxEventAttributes_t* attributes) {
  return DomainRangePushEx(nullptr, attributes);
}
int RangePushA(const char* message) {
  if (!Collector::Alive()) return 0;
  return Push(nullptr, message == nullptr ? 0 : Collector::Get().strings.Intern(message));
}
int RangePushW(const wchar_t* message) {
  return Collector::Alive() ? Push(nullptr, Collector::Get().strings.Intern(Narrow(message))) : 0;
}
int RangePop() { return DomainRangePop(nullptr); }

// ---- Ranges of the process (start and end on any thread) and marks ----

struct StartedRange {
  uint32_t domain_id;
  uint32_t text;
  uint32_t thread;
  bool wanted;
  uint64_t start_ns;
};

struct StartedRanges {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<nvtxRangeId_t, StartedRange> open;
  nvtxRangeId_t next = 1;
};

StartedRanges& Started() {
  static auto* started = new StartedRanges;
  return *started;
}

nvtxRangeId_t DomainRangeStartEx(nvtxDomainHandle_t domain,
                                 const nvtxEventAttributes_t* attributes) {
  constexpr size_t kMaxOpen = 1 << 16;
  if (!Collector::Alive()) return 0;
  ThreadLog* log = ThreadLog::Current();
  const uint32_t text = TextOf(attributes);
  if (log == nullptr) return 0;
  StartedRange range{};
  range.domain_id = domain == nullptr ? 0 : reinterpret_cast<const Domain*>(domain)->name_id;
  range.text = text;
  range.thread = log->thread();
  range.wanted = !Collector::Get().steering.Skips(*log);
  range.start_ns = NowNs();
  StartedRanges& started = Started();
  const Lock lock(&started.mutex);
  const nvtxRangeId_t id = started.next++;
  if (started.open.size() < kMaxOpen) started.open.emplace(id, range);
  return id;
}

void DomainRangeEnd(nvtxDomainHandle_t, nvtxRangeId_t id) {
  if (!Collector::Alive()) return;
  StartedRange range{};
  {
    StartedRanges& started = Started();
    const Lock lock(&started.mutex);
    const auto found = started.open.find(id);
    if (found == started.open.end()) return;
    range = found->second;
    started.open.erase(found);
  }
  ThreadLog* log = ThreadLog::Current();
  if (log == nullptr || range.text == 0 || !Collector::Recording()) return;
  if (!range.wanted && Collector::Get().steering.Skips(*log)) return;
  recording::RangeRow row;
  row.thread = range.thread;
  row.domain = range.domain_id;
  row.text = range.text;
  row.start_ns = range.start_ns;
  row.end_ns = NowNs();
  log->Append(row);
}
nvtxRangeId_t RangeStartEx(const nvtxEventAttributes_t* attributes) {
  return DomainRangeStartEx(nullptr, attributes);
}
nvtxEventAttributes_t Message(const char* text) {
  nvtxEventAttributes_t attributes{};
  attributes.size = sizeof(attributes);
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}
nvtxRangeId_t RangeStartA(const char* message) {
  const nvtxEventAttributes_t attributes = Message(message);
  return DomainRangeStartEx(nullptr, &attributes);
}
nvtxRangeId_t RangeStartW(const wchar_t* message) {
  return Collector::Alive() ? RangeStartA(Narrow(message).c_str()) : 0;
}
void RangeEnd(nvtxRangeId_t id) { DomainRangeEnd(nullptr, id); }

void DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  if (!Collector::Recording()) return;
  ThreadLog* log = ThreadLog::Current();
  const uint32_t text = TextOf(attributes);
  if (log == nullptr || text == 0 || Collector::Get().steering.Skips(*log)) return;
  recording::RangeRow row;
  row.thread = log->thread();
  row.domain = domain == nullptr ? 0 : reinterpret_cast<const Domain*>(domain)->name_id;
  row.text = text;
  row.start_ns = row.end_ns = NowNs();
  row.depth = log->depth();
  log->Append(row);
}
void MarkEx(const nvtxEventAttributes_t* attributes) { DomainMarkEx(nullptr, attributes); }
void MarkA(const char* message) {
  const nvtxEventAttributes_t attributes = Message(message);
  DomainMarkEx(nullptr, &attributes);
}
void MarkW(const wchar_t* message) {
  if (Collector::Recording()) MarkA(Narrow(message).c_str());
}

// ---- Names ----

nvtxDomainHandle_t DomainCreateA(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(DomainOf(name == nullptr ? "" : name));
}
nvtxDomainHandle_t DomainCreateW(const wchar_t* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(DomainOf(Narrow(name)));
}
void DomainDestroy(nvtxDomainHandle_t) {}  // The name stays: rows refer to it.

nvtxStringHandle_t RegisterString(nvtxDomainHandle_t domain, std::string_view text) {
  if (!Collector::Alive()) return nullptr;
  ThreadLog* log = ThreadLog::Current();
  const uint32_t domain_id =
      domain == nullptr ? 0 : reinterpret_cast<const Domain*>(domain)->name_id;
  const uint32_t id =
      Collector::Get().strings.Register(text, domain_id, log == nullptr ? 0 : log->thread());
  Steering& steering = Collector::Get().steering;
  if (log != nullptr && steering.counts_steps()) {
    const RangeKind kind = RangeKindOf(text);
    if (kind == RangeKind::kModule) steering.OnRegisterModule(*log, id);
    if (kind == RangeKind::kThunk) steering.OnRegisterThunk(*log);
  }
  return reinterpret_cast<nvtxStringHandle_t>(static_cast<uintptr_t>(id));
}
nvtxStringHandle_t DomainRegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  return RegisterString(domain, text == nullptr ? "" : text);
}
nvtxStringHandle_t DomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  return RegisterString(domain, Narrow(text));
}

void NameOsThreadA(uint32_t thread, const char* name) {
  if (!Collector::Alive() || name == nullptr) return;
  recording::ThreadRow row;
  row.thread = thread;
  std::string text(name);
  const size_t bytes = text.size();
  Collector::Get().definitions.Add(Owned<recording::ThreadRow>{row, std::move(text)}, bytes);
}
void NameOsThreadW(uint32_t thread, const wchar_t* name) {
  NameOsThreadA(thread, Narrow(name).c_str());
}

// XLA names its streams as it makes them: which one computes, which ones copy.
void NameCuStreamA(CUstream stream, const char* name) {
  Collector& collector = Collector::Get();
  // A stream lives in a context, and with the first of those the recording begins.
  if (!Collector::Recording() || name == nullptr || collector.api.cuptiGetStreamIdEx == nullptr ||
      collector.api.cuptiGetContextId == nullptr ||
      collector.cupti_ended.load(std::memory_order_acquire)) {
    return;
  }
  const CUcontext context = ContextOfStream(stream);
  recording::StreamNameRow row;
  if (context == nullptr ||
      collector.api.cuptiGetContextId(context, &row.context) != CUPTI_SUCCESS ||
      collector.api.cuptiGetStreamIdEx(context, stream, 0, &row.stream) != CUPTI_SUCCESS) {
    return;
  }
  std::string text(name);
  const size_t bytes = text.size();
  collector.definitions.Add(Owned<recording::StreamNameRow>{row, std::move(text)}, bytes);
}
void NameCuStreamW(CUstream stream, const wchar_t* name) {
  NameCuStreamA(stream, Narrow(name).c_str());
}
// The runtime's streams are the driver's.
void NameCudaStreamA(cudaStream_t stream, const char* name) { NameCuStreamA(stream, name); }
void NameCudaStreamW(cudaStream_t stream, const wchar_t* name) { NameCuStreamW(stream, name); }

// "Xla:#global=3,local=1,process=1,partition=0#": which of the job's devices this one is.
void NameCuDeviceA(CUdevice device, const char* name) {
  if (!Collector::Alive() || name == nullptr) return;
  Collector::Get().Fact("device_name." + std::to_string(device), name);
}
void NameCuDeviceW(CUdevice device, const wchar_t* name) {
  NameCuDeviceA(device, Narrow(name).c_str());
}
void NameCudaDeviceA(int device, const char* name) { NameCuDeviceA(device, name); }
void NameCudaDeviceW(int device, const wchar_t* name) { NameCuDeviceW(device, name); }

// ---- Payload extension ----

uint64_t PayloadSchemaRegister(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t* schema) {
  static std::atomic<uint64_t> next{NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START};
  if (!Collector::Alive() || schema == nullptr) return 0;
  Collector& collector = Collector::Get();
  const auto has = [&](uint64_t field) { return (schema->fieldMask & field) != 0; };
  uint64_t id = has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) ? schema->schemaId : 0;
  if (id == 0) id = next.fetch_add(1, std::memory_order_relaxed);
  const auto add = [&](uint32_t entry, const char* name, uint64_t type, uint64_t flags,
                       uint64_t offset, uint64_t extent) {
    recording::SchemaRow row;
    row.schema = id;
    row.entry = entry;
    row.type = type;
    row.flags = flags;
    row.offset = offset;
    row.extent = extent;
    std::string text(name == nullptr ? "" : name);
    const size_t bytes = text.size();
    collector.definitions.Add(Owned<recording::SchemaRow>{row, std::move(text)}, bytes);
  };
  add(UINT32_MAX, has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME) ? schema->name : nullptr,
      has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE) ? schema->type : 0,
      has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS) ? schema->flags : 0, 0,
      has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE) ? schema->payloadStaticSize : 0);
  constexpr size_t kMaxEntries = 1024;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES) && schema->entries != nullptr &&
      has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES)) {
    for (size_t i = 0; i < schema->numEntries && i < kMaxEntries; ++i) {
      const nvtxPayloadSchemaEntry_t& entry = schema->entries[i];
      add(static_cast<uint32_t>(i), entry.name, entry.type, entry.flags, entry.offset,
          entry.arrayOrUnionDetail);
    }
  }
  return id;
}

int RangePushPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t*, size_t) {
  return Collector::Alive() ? Push(domain, 0) : 0;
}
int RangePopPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t*, size_t) {
  return DomainRangePop(domain);
}
uint8_t DomainIsEnabled(nvtxDomainHandle_t) { return Collector::Alive() ? 1 : 0; }

// No exception may reach the traced program: out of memory, a call does nothing.
template <auto function>
struct Guarded;
template <typename Result, typename... Arguments, Result (*function)(Arguments...)>
struct Guarded<function> {
  static Result Call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (const std::bad_alloc&) {
      Collector::Get().CountAllocationFailure();
      return Result();
    }
  }
};

template <auto function>
void Fill(NvtxFunctionTable table, unsigned int size, unsigned int index) {
  if (index < size && table[index] != nullptr) {
    *table[index] = reinterpret_cast<NvtxFunctionPointer>(&Guarded<function>::Call);
  }
}

}  // namespace

int InitializeNvtx(NvtxGetExportTableFunc_t get_export_table) {
  if (get_export_table == nullptr) return 0;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable == nullptr) return 0;
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) != 0) {
    Fill<&RangePushEx>(table, size, NVTX_CBID_CORE_RangePushEx);
    Fill<&RangePushA>(table, size, NVTX_CBID_CORE_RangePushA);
    Fill<&RangePushW>(table, size, NVTX_CBID_CORE_RangePushW);
    Fill<&RangePop>(table, size, NVTX_CBID_CORE_RangePop);
    Fill<&RangeStartEx>(table, size, NVTX_CBID_CORE_RangeStartEx);
    Fill<&RangeStartA>(table, size, NVTX_CBID_CORE_RangeStartA);
    Fill<&RangeStartW>(table, size, NVTX_CBID_CORE_RangeStartW);
    Fill<&RangeEnd>(table, size, NVTX_CBID_CORE_RangeEnd);
    Fill<&MarkEx>(table, size, NVTX_CBID_CORE_MarkEx);
    Fill<&MarkA>(table, size, NVTX_CBID_CORE_MarkA);
    Fill<&MarkW>(table, size, NVTX_CBID_CORE_MarkW);
    Fill<&NameOsThreadA>(table, size, NVTX_CBID_CORE_NameOsThreadA);
    Fill<&NameOsThreadW>(table, size, NVTX_CBID_CORE_NameOsThreadW);
  }
  table = nullptr;
  size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDA, &table, &size) != 0) {
    Fill<&NameCuDeviceA>(table, size, NVTX_CBID_CUDA_NameCuDeviceA);
    Fill<&NameCuDeviceW>(table, size, NVTX_CBID_CUDA_NameCuDeviceW);
    Fill<&NameCuStreamA>(table, size, NVTX_CBID_CUDA_NameCuStreamA);
    Fill<&NameCuStreamW>(table, size, NVTX_CBID_CUDA_NameCuStreamW);
  }
  table = nullptr;
  size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDART, &table, &size) != 0) {
    Fill<&NameCudaDeviceA>(table, size, NVTX_CBID_CUDART_NameCudaDeviceA);
    Fill<&NameCudaDeviceW>(table, size, NVTX_CBID_CUDART_NameCudaDeviceW);
    Fill<&NameCudaStreamA>(table, size, NVTX_CBID_CUDART_NameCudaStreamA);
    Fill<&NameCudaStreamW>(table, size, NVTX_CBID_CUDART_NameCudaStreamW);
  }
  table = nullptr;
  size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) != 0) {
    Fill<&DomainCreateA>(table, size, NVTX_CBID_CORE2_DomainCreateA);
    Fill<&DomainCreateW>(table, size, NVTX_CBID_CORE2_DomainCreateW);
    Fill<&DomainDestroy>(table, size, NVTX_CBID_CORE2_DomainDestroy);
    Fill<&DomainRegisterStringA>(table, size, NVTX_CBID_CORE2_DomainRegisterStringA);
    Fill<&DomainRegisterStringW>(table, size, NVTX_CBID_CORE2_DomainRegisterStringW);
    Fill<&DomainRangePushEx>(table, size, NVTX_CBID_CORE2_DomainRangePushEx);
    Fill<&DomainRangePop>(table, size, NVTX_CBID_CORE2_DomainRangePop);
    Fill<&DomainRangeStartEx>(table, size, NVTX_CBID_CORE2_DomainRangeStartEx);
    Fill<&DomainRangeEnd>(table, size, NVTX_CBID_CORE2_DomainRangeEnd);
    Fill<&DomainMarkEx>(table, size, NVTX_CBID_CORE2_DomainMarkEx);
  }
  if (Collector::Alive()) Collector::Get().tensorflow_ops.Find();
  return 1;
}

int InitializeNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module == nullptr || module->segments == nullptr || module->segmentsCount == 0 ||
      module->moduleId != NVTX_EXT_PAYLOAD_MODULEID) {
    return 0;
  }
  nvtxExtModuleSegment_t& segment = module->segments[0];
  const auto fill = [&]<auto function>(size_t slot) {
    if (slot < segment.slotCount) {
      segment.functionSlots[slot] = reinterpret_cast<intptr_t>(&Guarded<function>::Call);
    }
  };
  fill.template operator()<&PayloadSchemaRegister>(NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
  fill.template operator()<&RangePushPayload>(NVTX3EXT_CBID_nvtxRangePushPayload);
  fill.template operator()<&RangePopPayload>(NVTX3EXT_CBID_nvtxRangePopPayload);
  // NVTX 3.2.0 and 3.2.1 call it without looking whether a tool has it.
  fill.template operator()<&DomainIsEnabled>(NVTX3EXT_CBID_nvtxDomainIsEnabled);
  return 1;
}

}  // namespace xlatrace::collector
