// SPDX-License-Identifier: Apache-2.0
#include "workload/ranges.h"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/syscall.h>

#include "common/scenario.h"

namespace fakegpu {
namespace {

// As XLA hands its own objects over: the strings lie behind members that a tool must skip.
struct KernelPayload {
  char before[40] = {};
  nvtxStringHandle_t hlo, source, called;
};
static_assert(sizeof(KernelPayload) == 64);

struct ModulePayload {
  char before[72] = {};
  nvtxStringHandle_t name, source;
  int32_t id, common;
};
static_assert(sizeof(ModulePayload) == 96);

nvtxDomainHandle_t Domain(const std::string& name) {
  static std::mutex* const lock = new std::mutex;
  static auto* const domains = new std::map<std::string, nvtxDomainHandle_t>;
  std::lock_guard guard(*lock);
  auto found = domains->find(name);
  if (found == domains->end())
    found = domains->emplace(name, nvtxDomainCreateA(name.c_str())).first;
  return found->second;
}

nvtxStringHandle_t Registered(const std::string& text) {
  static std::mutex* const lock = new std::mutex;
  static auto* const strings = new std::map<std::string, nvtxStringHandle_t>;
  std::lock_guard guard(*lock);
  auto found = strings->find(text);
  if (found == strings->end()) {
    found = strings->emplace(text, nvtxDomainRegisterStringA(Domain("TSL"), text.c_str())).first;
  }
  return found->second;
}

uint64_t Register(const char* name, const nvtxPayloadSchemaEntry_t* entries, size_t count,
                  size_t size) {
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = name;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = count;
  schema.payloadStaticSize = size;
  return nvtxPayloadSchemaRegister(Domain("TSL"), &schema);
}

nvtxPayloadSchemaEntry_t Entry(uint64_t type, const char* name, size_t offset) {
  nvtxPayloadSchemaEntry_t entry{};
  entry.type = type;
  entry.name = name;
  entry.offset = offset;
  return entry;
}

uint64_t KernelSchema() {
  static const uint64_t id = [] {
    const uint64_t text = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
    static const nvtxPayloadSchemaEntry_t entries[] = {
        Entry(text, "HLO", offsetof(KernelPayload, hlo)),
        Entry(text, "Source locations", offsetof(KernelPayload, source)),
        Entry(text, "Called HLO", offsetof(KernelPayload, called))};
    return Register("XlaKernel", entries, std::size(entries), sizeof(KernelPayload));
  }();
  return id;
}

uint64_t ModuleSchema() {
  static const uint64_t id = [] {
    const uint64_t text = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
    static const nvtxPayloadSchemaEntry_t entries[] = {
        Entry(text, "Name", offsetof(ModulePayload, name)),
        Entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "Unique ID", offsetof(ModulePayload, id)),
        Entry(text, "Common source locations", offsetof(ModulePayload, source))};
    return Register("XlaModule", entries, std::size(entries), sizeof(ModulePayload));
  }();
  return id;
}

// As XLA hands instructions over from August 2026 on, with --xla_gpu_trace_annotation_level=1.
struct InstructionPayload {
  nvtxStringHandle_t hlo, source, called;
};
struct DetailedPayload {
  InstructionPayload plain;
  nvtxStringHandle_t name;
  int64_t id;
  nvtxStringHandle_t op_type, op_name, file;
  int32_t line;
  nvtxStringHandle_t shape;
};

enum class Payloads { kKernel, kInstruction, kDetailed };
Payloads PayloadsInUse() {
  static const Payloads payloads = [] {
    const char* text = std::getenv("FAKE_NVTX_PAYLOADS");
    const std::string word = text == nullptr ? "" : text;
    return word == "instruction" ? Payloads::kInstruction
           : word == "detailed"  ? Payloads::kDetailed
                                 : Payloads::kKernel;
  }();
  return payloads;
}

uint64_t InstructionSchema() {
  static const uint64_t id = [] {
    const uint64_t text = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
    static const nvtxPayloadSchemaEntry_t entries[] = {
        Entry(text, "HLO", offsetof(InstructionPayload, hlo)),
        Entry(text, "Source locations", offsetof(InstructionPayload, source)),
        Entry(text, "Called HLO", offsetof(InstructionPayload, called))};
    return Register("XlaInstruction", entries, std::size(entries), sizeof(InstructionPayload));
  }();
  return id;
}

uint64_t DetailedSchema() {
  static const uint64_t id = [] {
    const uint64_t text = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
    static const nvtxPayloadSchemaEntry_t entries[] = {
        Entry(text, "HLO", offsetof(DetailedPayload, plain.hlo)),
        Entry(text, "Source locations", offsetof(DetailedPayload, plain.source)),
        Entry(text, "Called HLO", offsetof(DetailedPayload, plain.called)),
        Entry(text, "HLO name", offsetof(DetailedPayload, name)),
        Entry(NVTX_PAYLOAD_ENTRY_TYPE_INT64, "HLO unique ID", offsetof(DetailedPayload, id)),
        Entry(text, "Framework op type", offsetof(DetailedPayload, op_type)),
        Entry(text, "Framework op name", offsetof(DetailedPayload, op_name)),
        Entry(text, "Source file", offsetof(DetailedPayload, file)),
        Entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "Source line", offsetof(DetailedPayload, line)),
        Entry(text, "Output shape", offsetof(DetailedPayload, shape))};
    return Register("XlaInstructionDetailed", entries, std::size(entries), sizeof(DetailedPayload));
  }();
  return id;
}

