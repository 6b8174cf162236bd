// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti_api.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "collector/device_limits.h"

namespace xlatrace::collector {
namespace {

// Newest first; a name without a slash finds a library that is loaded already, by its SONAME.
constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                  "libcupti.so"};

// Folders where pip's wheels and toolkits put libcupti, seen from a CUDA library in the process.
constexpr const char* kBeside[] = {"",
                                   "../../cu13/lib/",
                                   "../../cuda_cupti/lib/",
                                   "../extras/CUPTI/lib64/",
                                   "../nvidia/cu13/lib/",
                                   "../nvidia/cuda_cupti/lib/",
                                   "../../nvidia/cu13/lib/",
                                   "../../nvidia/cuda_cupti/lib/"};

int CollectFolders(dl_phdr_info* info, size_t, void* data) {
  auto* folders = static_cast<std::vector<std::string>*>(data);
  const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return 0;
  const std::string base = path.substr(slash + 1);
  for (const char* known : {"libcudart.so", "xla_cuda_plugin.so", "libtensorflow_framework.so",
                            "libtensorflow_cc.so", "libcublas.so", "xla_extension.so"}) {
    if (base.compare(0, std::strlen(known), known) == 0) {
      folders->push_back(path.substr(0, slash + 1));
    }
  }
  return 0;
}

void* OpenBesideCuda() {
  std::vector<std::string> folders;
  dl_iterate_phdr(CollectFolders, &folders);
  for (const std::string& folder : folders) {
    for (const char* beside : kBeside) {
      for (const char* name : kNames) {
        const std::string path = folder + beside + name;
        if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
      }
    }
  }
  return nullptr;
}

void* Open(std::string* error) {
  const char* given = std::getenv("XLATRACE_CUPTI");
  if (given != nullptr && *given != '\0') {
    void* handle = dlopen(given, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) *error = std::string("XLATRACE_CUPTI: ") + dlerror();
    return handle;
  }
  // The copy that the framework loaded: a second one in the process would see nothing.
  for (const char* name : kNames) {
    if (void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) return handle;
  }
  if (void* handle = OpenBesideCuda()) return handle;
  // First the CUPTI of the driver's own release: a newer CUPTI refuses an older driver.
  const std::string fitting = "libcupti.so." + std::to_string(DriverVersion() / 1000);
  if (void* handle = dlopen(fitting.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
  for (const char* name : kNames) {
    if (void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return handle;
  }
  for (const char* name : kNames) {
    const std::string path = std::string("/usr/local/cuda/lib64/") + name;
    if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
  }
  *error = "libcupti was not found: pip install nvidia-cuda-cupti, or XLATRACE_CUPTI=/path";
  return nullptr;
}

}  // namespace

CUptiResult CuptiApi::Enable(CUpti_ActivityKind kind) const {
  return v2_subscriber != nullptr ? v2.cuptiActivityEnable_v2(v2_subscriber, kind, nullptr)
                                  : cuptiActivityEnable(kind);
}

CUptiResult CuptiApi::SetAttribute(CUpti_ActivityAttribute attribute, size_t* size,
                                   void* value) const {
  if (v2_subscriber != nullptr) {
    if (v2.cuptiActivitySetAttribute_v2 == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
    return v2.cuptiActivitySetAttribute_v2(v2_subscriber, attribute, size, value);
  }
  if (cuptiActivitySetAttribute == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  return cuptiActivitySetAttribute(attribute, size, value);
}

CUptiResult CuptiApi::Dropped(size_t* records) const {
  if (v2_subscriber != nullptr) {
    if (v2.cuptiActivityGetNumDroppedRecords_v2 == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
    return v2.cuptiActivityGetNumDroppedRecords_v2(v2_subscriber, nullptr, 0, records);
  }
  if (cuptiActivityGetNumDroppedRecords == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  return cuptiActivityGetNumDroppedRecords(nullptr, 0, records);
}

CUptiResult CuptiApi::Timestamp(uint64_t* ns) const {
  if (v2_subscriber != nullptr && v2.cuptiGetTimestamp_v2 != nullptr) {
    return v2.cuptiGetTimestamp_v2(v2_subscriber, ns);
  }
  return cuptiGetTimestamp == nullptr ? CUPTI_ERROR_NOT_SUPPORTED : cuptiGetTimestamp(ns);
}

std::string CuptiApi::Describe(CUptiResult result) const {
  const char* text = nullptr;
  if (cuptiGetResultString != nullptr) cuptiGetResultString(result, &text);
  std::string described = std::to_string(static_cast<int>(result));
  if (text != nullptr) described.append(" (").append(text).append(")");
  return described;
}

bool LoadCupti(CuptiApi* api, std::string* error) {
  if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); driver == nullptr) {
    *error = "libcuda.so.1 is not loaded";
    return false;
  }
  void* handle = Open(error);  // Never closed: CUPTI 13.0 crashes after dlclose.
  if (handle == nullptr) return false;
#define XLATRACE_FIND(name) api->name = reinterpret_cast<decltype(api->name)>(dlsym(handle, #name));
  XLATRACE_CUPTI_REQUIRED(XLATRACE_FIND)
  XLATRACE_CUPTI_OPTIONAL(XLATRACE_FIND)
#undef XLATRACE_FIND
#define XLATRACE_FIND(name) \
  api->v2.name = reinterpret_cast<decltype(api->v2.name)>(dlsym(handle, #name));
  XLATRACE_FIND(cuptiSubscribe_v2)
  XLATRACE_FIND(cuptiActivityRegisterCallbacks_v2)
  XLATRACE_FIND(cuptiActivityEnable_v2)
  XLATRACE_FIND(cuptiActivityGetNextRecord_v2)
  XLATRACE_FIND(cuptiActivitySetAttribute_v2)
  XLATRACE_FIND(cuptiActivityGetNumDroppedRecords_v2)
  XLATRACE_FIND(cuptiGetTimestamp_v2)
#undef XLATRACE_FIND
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(api->cuptiGetVersion), &info) != 0 &&
      info.dli_fname != nullptr) {
    api->path = info.dli_fname;
  }
#define XLATRACE_CHECK(name)                        \
  if (api->name == nullptr) {                       \
    *error = api->path + " has no function " #name; \
    return false;                                   \
  }
  XLATRACE_CUPTI_REQUIRED(XLATRACE_CHECK)
#undef XLATRACE_CHECK
  if (const CUptiResult result = api->cuptiGetVersion(&api->version); result != CUPTI_SUCCESS) {
    *error = "cuptiGetVersion: " + api->Describe(result);
    return false;
  }
  return true;
}

}  // namespace xlatrace::collector
