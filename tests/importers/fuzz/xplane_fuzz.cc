// SPDX-License-Identifier: Apache-2.0

// libFuzzer target: any bytes as an XSpace.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "importers/xplane/xplane.h"
#include "tests/importers/memory_sink.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xlatrace::importers::MemorySink sink;
  (void)xlatrace::importers::ImportXplane(
      std::string_view(reinterpret_cast<const char*>(data), size), "fuzz", sink);
  for (const xlatrace::model::Activity& activity : sink.activities) {
    if (activity.end_ns < activity.start_ns) __builtin_trap();
    if (sink.SelfNs(activity) < 0) __builtin_trap();
  }
  return 0;
}
