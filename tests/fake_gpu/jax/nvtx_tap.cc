// SPDX-License-Identifier: Apache-2.0
// An NVTX injection library that gives the fake driver the XLA range of the calling thread. So the
// truth log has, per activity, the thunk that XLA itself named.
//
// Load it by NVTX_INJECTION64_PATH. It is independent of the collector: where XLATRACE_TAP_NEXT
// names another injection library, that one is initialised first and every call goes on to it.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "tests/fake_gpu/fake_gpu.h"

#define TAP_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// One range title of XLA's: "Thunk:#name=jit(f)/mul,hlo_op=fusion.2#",
// "XlaModule:#hlo_module=jit_f,program_id=7#".
struct Title {
  enum Kind { kOther, kModule, kThunk, kOp } kind = kOther;
  std::string text;  // "program|module", the instruction, or TensorFlow's "name:Type"
};

// Never destroyed: ranges are pushed from threads that outlive static destructors.
struct State {
  std::mutex mutex;
  std::unordered_map<const void*, Title> titles;  // by string handle, as the program has it
  std::unordered_map<std::string, nvtxDomainHandle_t> domains;
  nvtxDomainHandle_t tsl = nullptr;
};
State& Shared() {
  static State* const state = new State;
  return *state;
}

thread_local std::vector<Title> ranges;
thread_local std::string label;

// The value of `key` in "...#a=1,key=value,b=2#": up to the next comma. Names of instructions and
// modules have none.
std::string Value(std::string_view title, std::string_view key) {
  const size_t at = title.rfind(std::string(key) + "=");
  if (at == std::string_view::npos) return {};
  const size_t from = at + key.size() + 1;
  return std::string(title.substr(from, title.find_first_of(",#", from) - from));
}

Title Parse(const char* text) {
  const std::string_view title = text != nullptr ? text : "";
  if (title.starts_with("XlaModule:#")) {
    return {Title::kModule, Value(title, "program_id") + "|" + Value(title, "hlo_module")};
  }
  if (title.starts_with("Thunk:#")) return {Title::kThunk, Value(title, "hlo_op")};
  // An op of TensorFlow: "dense/MatMul:MatMul", maybe followed by "#key=value#".
  const std::string_view op = title.substr(0, title.find('#'));
  const size_t colon = op.find(':');
  if (colon != std::string_view::npos && colon > 0 && colon + 1 < op.size() &&
      op.find(':', colon + 1) == std::string_view::npos && op.find(' ') == std::string_view::npos) {
    return {Title::kOp, std::string(op)};
  }
  return {};
}

Title TitleOf(const nvtxEventAttributes_t* event) {
  if (event == nullptr) return {};
  if (event->messageType == NVTX_MESSAGE_TYPE_ASCII) return Parse(event->message.ascii);
  if (event->messageType != NVTX_MESSAGE_TYPE_REGISTERED) return {};
  State& state = Shared();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.titles.find(event->message.registered);
  return found == state.titles.end() ? Title{} : found->second;
}

// "program|module|instruction" of the innermost module and thunk around; outside of both
// "|||name:Type" of the innermost op of TensorFlow, else empty.
const char* LabelNow() {
  const std::string* module = nullptr;
  const std::string* thunk = nullptr;
  const std::string* op = nullptr;
  for (const Title& range : ranges) {
    if (range.kind == Title::kModule) {
      module = &range.text;
      thunk = nullptr;
    } else if (range.kind == Title::kThunk) {
      thunk = &range.text;
    } else if (range.kind == Title::kOp) {
      op = &range.text;
    }
  }
  if (module == nullptr && thunk == nullptr) {
    if (op == nullptr) return "";
    label = "|||" + *op;
    return label.c_str();
  }
  label = module != nullptr ? *module : "|";
  label += "|";
  if (thunk != nullptr) label += *thunk;
  return label.c_str();
}

void TellDriver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return;
  using GetTable = CUresult (*)(const void**, const CUuuid*);
  const auto get = reinterpret_cast<GetTable>(dlsym(driver, "cuGetExportTable"));
  const CUuuid id = FAKE_GPU_TABLE_ID;
  const void* found = nullptr;
  if (get == nullptr || get(&found, &id) != CUDA_SUCCESS) return;
  const auto* table = static_cast<const FakeGpuTable*>(found);
  if (table->size >= offsetof(FakeGpuTable, set_label_source) + sizeof(void*)) {
    table->set_label_source(LabelNow);
  }
}

// The function of the next library in a slot; nullptr without one. A template per slot, because
// each linkage unit of NVTX has its own slots and the next library fills them all equally.
template <typename Function, int kSlot>
Function& Next() {
  static Function next = nullptr;
  return next;
}

