// SPDX-License-Identifier: Apache-2.0

// The doors through which the collector is loaded; the only symbols it exports.

#include <cstdlib>
#include <cstring>
#include <new>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "collector/collector.h"

namespace xlatrace::collector {
int InitializeNvtx(NvtxGetExportTableFunc_t get_export_table);
int InitializeNvtxExtension(nvtxExtModuleInfo_t* module);

namespace {
bool Disabled() {
  const char* off = std::getenv("XLATRACE_DISABLE");
  return off != nullptr && std::strcmp(off, "1") == 0;
}
}  // namespace
}  // namespace xlatrace::collector

extern "C" {

// By the CUDA driver, once, inside the first cuInit. No driver function may be called here.
__attribute__((visibility("default"))) int InitializeInjection(void) {
  if (xlatrace::collector::Disabled()) return 1;
  try {
    xlatrace::collector::Collector::Get().Start();
  } catch (const std::bad_alloc&) {
    return 0;  // Nothing is recorded; the program goes on.
  }
  return 1;
}

// By every shared object that contains NVTX, at its first NVTX call, from any thread.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  if (xlatrace::collector::Disabled()) return 0;
  return xlatrace::collector::InitializeNvtx(get_export_table);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* module) {
  if (xlatrace::collector::Disabled()) return 0;
  return xlatrace::collector::InitializeNvtxExtension(module);
}
}