// The scenario's "nvtx pop twice N": the N-th range is popped once more than it was pushed.
bool PopsTwice() {
  static const uint64_t which = Scenario::Get().Number({"nvtx", "pop", "twice"}, 0);
  static std::atomic<uint64_t> number{0};
  return which != 0 && ++number == which;
}

nvtxStringHandle_t RegisterNow(const std::string& text) {
  return nvtxDomainRegisterStringA(Domain("TSL"), text.c_str());
}

struct OpHandles {
  nvtxStringHandle_t title, hlo, source, called;
};

struct Executable {
  nvtxStringHandle_t title, name, source;
  std::map<std::string, OpHandles> ops;
};

std::mutex& ExecutablesLock() {
  static auto* const lock = new std::mutex;
  return *lock;
}
std::map<std::pair<std::string, int>, Executable*>& Executables() {
  static auto* const all = new std::map<std::pair<std::string, int>, Executable*>;
  return *all;
}

// Executables whose ranges this thread is in; null for one that was not registered.
std::vector<const Executable*>& Entered() {
  static thread_local std::vector<const Executable*>* entered = nullptr;
  if (entered == nullptr) entered = new std::vector<const Executable*>;
  return *entered;
}

std::string ModuleTitle(const std::string& name, int id) {
  return "XlaModule:#hlo_module=" + name + ",program_id=" + std::to_string(id) + "#";
}

template <typename Payload>
void PushIn(const std::string& domain, nvtxStringHandle_t title, uint64_t schema,
            const Payload& payload) {
  nvtxPayloadData_t data{schema, sizeof payload, &payload};
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = title;
  attributes.payloadType = static_cast<int32_t>(NVTX_PAYLOAD_TYPE_EXT);
  attributes.reserved0 = 1;
  attributes.payload.ullValue = reinterpret_cast<uint64_t>(&data);
  nvtxDomainRangePushEx(Domain(domain), &attributes);
}
template <typename Payload>
void Push(nvtxStringHandle_t title, uint64_t schema, const Payload& payload) {
  PushIn("TSL", title, schema, payload);
}

void PushInstruction(const std::string& op, const OpHandles& handles) {
  const InstructionPayload plain{handles.hlo, handles.source, handles.called};
  switch (PayloadsInUse()) {
    case Payloads::kKernel: {
      KernelPayload payload;
      payload.hlo = handles.hlo;
      payload.source = handles.source;
      payload.called = handles.called;
      Push(handles.title, KernelSchema(), payload);
      return;
    }
    case Payloads::kInstruction:
      Push(handles.title, InstructionSchema(), plain);
      return;
    case Payloads::kDetailed: {
      const DetailedPayload payload{plain,
                                    Registered(op),
                                    4,
                                    Registered("neg"),
                                    Registered("jit(step)/layer/neg"),
                                    Registered("train.py"),
                                    75,
                                    Registered("f32[8]")};
      Push(handles.title, DetailedSchema(), payload);
      return;
    }
  }
}

}  // namespace

void NameThread(const std::string& name) {
  nvtxNameOsThreadA(static_cast<uint32_t>(syscall(SYS_gettid)), name.c_str());
}
void NameStream(CUstream stream, const std::string& name) {
  nvtxNameCuStreamA(stream, name.c_str());
}
void NameDevice(CUdevice device, const std::string& name) {
  nvtxNameCuDeviceA(device, name.c_str());
}