// Puts `own` into a slot. `before` is the original function of NVTX, which starts the present
// initialisation. Only a function that the next library put in its place is called.
template <typename Function, int kSlot>
void Replace(NvtxFunctionTable table, const std::vector<NvtxFunctionPointer>& before,
             Function own) {
  if (static_cast<size_t>(kSlot) >= before.size() || table[kSlot] == nullptr) return;
  if (*table[kSlot] != before[kSlot]) {
    Next<Function, kSlot>() = reinterpret_cast<Function>(*table[kSlot]);
  }
  *table[kSlot] = reinterpret_cast<NvtxFunctionPointer>(own);
}

using CreateFunction = nvtxDomainHandle_t (*)(const char*);
using RegisterFunction = nvtxStringHandle_t (*)(nvtxDomainHandle_t, const char*);
using PushFunction = int (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t*);
using PopFunction = int (*)(nvtxDomainHandle_t);

nvtxDomainHandle_t CreateDomain(const char* name) {
  State& state = Shared();
  const CreateFunction next = Next<CreateFunction, NVTX_CBID_CORE2_DomainCreateA>();
  const nvtxDomainHandle_t passed = next != nullptr ? next(name) : nullptr;
  const std::lock_guard<std::mutex> lock(state.mutex);
  nvtxDomainHandle_t& known = state.domains[name];
  if (passed != nullptr) known = passed;
  if (known == nullptr) known = reinterpret_cast<nvtxDomainHandle_t>(new std::string(name));
  if (std::strcmp(name, "TSL") == 0) state.tsl = known;
  return known;
}

nvtxStringHandle_t RegisterString(nvtxDomainHandle_t domain, const char* text) {
  const RegisterFunction next = Next<RegisterFunction, NVTX_CBID_CORE2_DomainRegisterStringA>();
  nvtxStringHandle_t handle = next != nullptr ? next(domain, text) : nullptr;
  const Title title = Parse(text);
  if (handle == nullptr) handle = reinterpret_cast<nvtxStringHandle_t>(new char);
  if (title.kind == Title::kOther) return handle;
  State& state = Shared();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.titles[handle] = title;
  return handle;
}

int Push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (domain == Shared().tsl) ranges.push_back(TitleOf(event));
  const PushFunction next = Next<PushFunction, NVTX_CBID_CORE2_DomainRangePushEx>();
  return next != nullptr ? next(domain, event) : static_cast<int>(ranges.size()) - 1;
}

int Pop(nvtxDomainHandle_t domain) {
  static const char* const twice = std::getenv("XLATRACE_TAP_POP_TWICE");
  const PopFunction next = Next<PopFunction, NVTX_CBID_CORE2_DomainRangePop>();
  if (domain == Shared().tsl && !ranges.empty()) {
    if (twice != nullptr && next != nullptr && ranges.back().text == twice) next(domain);
    ranges.pop_back();
  }
  return next != nullptr ? next(domain) : static_cast<int>(ranges.size());
}

void* NextLibrary() {
  static void* const next = [] {
    const char* const path = std::getenv("XLATRACE_TAP_NEXT");
    return path != nullptr && *path != '\0' ? dlopen(path, RTLD_NOW) : nullptr;
  }();
  return next;
}

}  // namespace

TAP_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  std::vector<NvtxFunctionPointer> before;
  for (unsigned i = 0; i < size; ++i) {
    before.push_back(table[i] != nullptr ? *table[i] : nullptr);
  }
  if (NextLibrary() != nullptr) {
    using Initialize = int (*)(NvtxGetExportTableFunc_t);
    const auto next =
        reinterpret_cast<Initialize>(dlsym(NextLibrary(), "InitializeInjectionNvtx2"));
    if (next != nullptr) next(get_table);
  }
  Replace<CreateFunction, NVTX_CBID_CORE2_DomainCreateA>(table, before, CreateDomain);
  Replace<RegisterFunction, NVTX_CBID_CORE2_DomainRegisterStringA>(table, before, RegisterString);
  Replace<PushFunction, NVTX_CBID_CORE2_DomainRangePushEx>(table, before, Push);
  Replace<PopFunction, NVTX_CBID_CORE2_DomainRangePop>(table, before, Pop);
  TellDriver();
  return 1;
}

// Payloads mean nothing to the tap: titles name all it needs.
TAP_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (NextLibrary() == nullptr) return 0;
  using Initialize = int (*)(nvtxExtModuleInfo_t*);
  const auto next =
      reinterpret_cast<Initialize>(dlsym(NextLibrary(), "InitializeInjectionNvtxExtension"));
  return next != nullptr ? next(module) : 0;
}
