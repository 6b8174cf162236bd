// SPDX-License-Identifier: Apache-2.0
#include "tests/importers/fuzz/chrome_trace_input.h"

#include <cstdlib>
#include <string_view>

#include "importers/chrome/chrome_trace.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/trace_json.h"

namespace xlatrace::importers {

void RunChromeTraceInput(const uint8_t* data, size_t size) {
  const MemoryFile file(std::string_view(reinterpret_cast<const char*>(data), size));
  MemorySink sink;
  (void)ImportChromeTrace(file.path(), sink);
  for (const model::Activity& activity : sink.activities) {
    if (activity.end_ns < activity.start_ns || MemorySink::SelfNs(activity) < 0) std::abort();
    if (activity.lane_id < 1 || static_cast<size_t>(activity.lane_id) > sink.lanes.size()) {
      std::abort();
    }
  }
}

}  // namespace xlatrace::importers