void RegisterExecutable(const std::string& name, int id, const std::vector<ThunkText>& ops) {
  auto* made = new Executable;
  made->title = RegisterNow(ModuleTitle(name, id));
  made->name = RegisterNow(name);
  made->source = RegisterNow("");
  for (const ThunkText& op : ops) {
    OpHandles handles;
    handles.title = RegisterNow(op.title);
    handles.hlo = RegisterNow(op.hlo);
    handles.source = RegisterNow(op.source);
    handles.called = RegisterNow(op.called);
    made->ops[op.op] = handles;
  }
  std::lock_guard guard(ExecutablesLock());
  Executables()[{name, id}] = made;
}

void PushRange(const std::string& domain, const std::string& text) {
  if (domain.empty()) {
    nvtxRangePushA(text.c_str());
    return;
  }
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text.c_str();
  nvtxDomainRangePushEx(Domain(domain), &attributes);
}

void PopRange(const std::string& domain) {
  for (int times = PopsTwice() ? 2 : 1; times > 0; --times) {
    if (domain.empty()) {
      nvtxRangePop();
    } else {
      nvtxDomainRangePop(Domain(domain));
    }
  }
}

void PushModule(const std::string& name, int id) {
  const Executable* executable = nullptr;
  {
    std::lock_guard guard(ExecutablesLock());
    const auto found = Executables().find({name, id});
    if (found != Executables().end()) executable = found->second;
  }
  Entered().push_back(executable);
  ModulePayload payload;
  payload.name = executable != nullptr ? executable->name : Registered(name);
  payload.source = executable != nullptr ? executable->source : Registered("");
  payload.id = id;
  payload.common = 0;
  Push(executable != nullptr ? executable->title : Registered(ModuleTitle(name, id)),
       ModuleSchema(), payload);
}

void PushThunk(const ThunkText& text) {
  const Executable* executable = Entered().empty() ? nullptr : Entered().back();
  if (executable != nullptr) {
    const auto op = executable->ops.find(text.op);
    if (op != executable->ops.end()) {
      PushInstruction(text.op, op->second);
      return;
    }
  }
  PushInstruction(text.op, {Registered(text.title), Registered(text.hlo), Registered(text.source),
                            Registered(text.called)});
}

void PopModule() {
  if (!Entered().empty()) Entered().pop_back();
  PopRange("TSL");
}

void PopThunk() { PopRange("TSL"); }

void PushNccl(const std::string& function, uint64_t bytes) {
  static constexpr uint64_t kAllReduce = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
  static constexpr uint64_t kOperation = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 11;
  struct Parameters {
    uint64_t bytes;
    int32_t operation;
  };
  [[maybe_unused]] static const bool registered = [] {
    static const nvtxPayloadEnum_t operations[] = {{"Sum", 0, 0}, {"Product", 1, 0}};
    nvtxPayloadEnumAttr_t names{};
    names.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                      NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
                      NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
    names.entries = operations;
    names.numEntries = std::size(operations);
    names.sizeOfEnum = sizeof(int32_t);
    names.schemaId = kOperation;
    nvtxPayloadEnumRegister(Domain("NCCL"), &names);
    static const nvtxPayloadSchemaEntry_t entries[] = {
        Entry(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", offsetof(Parameters, bytes)),
        Entry(kOperation, "Reduction operation", offsetof(Parameters, operation))};
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    schema.name = "AllReduce";
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries;
    schema.numEntries = std::size(entries);
    schema.payloadStaticSize = sizeof(Parameters);
    schema.schemaId = kAllReduce;
    nvtxPayloadSchemaRegister(Domain("NCCL"), &schema);
    return true;
  }();
  static std::mutex* const lock = new std::mutex;
  static auto* const names = new std::map<std::string, nvtxStringHandle_t>;
  std::unique_lock guard(*lock);
  nvtxStringHandle_t& name = (*names)[function];
  if (name == nullptr) name = nvtxDomainRegisterStringA(Domain("NCCL"), function.c_str());
  const nvtxStringHandle_t title = name;
  guard.unlock();
  PushIn("NCCL", title, kAllReduce, Parameters{bytes, 0});
}

}  // namespace fakegpu
